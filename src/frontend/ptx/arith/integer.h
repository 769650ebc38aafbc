// Integer instructions of PTX whose result is more than a C++ operator: wide and high products, saturation, bit fields,
// permutes, funnel shifts, dot products, and the corners the ISA leaves open, read as an H200 behaves (docs/ptx.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <concepts>
#include <limits>
#include <type_traits>

#include "engine/types.h"

namespace terrace::ptx {

namespace detail {

__extension__ typedef __int128 i128;
template <class T>
using Unsigned = std::make_unsigned_t<T>;

/// The type that holds a product of two T.
template <class T>
struct WideOf;
template <>
struct WideOf<u16> {
  using Type = u32;
};
template <>
struct WideOf<i16> {
  using Type = i32;
};
template <>
struct WideOf<u32> {
  using Type = u64;
};
template <>
struct WideOf<i32> {
  using Type = i64;
};
__extension__ template <>
struct WideOf<u64> {
  using Type = unsigned __int128;
};
template <>
struct WideOf<i64> {
  using Type = i128;
};
template <class T>
using Wide = typename WideOf<T>::Type;

/// Arithmetic modulo 2^n without the undefined behaviour of signed overflow (and of u16, which promotes to int).
template <class T>
using Modular = std::conditional_t<(sizeof(T) < 4), u32, Unsigned<T>>;

template <class T>
inline constexpr int kBits = static_cast<int>(sizeof(T)) * 8;

}  // namespace detail

template <std::integral T>
inline T int_add(T a, T b) {
  using M = detail::Modular<T>;
  return static_cast<T>(M(a) + M(b));
}
template <std::integral T>
inline T int_sub(T a, T b) {
  using M = detail::Modular<T>;
  return static_cast<T>(M(a) - M(b));
}
template <std::integral T>
inline T int_neg(T a) {
  return int_sub(T(0), a);
}
template <std::integral T>
inline T int_abs(T a) {
  return a < 0 ? int_neg(a) : a;  // the most negative number stays itself
}
template <std::integral T>
inline T mul_lo(T a, T b) {
  using M = detail::Modular<T>;
  return static_cast<T>(M(a) * M(b));
}
template <std::integral T>
inline detail::Wide<T> mul_wide(T a, T b) {
  return detail::Wide<T>(a) * detail::Wide<T>(b);
}
template <std::integral T>
inline T mul_hi(T a, T b) {
  return static_cast<T>(mul_wide(a, b) >> detail::kBits<T>);
}

/// mul24.lo, mul24.hi: low 24 bits of the operands (sign-extended for s32); bits 31..0 or 47..16 of the 48-bit product.
template <class T>
inline i64 product24(T a, T b) {
  if constexpr (std::signed_integral<T>) {
    const i64 x = static_cast<i32>(static_cast<u32>(a) << 8) >> 8;
    const i64 y = static_cast<i32>(static_cast<u32>(b) << 8) >> 8;
    return x * y;
  } else {
    return static_cast<i64>(u64{a & 0xff'ffff} * u64{b & 0xff'ffff});
  }
}
template <class T>
inline T mul24_lo(T a, T b) {
  return static_cast<T>(product24(a, b));
}
template <class T>
inline T mul24_hi(T a, T b) {
  return static_cast<T>(product24(a, b) >> 16);
}

inline i32 clamp_s32(i64 x) {
  constexpr i64 kMin = std::numeric_limits<i32>::min(), kMax = std::numeric_limits<i32>::max();
  return static_cast<i32>(x < kMin ? kMin : (x > kMax ? kMax : x));
}
/// add.sat.s32 and its like: the exact result, clamped.
inline i32 add_sat(i32 a, i32 b) {
  return clamp_s32(i64{a} + b);
}
inline i32 sub_sat(i32 a, i32 b) {
  return clamp_s32(i64{a} - b);
}
/// mad.hi.sat.s32: the sum of the high half and c, clamped.
inline i32 mad_hi_sat(i32 a, i32 b, i32 c) {
  return clamp_s32(i64{mul_hi(a, b)} + c);
}
inline i32 mad24_hi_sat(i32 a, i32 b, i32 c) {
  return clamp_s32(i64{mul24_hi(a, b)} + c);
}

/// Division by zero gives all ones, quotient and remainder, and the most negative number divided by -1 gives itself:
/// the ISA leaves them open, an H200 does so in all widths.
template <std::integral T>
inline T int_div(T a, T b) {
  if (b == 0) return static_cast<T>(~T(0));
  if constexpr (std::signed_integral<T>) {
    if (b == T(-1)) return int_neg(a);
  }
  return static_cast<T>(a / b);
}
template <std::integral T>
inline T int_rem(T a, T b) {
  if (b == 0) return static_cast<T>(~T(0));
  if constexpr (std::signed_integral<T>) {
    if (b == T(-1)) return 0;
  }
  return static_cast<T>(a % b);
}

/// sad: c + |a - b|, the difference taken exactly.
template <std::integral T>
inline T sad(T a, T b, T c) {
  const T distance = a < b ? int_sub(b, a) : int_sub(a, b);
  return int_add(c, distance);
}

/// Shift amounts beyond the width clamp to it.
template <std::unsigned_integral T>
inline T shl(T a, u32 by) {
  const T shifted = static_cast<T>(detail::Modular<T>(a) << (by & (detail::kBits<T> - 1)));
  return by < u32(detail::kBits<T>) ? shifted : T(0);
}
template <std::integral T>
inline T shr(T a, u32 by) {
  constexpr u32 kLast = u32(detail::kBits<T>) - 1;
  if constexpr (std::signed_integral<T>) return static_cast<T>(a >> (by < kLast ? by : kLast));
  const T shifted = static_cast<T>(a >> (by & kLast));
  return by <= kLast ? shifted : T(0);
}

/// shf: the low (.r) or high (.l) word of {high, low} shifted; the amount is taken modulo 32 or clamped to 32.
template <bool Wrap>
inline u32 shf_l(u32 low, u32 high, u32 by) {
  const u32 amount = Wrap ? by & 31 : (by < 32 ? by : 32);
  return static_cast<u32>((((u64{high} << 32) | low) << amount) >> 32);
}
template <bool Wrap>
inline u32 shf_r(u32 low, u32 high, u32 by) {
  const u32 amount = Wrap ? by & 31 : (by < 32 ? by : 32);
  return static_cast<u32>(((u64{high} << 32) | low) >> amount);
}

/// bfe: `length` bits from `position`, sign-extended for signed types from the last bit that exists.
template <std::integral T>
inline T bfe(T a, u32 position, u32 length) {
  constexpr u32 kLast = u32(detail::kBits<T>) - 1;
  const u32 pos = position & 0xff, len = length & 0xff;
  using U = detail::Unsigned<T>;
  const U field = shl<U>(1, len) - 1;  // a length past the width leaves all ones
  U result = shr<U>(static_cast<U>(a), pos) & field;
  if constexpr (std::signed_integral<T>) {
    const u32 top = pos + len - 1 < kLast ? pos + len - 1 : kLast;
    const bool negative = len != 0 && ((static_cast<U>(a) >> top) & 1) != 0;
    // Above the field, and above what the register held of it, comes the sign.
    const u32 held = pos + len > kLast + 1 ? (pos > kLast ? 0 : kLast + 1 - pos) : len;
    result |= negative ? static_cast<U>(~(shl<U>(1, held) - 1)) : U(0);
  }
  return static_cast<T>(result);
}

/// bfi: the low `length` bits of a placed into b at `position`.
template <std::unsigned_integral T>
inline T bfi(T a, T b, u32 position, u32 length) {
  const u32 pos = position & 0xff, len = length & 0xff;
  const T mask = shl<T>(shl<T>(1, len) - 1, pos);
  return (b & ~mask) | (shl<T>(a, pos) & mask);
}

/// bmsk: `length` ones from `position`; amounts clamp to 32 or wrap at it.
template <bool Wrap>
inline u32 bmsk(u32 position, u32 length) {
  const u32 pos = Wrap ? position & 31 : position;
  const u32 len = Wrap ? length & 31 : length;
  return shl<u32>(shl<u32>(1, len) - 1, pos);
}

template <std::unsigned_integral T>
inline u32 clz(T a) {
  return static_cast<u32>(std::countl_zero(a));
}
template <std::unsigned_integral T>
inline u32 popc(T a) {
  return static_cast<u32>(std::popcount(a));
}

/// bfind: position of the leading one (for signed negatives: the leading zero), or all ones when there is none.
template <std::integral T>
inline u32 bfind(T a) {
  using U = detail::Unsigned<T>;
  const U pattern = static_cast<U>(std::signed_integral<T> && a < 0 ? ~a : a);
  return static_cast<u32>(detail::kBits<T> - 1 - std::countl_zero(pattern));
}
/// bfind.shiftamt: how far to shift left to bring that bit to the top.
template <std::integral T>
inline u32 bfind_shiftamt(T a) {
  const u32 position = bfind(a);
  return position == ~0u ? ~0u : static_cast<u32>(detail::kBits<T> - 1) - position;
}

template <std::unsigned_integral T>
inline T brev(T a) {
  u64 x = a;
  x = ((x >> 1) & 0x5555'5555'5555'5555) | ((x & 0x5555'5555'5555'5555) << 1);
  x = ((x >> 2) & 0x3333'3333'3333'3333) | ((x & 0x3333'3333'3333'3333) << 2);
  x = ((x >> 4) & 0x0f0f'0f0f'0f0f'0f0f) | ((x & 0x0f0f'0f0f'0f0f'0f0f) << 4);
  return static_cast<T>(__builtin_bswap64(x) >> (64 - detail::kBits<T>));
}

/// fns: the offset-th set bit from `base` on, upwards for a positive offset, downwards for a negative one; all ones if
/// there is none. Offset 0 asks whether the bit at base itself is set.
inline u32 fns(u32 mask, u32 base, i32 offset) {
  if (offset == 0) return base < 32 && ((mask >> base) & 1) != 0 ? base : ~0u;
  const i32 step = offset > 0 ? 1 : -1;
  u32 left = offset > 0 ? u32(offset) : 0u - u32(offset);
  for (u32 position = base; position < 32; position += u32(step)) {
    if (((mask >> position) & 1) != 0 && --left == 0) return position;
  }
  return ~0u;
}

/// lop3: each result bit is looked up in `table` by the three operand bits, a's the most significant.
inline u32 lop3(u32 a, u32 b, u32 c, u32 table) {
  u32 result = 0;
  for (u32 row = 0; row < 8; ++row) {
    const u32 match = ((row & 4) != 0 ? a : ~a) & ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
    result |= ((table >> row) & 1) != 0 ? match : 0u;
  }
  return result;
}

/// prmt picks result bytes out of the eight bytes of {b, a}.
enum class Permute : u8 { kDefault, kForward4, kBackward4, kReplicate8, kEdgeLeft, kEdgeRight, kReplicate16 };

template <Permute P>
inline u32 prmt_selector(u32 c) {
  const u32 n = c & 3;
  switch (P) {
    case Permute::kDefault:
      return c;
    case Permute::kForward4:
      return 0x3210 + 0x1111 * n;
    case Permute::kBackward4:
      return (n & 7) | ((n - 1) & 7) << 4 | ((n - 2) & 7) << 8 | ((n - 3) & 7) << 12;
    case Permute::kReplicate8:
      return 0x1111 * n;
    case Permute::kEdgeLeft:
      return n | (n > 1 ? n : 1) << 4 | (n > 2 ? n : 2) << 8 | 3u << 12;
    case Permute::kEdgeRight:
      return (n < 1 ? n : 1) << 4 | (n < 2 ? n : 2) << 8 | n << 12;
    case Permute::kReplicate16:
      return (n & 1) != 0 ? 0x3232 : 0x1010;
  }
  return 0;
}
template <Permute P>
inline u32 prmt(u32 a, u32 b, u32 c) {
  const u64 bytes = (u64{b} << 32) | a;
  const u32 selector = prmt_selector<P>(c);
  u32 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 select = selector >> (4 * i);
    const u32 byte = static_cast<u32>(bytes >> (8 * (select & 7))) & 0xff;
    // Bit 3 of a selector replicates the byte's sign instead of copying the byte; only the default mode has it.
    const u32 sign = (byte & 0x80) != 0 ? 0xff : 0;
    result |= ((select & 8) != 0 ? sign : byte) << (8 * i);
  }
  return result;
}

namespace detail {

template <bool Signed, int Bits>
inline i64 lane_of(u32 word, u32 index) {
  const u32 shifted = word << (32 - Bits * (int(index) + 1));
  if constexpr (Signed) return static_cast<i32>(shifted) >> (32 - Bits);
  return shifted >> (32 - Bits);
}

}  // namespace detail

/// dp4a: four products of bytes added to c, modulo 2^32. Each operand has its own signedness.
template <bool ASigned, bool BSigned>
inline u32 dp4a(u32 a, u32 b, u32 c) {
  i64 sum = 0;
  for (u32 i = 0; i < 4; ++i) sum += detail::lane_of<ASigned, 8>(a, i) * detail::lane_of<BSigned, 8>(b, i);
  return c + static_cast<u32>(sum);
}
/// dp2a: two products of the halves of a with the low or high pair of bytes of b, added to c.
template <bool ASigned, bool BSigned, bool High>
inline u32 dp2a(u32 a, u32 b, u32 c) {
  i64 sum = 0;
  for (u32 i = 0; i < 2; ++i) {
    sum += detail::lane_of<ASigned, 16>(a, i) * detail::lane_of<BSigned, 8>(b, i + (High ? 2 : 0));
  }
  return c + static_cast<u32>(sum);
}

/// Carry chain: add.cc, addc, sub.cc, subc, mad.cc, madc. The carry of a subtraction is its borrow.
template <std::unsigned_integral T>
inline T add_carry(T a, T b, bool carry_in, bool& carry_out) {
  const T partial = static_cast<T>(a + b);
  const T result = static_cast<T>(partial + T(carry_in));
  carry_out = (partial < a) | (result < partial);
  return result;
}
template <std::unsigned_integral T>
inline T sub_borrow(T a, T b, bool borrow_in, bool& borrow_out) {
  const T partial = static_cast<T>(a - b);
  const T result = static_cast<T>(partial - T(borrow_in));
  borrow_out = (a < b) | (partial < T(borrow_in));
  return result;
}

}  // namespace terrace::ptx
