// The types of elements in a user's program, and numbers of its file as values of these types.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "engine/check.h"
#include "frontend/ptx/arith/rounding.h"
#include "text/tree.h"

namespace terrace::user {

enum class Element : u8 { kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64, kF32, kF64, kF16, kBf16 };
inline constexpr std::array<std::string_view, 12> kElements{"i8",  "u8",  "i16", "u16", "i32", "u32",
                                                            "i64", "u64", "f32", "f64", "f16", "bf16"};

/// A number of 16 bits that the host computes with as a double, rounded to nearest when it becomes one.
template <class Bits>
struct Narrow {
  Bits value{};
  Narrow() = default;
  explicit Narrow(double x) : value(ptx::narrow<Bits, ptx::Round::kNearestEven>(x)) {}
  operator double() const { return ptx::widen(value); }
};
template <class T>
inline constexpr bool kIsNarrow = false;
template <class Bits>
inline constexpr bool kIsNarrow<Narrow<Bits>> = true;
template <class T>
inline constexpr bool kIsReal = std::is_floating_point_v<T> || kIsNarrow<T>;

/// Calls f with a value of the C++ type that the element is.
template <class F>
auto with_type(Element element, F&& f) {
  switch (element) {
    case Element::kI8:
      return f(i8{});
    case Element::kU8:
      return f(u8{});
    case Element::kI16:
      return f(i16{});
    case Element::kU16:
      return f(u16{});
    case Element::kI32:
      return f(i32{});
    case Element::kU32:
      return f(u32{});
    case Element::kI64:
      return f(i64{});
    case Element::kU64:
      return f(u64{});
    case Element::kF32:
      return f(float{});
    case Element::kF16:
      return f(Narrow<ptx::F16>{});
    case Element::kBf16:
      return f(Narrow<ptx::BF16>{});
    case Element::kF64:
      break;
  }
  return f(double{});
}
/// The element of a C++ type.
template <class T>
Element element_of() {
  for (u8 i = 0; i < kElements.size(); ++i) {
    const auto element = static_cast<Element>(i);
    if (with_type(element, [](auto zero) { return std::is_same_v<decltype(zero), T>; })) return element;
  }
  SIM_CHECK(false, "a type that no element has");
}
inline u64 bytes_of(Element element) {
  return with_type(element, [](auto zero) { return u64{sizeof zero}; });
}

/// A place in the file: what an error names.
struct Place {
  const std::string* file;
  std::string key;
  u32 line;

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    input_error("{}:{}: {} {}", *file, line, key, fmt::format(format, std::forward<Args>(args)...));
  }
};

/// A number of the file as a value of the element's type; one that the type cannot hold is refused.
template <class T>
T number(const Tree& tree, const Place& place) {
  if constexpr (kIsNarrow<T>) {
    return T(number<double>(tree, place));
  } else if constexpr (kIsReal<T>) {
    if (const auto* real = std::get_if<double>(&tree.value)) return static_cast<T>(*real);
    if (const auto* whole = std::get_if<u64>(&tree.value)) return static_cast<T>(*whole);
    if (const auto* negative = std::get_if<i64>(&tree.value)) return static_cast<T>(*negative);
    place.refuse("must be a number, not {}", tree.text());
  } else {
    if (const auto* whole = std::get_if<u64>(&tree.value); whole && std::in_range<T>(*whole))
      return static_cast<T>(*whole);
    if (const auto* negative = std::get_if<i64>(&tree.value); negative && std::in_range<T>(*negative))
      return static_cast<T>(*negative);
    place.refuse("must be a whole number from {} to {}, not {}", i64{std::numeric_limits<T>::min()},
                 u64{std::numeric_limits<T>::max()}, tree.text());
  }
}

}  // namespace terrace::user
