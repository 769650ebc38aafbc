// A struct of parameters describes its fields once. The same description parses TOML and key=value text, checks ranges,
// rejects unknown keys, documents the keys and writes them out. It is the same for configuration structs and for the
// parameters of policies and workloads:
//
//   struct Params {
//     u32 walkers = 16;
//     void describe(Fields& v) { v("walkers", walkers, in(1, 1024), "page walkers working in parallel"); }
//   };
//
// `Fields` is one abstract class with an overload per field type, so that the code behind it is compiled once. A struct
// may also have `void validate(Validation&) const` for what involves several fields (config/validation.h).
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/types.h"

namespace terrace {

class PolicyChoice;
class PolicyTable;
class Validation;

/// An inclusive range of whole numbers. The largest is the largest that TOML can write.
struct Range {
  static constexpr u64 kHighest = ~u64{0} >> 1;
  u64 low = 0;
  u64 high = kHighest;
};
constexpr Range in(u64 low, u64 high) {
  return {low, high};
}

/// A fraction written as a decimal ("0.51") and kept exactly, in millionths: decisions never rest on floating point.
struct Fraction {
  u64 millionths = 0;
  static constexpr u64 kOne = 1'000'000;
  friend auto operator<=>(Fraction, Fraction) = default;
};

class Fields {
 public:
  virtual ~Fields() = default;

  void operator()(std::string_view name, bool& value, std::string_view doc) { on_bool(name, value, doc); }
  void operator()(std::string_view name, std::string& value, std::string_view doc) { on_string(name, value, doc); }
  void operator()(std::string_view name, Fraction& value, Range millionths, std::string_view doc) {
    on_fraction(name, value, millionths, doc);
  }
  void operator()(std::string_view name, std::vector<u64>& value, Range each, std::string_view doc) {
    on_list(name, value, each, doc);
  }
  /// Any unsigned integer; the range keeps the value inside the field's own type.
  template <class Integer>
    requires(std::is_unsigned_v<Integer> && !std::is_same_v<Integer, bool>)
  void operator()(std::string_view name, Integer& value, Range range, std::string_view doc) {
    u64 wide = value;
    const u64 most = std::min(u64{std::numeric_limits<Integer>::max()}, Range::kHighest);
    on_integer(name, wide, {range.low, std::min(range.high, most)}, doc);
    value = static_cast<Integer>(wide);
  }
  /// A closed choice: the enumerators are numbered 0, 1, 2, ... in the order of their spellings.
  template <class Enum>
    requires std::is_enum_v<Enum>
  void operator()(std::string_view name, Enum& value, std::initializer_list<std::string_view> spellings,
                  std::string_view doc) {
    u32 chosen = static_cast<u32>(value);
    on_choice(name, chosen, std::span(spellings.begin(), spellings.size()), doc);
    value = static_cast<Enum>(chosen);
  }
  /// A struct inside a struct: its keys become `name.key`.
  template <class Struct>
  void group(std::string_view name, Struct& inner, std::string_view doc) {
    enter(name, doc);
    inner.describe(*this);
    if constexpr (requires(Validation& checks) { inner.validate(checks); })
      if (Validation* checks = validation()) inner.validate(*checks);
    leave();
  }
  /// A slot that a policy fills: `name.use` names it, `name.<policy>.key` are its parameters (config/registry.h).
  void policy(std::string_view name, PolicyChoice& choice, std::string_view doc);

 protected:
  virtual void on_bool(std::string_view name, bool& value, std::string_view doc) = 0;
  virtual void on_integer(std::string_view name, u64& value, Range range, std::string_view doc) = 0;
  virtual void on_fraction(std::string_view name, Fraction& value, Range millionths, std::string_view doc) = 0;
  virtual void on_string(std::string_view name, std::string& value, std::string_view doc) = 0;
  virtual void on_list(std::string_view name, std::vector<u64>& value, Range each, std::string_view doc) = 0;
  virtual void on_choice(std::string_view name, u32& value, std::span<const std::string_view> spellings,
                         std::string_view doc) = 0;
  virtual void enter(std::string_view name, std::string_view doc) = 0;
  virtual void leave() = 0;
  /// Inside the slot's group: which of the table's policies is used.
  virtual void on_use(std::string& use, const PolicyTable& table, std::string_view doc) = 0;
  /// Which policies' parameters are visited: all of them, or only those of the one in use.
  virtual bool only_policy_in_use() const { return false; }
  /// Not null when this visit checks what involves several fields.
  virtual Validation* validation() { return nullptr; }
};

/// Any struct with `describe`, for functions that are compiled once.
class Described {
 public:
  template <class Struct>
    requires(!std::is_same_v<Struct, Described> && requires(Struct& target, Fields& v) { target.describe(v); })
  Described(Struct& target)
      : target_(&target),
        describe_([](void* object, Fields& v) { static_cast<Struct*>(object)->describe(v); }),
        validate_([](void* object, Validation& v) {
          if constexpr (requires { static_cast<Struct*>(object)->validate(v); })
            static_cast<Struct*>(object)->validate(v);
        }) {}

  void describe(Fields& v) const { describe_(target_, v); }
  void validate(Validation& v) const { validate_(target_, v); }

 private:
  void* target_;
  void (*describe_)(void*, Fields&);
  void (*validate_)(void*, Validation&);
};

}  // namespace terrace
