// How a struct of parameters tells its fields, once: the same list parses TOML and key=value text, checks ranges,
// rejects unknown keys, documents, and dumps. A configuration struct, a policy's parameters and a workload's parameters
// all do
//
//   struct Params {
//     u32 walkers = 16;
//     void describe(Fields& v) { v("walkers", walkers, in(1, 1024), "page walkers working in parallel"); }
//   };
//
// `Fields` is one abstract class with an overload per field type, so that the code behind it is compiled once.
// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/types.h"

namespace terrace {

/// An inclusive range of whole numbers.
struct Range {
  u64 low = 0;
  u64 high = ~u64{0};
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
    on_integer(name, wide, range, doc);
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
    leave();
  }

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
};

}  // namespace terrace
