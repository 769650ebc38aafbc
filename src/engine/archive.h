// The state of a simulation as bytes: saved, and restored into a machine that was built the same way. A class has one
// function for both, so that what is written is what is read:
//
//   void archive(Archive& a) { a(queue_, turn_, waiting_); }
//
// It names what changes while the machine runs. What the configuration decides (sizes, references to other units) is there
// already when a machine is restored, and is left out. Plain structs need no function: their members are taken in order. A
// pointer is no state, and does not compile; its owner writes down what it stands for. Called between cycles only.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/check.h"
#include "engine/types.h"

namespace terrace {

class Archive;

namespace archive_detail {

template <class T>
concept HasArchive = requires(T& value, Archive& a) { value.archive(a); };
template <class T>
concept Scalar = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// Stands for any member when members are counted.
struct Any {
  template <class T>
  operator T() const;  // NOLINT: that it converts is what it is for
};
template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), Any{})...}; };
}
inline constexpr std::size_t kMostMembers = 24;
/// How many members a plain struct has. Arrays of C count as several, and then it does not compile: use std::array.
template <class T, std::size_t kCount = kMostMembers>
constexpr std::size_t members() {
  if constexpr (takes<T>(std::make_index_sequence<kCount>{})) {
    return kCount;
  } else {
    static_assert(kCount > 0, "this type cannot be saved: give it a member function `archive`");
    return members<T, kCount - 1>();
  }
}

}  // namespace archive_detail

class Archive {
 public:
  virtual ~Archive() = default;

  /// Whether state is restored, not saved.
  bool restores() const { return restores_; }
  template <class... T>
  void operator()(T&... values) {
    (item(values), ...);
  }
  /// A part begins: its name is written down, so that bytes that belong elsewhere are found at once.
  void part(std::string_view name);
  /// As they are.
  void raw(void* data, std::size_t count) {
    if (count == 0) return;  // an empty list may have no address, which memcpy must not get
    if (count > kBuffer) return raw_large(data, count);
    if (restores_) {
      if (filled_ - at_ < count) refill(count);
      std::memcpy(data, buffer_.get() + at_, count);
    } else {
      if (kBuffer - at_ < count) flush();
      std::memcpy(buffer_.get() + at_, data, count);
    }
    at_ += count;
  }
  /// What both machines must have in common, such as a size; what it is, for the message.
  void expect(u64 value, std::string_view what);
  /// What is in the buffer is written. Once, at the end, when saving.
  void flush();

 protected:
  explicit Archive(bool restores) : restores_(restores), buffer_(std::make_unique<std::byte[]>(kBuffer)) {}
  virtual void write(const std::byte* data, std::size_t count) = 0;
  /// Reads at most so many bytes, and at least one; 0: there are no more.
  virtual std::size_t read(std::byte* data, std::size_t most) = 0;
  /// The bytes do not belong to this machine, or there are too few.
  [[noreturn]] virtual void damaged(const std::string& why) = 0;

 private:
  static constexpr std::size_t kBuffer = std::size_t{1} << 16;
  void raw_large(void* data, std::size_t count);
  void refill(std::size_t count);

  template <class T>
  void item(T& value) {
    static_assert(!std::is_const_v<T>, "what never changes is no state");
    static_assert(!std::is_pointer_v<T> && !std::is_reference_v<T>, "a pointer is no state: say what it stands for");
    if constexpr (archive_detail::HasArchive<T>) {
      value.archive(*this);
    } else if constexpr (std::is_same_v<T, bool>) {
      u8 byte = value;
      raw(&byte, 1);
      value = byte != 0;
    } else if constexpr (archive_detail::Scalar<T>) {
      raw(&value, sizeof value);
    } else if constexpr (std::is_array_v<T>) {
      elements(&value[0], std::size(value));
    } else {
      compound(value);
    }
  }
  template <class T>
  void elements(T* values, std::size_t count) {
    if constexpr (archive_detail::Scalar<T> && !std::is_same_v<T, bool>) {
      raw(values, count * sizeof(T));
    } else {
      for (std::size_t i = 0; i < count; ++i) item(values[i]);
    }
  }
  u64 size(u64 count) {
    item(count);
    return count;
  }
  template <class T>
  void resized(T& values) {
    const u64 count = size(values.size());
    if (!restores_) return;
    if constexpr (requires { values.resize(count); }) {
      values.resize(count);
    } else {
      if (count != values.size()) damaged("a list of parts has another length");
    }
  }

  template <class T, class A>
  void compound(std::vector<T, A>& values) {
    resized(values);
    if constexpr (std::is_same_v<T, bool>) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        bool one = values[i];
        item(one);
        values[i] = one;
      }
    } else {
      elements(values.data(), values.size());
    }
  }
  template <class T>
  void compound(std::deque<T>& values) {
    resized(values);
    for (T& value : values) item(value);
  }
  void compound(std::string& text) {
    resized(text);
    raw(text.data(), text.size());
  }
  template <class T, std::size_t kSize>
  void compound(std::array<T, kSize>& values) {
    elements(values.data(), kSize);
  }
  template <std::size_t kSize>
  void compound(std::bitset<kSize>& bits) {
    for (std::size_t i = 0; i < kSize; ++i) {
      bool bit = bits[i];
      item(bit);
      bits[i] = bit;
    }
  }
  template <class A, class B>
  void compound(std::pair<A, B>& both) {
    item(both.first);
    item(both.second);
  }
  template <class... T>
  void compound(std::tuple<T...>& all) {
    std::apply([this](T&... each) { (item(each), ...); }, all);
  }
  template <class T>
  void compound(std::atomic<T>& shared) {
    T value = shared.load(std::memory_order_relaxed);
    item(value);
    shared.store(value, std::memory_order_relaxed);
  }
  template <class T>
  void compound(std::optional<T>& maybe) {
    bool there = maybe.has_value();
    item(there);
    // A value is named: clang takes a struct inside an unfinished class for one that nothing can be made of.
    if (restores_) there ? void(maybe.emplace(T{})) : maybe.reset();
    if (there) item(*maybe);
  }
  /// A part of the machine that is there or not by configuration; or a value, which is made anew.
  template <class T>
  void compound(std::unique_ptr<T>& owned) {
    bool there = owned != nullptr;
    item(there);
    if (!there) return owned.reset();
    if (owned == nullptr) {
      if constexpr (std::default_initializable<T> && !std::is_abstract_v<T>) {
        owned = std::make_unique<T>();
      } else {
        damaged("a part of the machine is not there");
      }
    }
    item(*owned);
  }
  /// A value that several look at and nobody changes. Each gets its own.
  template <class T>
  void compound(std::shared_ptr<T>& shared) {
    bool there = shared != nullptr;
    item(there);
    if (!there) return shared.reset();
    if (restores_) {
      auto made = std::make_shared<std::remove_const_t<T>>();
      item(*made);
      shared = std::move(made);
    } else {
      item(const_cast<std::remove_const_t<T>&>(*shared));
    }
  }
  template <class T, class C, class L>
  void compound(std::priority_queue<T, C, L>& queue) {
    struct Open : std::priority_queue<T, C, L> {
      using std::priority_queue<T, C, L>::c;
    };
    item(queue.*&Open::c);  // a heap, which its order keeps
  }

  template <class M>
  void map(M& values) {
    u64 count = size(values.size());
    if (restores_) {
      values.clear();
      for (; count > 0; --count) {
        typename M::key_type key{};
        item(key);
        item(values[key]);
      }
      return;
    }
    for (const auto& key : keys_of(values)) {
      auto copy = key;
      item(copy);
      item(values.find(key)->second);
    }
  }
  template <class S>
  void set(S& values) {
    u64 count = size(values.size());
    if (restores_) {
      values.clear();
      for (; count > 0; --count) {
        typename S::key_type key{};
        item(key);
        values.insert(std::move(key));
      }
      return;
    }
    for (auto key : keys_of(values)) item(key);
  }
  /// In rising order, so that the same state gives the same bytes.
  template <class M>
  static std::vector<typename M::key_type> keys_of(const M& values) {
    std::vector<typename M::key_type> keys;
    for (const auto& value : values) {
      if constexpr (requires { typename M::mapped_type; }) {
        keys.push_back(value.first);
      } else {
        keys.push_back(value);
      }
    }
    std::sort(keys.begin(), keys.end());
    return keys;
  }
  template <class K, class V, class L>
  void compound(std::map<K, V, L>& values) {
    map(values);
  }
  template <class K, class V, class H>
  void compound(std::unordered_map<K, V, H>& values) {
    map(values);
  }
  template <class K, class L>
  void compound(std::set<K, L>& values) {
    set(values);
  }
  template <class K, class H>
  void compound(std::unordered_set<K, H>& values) {
    set(values);
  }

  /// A plain struct: its members, in order.
  template <class T>
  void compound(T& value) {
    static_assert(std::is_aggregate_v<T>, "this type cannot be saved: give it a member function `archive`");
    constexpr std::size_t kMembers = archive_detail::members<T>();
    static_assert(kMembers < archive_detail::kMostMembers, "too many members: give it a member function `archive`");
    if constexpr (!std::is_empty_v<T>) members<kMembers>(value);
  }
  template <std::size_t kMembers, class T>
  void members(T& v) {
    // Structured bindings cannot have a number of names that is computed.
    if constexpr (kMembers == 1) {
      auto& [a] = v;
      (*this)(a);
    } else if constexpr (kMembers == 2) {
      auto& [a, b] = v;
      (*this)(a, b);
    } else if constexpr (kMembers == 3) {
      auto& [a, b, c] = v;
      (*this)(a, b, c);
    } else if constexpr (kMembers == 4) {
      auto& [a, b, c, d] = v;
      (*this)(a, b, c, d);
    } else if constexpr (kMembers == 5) {
      auto& [a, b, c, d, e] = v;
      (*this)(a, b, c, d, e);
    } else if constexpr (kMembers == 6) {
      auto& [a, b, c, d, e, f] = v;
      (*this)(a, b, c, d, e, f);
    } else if constexpr (kMembers == 7) {
      auto& [a, b, c, d, e, f, g] = v;
      (*this)(a, b, c, d, e, f, g);
    } else if constexpr (kMembers == 8) {
      auto& [a, b, c, d, e, f, g, h] = v;
      (*this)(a, b, c, d, e, f, g, h);
    } else if constexpr (kMembers == 9) {
      auto& [a, b, c, d, e, f, g, h, i] = v;
      (*this)(a, b, c, d, e, f, g, h, i);
    } else if constexpr (kMembers == 10) {
      auto& [a, b, c, d, e, f, g, h, i, j] = v;
      (*this)(a, b, c, d, e, f, g, h, i, j);
    } else if constexpr (kMembers == 11) {
      auto& [a, b, c, d, e, f, g, h, i, j, k] = v;
      (*this)(a, b, c, d, e, f, g, h, i, j, k);
    } else if constexpr (kMembers == 12) {
      auto& [a, b, c, d, e, f, g, h, i, j, k, l] = v;
      (*this)(a, b, c, d, e, f, g, h, i, j, k, l);
    } else if constexpr (kMembers == 13) {
      auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = v;
      (*this)(a, b, c, d, e, f, g, h, i, j, k, l, m);
    } else if constexpr (kMembers == 14) {
      auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = v;
      (*this)(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
    } else if constexpr (kMembers == 15) {
      auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = v;
      (*this)(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
    } else if constexpr (kMembers == 16) {
      auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = v;
      (*this)(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
    } else {
      static_assert(kMembers == 0, "more than 16 members: give it a member function `archive`");
    }
  }

  const bool restores_;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t at_ = 0, filled_ = 0;
};

/// Collects what is saved in memory.
class SavedState final : public Archive {
 public:
  SavedState() : Archive(false) {}
  std::vector<std::byte> take() {
    flush();
    return std::move(bytes_);
  }

 private:
  void write(const std::byte* data, std::size_t count) override { bytes_.insert(bytes_.end(), data, data + count); }
  std::size_t read(std::byte*, std::size_t) override { return 0; }
  [[noreturn]] void damaged(const std::string& why) override { throw ModelError(why); }

  std::vector<std::byte> bytes_;
};

/// Restores from memory.
class RestoredState final : public Archive {
 public:
  explicit RestoredState(const std::vector<std::byte>& bytes) : Archive(true), bytes_(bytes) {}

 private:
  void write(const std::byte*, std::size_t) override {}
  std::size_t read(std::byte* data, std::size_t most) override {
    const std::size_t count = std::min(most, bytes_.size() - read_);
    if (count == 0) return 0;
    std::memcpy(data, bytes_.data() + read_, count);
    read_ += count;
    return count;
  }
  [[noreturn]] void damaged(const std::string& why) override { throw ModelError(why); }

  const std::vector<std::byte>& bytes_;
  std::size_t read_ = 0;
};

}  // namespace terrace
