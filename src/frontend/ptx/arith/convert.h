// cvt in all its forms: between integers, integers and floats, and floats. Modifiers compose: flush() operands and
// results for .ftz, saturate() for .sat to a float; a conversion from float to integer always clamps, so .sat adds
// nothing there.
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <limits>

#include "frontend/ptx/arith/float_ops.h"

namespace terrace::ptx {

template <class F>
concept NarrowFloat = std::same_as<F, F16> || std::same_as<F, BF16>;

/// Integer to integer with .sat: clamped to what To can hold. Without .sat a C++ conversion does what cvt does.
template <std::integral To, std::integral From>
inline To int_to_int_saturate(From x) {
  constexpr To kMin = std::numeric_limits<To>::min(), kMax = std::numeric_limits<To>::max();
  if constexpr (std::unsigned_integral<To> && std::signed_integral<From>) {
    const auto clamped = static_cast<std::make_unsigned_t<From>>(x < 0 ? From(0) : x);
    return clamped > kMax ? kMax : static_cast<To>(clamped);
  } else if constexpr (std::signed_integral<To> && std::unsigned_integral<From>) {
    return x > std::make_unsigned_t<To>(kMax) ? kMax : static_cast<To>(x);
  } else {
    return x > kMax ? kMax : (x < kMin ? kMin : static_cast<To>(x));
  }
}

namespace detail {

/// An integer as a double that is odd when 53 bits do not hold it.
template <std::integral I>
inline double odd_double(I x) {
  if constexpr (sizeof(I) <= 4) {
    return static_cast<double>(x);
  } else {
    const bool negative = std::signed_integral<I> && x < 0;
    const u64 magnitude = negative ? u64{0} - static_cast<u64>(x) : static_cast<u64>(x);
    const u64 high = magnitude >> 11, sticky = (magnitude & 0x7ff) != 0;
    // Below 2^53 nothing is lost; above, the top 53 bits are kept and the rest is sticky.
    const double result = magnitude < (u64{1} << 53) ? static_cast<double>(static_cast<i64>(magnitude))
                                                     : static_cast<double>(static_cast<i64>(high | sticky)) * 0x1p11;
    return negative ? -result : result;
  }
}

}  // namespace detail

template <class F, Round R, std::integral I>
inline F int_to_float(I x) {
  if constexpr (R == Round::kNearestEven && std::floating_point<F>)
    return static_cast<F>(x);
  else if constexpr (std::same_as<F, double>) {
    if constexpr (sizeof(I) <= 4) return static_cast<double>(x);
    const bool negative = std::signed_integral<I> && x < 0;
    return soft::pack<R>({negative, 0, negative ? u64{0} - static_cast<u64>(x) : static_cast<u64>(x)});
  } else
    return narrow<F, R>(detail::odd_double(x));
}

/// .rni .rzi .rmi .rpi between equal float types: to an integral value, the sign of a zero kept.
template <Round R, std::floating_point F>
inline F round_to_integral(F x) {
  F result;
  if constexpr (std::same_as<F, float>) {
    if constexpr (R == Round::kNearestEven)
      result = __builtin_rintf(x);
    else if constexpr (R == Round::kZero)
      result = __builtin_truncf(x);
    else if constexpr (R == Round::kDown)
      result = __builtin_floorf(x);
    else
      result = __builtin_ceilf(x);
  } else {
    if constexpr (R == Round::kNearestEven)
      result = __builtin_rint(x);
    else if constexpr (R == Round::kZero)
      result = __builtin_trunc(x);
    else if constexpr (R == Round::kDown)
      result = __builtin_floor(x);
    else
      result = __builtin_ceil(x);
  }
  return or_nan(result, x);
}
template <Round R, NarrowFloat F>
inline F round_to_integral(F x) {
  // An integral value next to a half needs no more bits than the half has.
  return narrow<F, Round::kZero>(round_to_integral<R>(widen_to_float(x)));
}

/// Rounded to an integer, clamped to its range. A NaN becomes zero, except from f64 or to a 64-bit integer: there it
/// becomes the integer with only its top bit set (PTX ISA 9.0, cvt).
template <std::integral I, Round R, std::floating_point F>
inline I float_to_int(F x) {
  constexpr F kTwo = 2;
  // One past the largest: a power of two, half of which every integer type can hold.
  constexpr F kEnd = static_cast<F>(I{1} << (std::numeric_limits<I>::digits - 1)) * kTwo;
  constexpr F kStart = static_cast<F>(std::numeric_limits<I>::min());
  constexpr bool kZeroNan = std::same_as<F, float> && sizeof(I) < 8;
  constexpr I kFromNan = kZeroNan ? I(0) : static_cast<I>(std::make_unsigned_t<I>(1) << (sizeof(I) * 8 - 1));
  const F r = round_to_integral<R>(x);
  const bool inside = (r >= kStart) & (r < kEnd);
  I result = static_cast<I>(inside ? r : F(0));
  result = r >= kEnd ? std::numeric_limits<I>::max() : result;
  result = r < kStart ? std::numeric_limits<I>::min() : result;
  return x == x ? result : kFromNan;
}
template <std::integral I, Round R, NarrowFloat F>
inline I float_to_int(F x) {
  return float_to_int<I, R>(widen_to_float(x));
}

namespace detail {

/// How an H200 converts a NaN between f64 and another format: sign and leading payload bits stay, and it becomes quiet.
template <class To, class From>
inline To converted_nan(From x) {
  constexpr int kFrom = Format<From>::kPrecision - 1, kTo = Format<To>::kPrecision - 1;
  const u64 payload = bits_of(x) & ((u64{1} << kFrom) - 1);
  const u64 moved = kTo > kFrom ? payload << (kTo - kFrom) : payload >> (kFrom - kTo);
  const u64 result = moved | u64{Format<To>::kInf} | u64{1} << (kTo - 1) | (is_negative(x) ? u64{kSignBit<To>} : 0);
  return from_bits<To>(static_cast<typename Format<To>::Bits>(result));
}

}  // namespace detail

/// .ftz on the operand of a conversion: it also makes a NaN canonical, as on an H200.
template <class F>
inline F canonical_flush(F x) {
  return is_nan(x) ? kNan<F> : flush(x);
}

/// Between float formats. Widening is exact and R then means nothing. NaNs as an H200 does: from and to f64 they are
/// passed on, from bf16 to f32 unchanged, otherwise the canonical NaN of the result.
template <class To, Round R, bool Ftz = false, class From>
inline To float_to_float(From x) {
  // .ftz concerns f32 operands and results only.
  if constexpr (Ftz && std::same_as<From, float>)
    return float_to_float<To, R>(canonical_flush(x));
  else if constexpr (Ftz && NarrowFloat<From> && std::same_as<To, float>)
    return canonical_flush(float_to_float<To, R>(x));
  else if constexpr (std::same_as<To, From>)
    return x;
  else if constexpr (std::same_as<To, double>)
    return is_nan(x) ? detail::converted_nan<double>(x) : widen(x);
  else if constexpr (std::same_as<From, double>) {
    constexpr bool kFlush = Ftz && std::same_as<To, float>;
    if constexpr (R == Round::kNearestEven && std::same_as<To, float> && !kFlush)
      return x == x ? static_cast<float>(x) : detail::converted_nan<float>(x);
    else
      return is_nan(x) ? detail::converted_nan<To>(x) : narrow<To, R, kFlush>(x);
  } else if constexpr (std::same_as<From, BF16> && std::same_as<To, float>)
    return widen_to_float(x);
  else if constexpr (std::same_as<To, float>)
    return canonical(widen_to_float(x));
  else
    return narrow<To, R>(widen(x));
}

/// .relu: a negative result becomes +0, a NaN the canonical NaN.
template <class F>
inline F relu(F x) {
  return is_nan(x) ? kNan<F> : (is_negative(x) ? from_bits<F>(0) : x);
}

/// cvt.rna.tf32.f32: to nearest, ties away from zero. The 13 low bits are cleared, of NaNs too (an H200 does so).
inline u32 float_to_tf32_rna(float x) {
  const u32 bits = bits_of(x);
  const u32 rounded = (bits + 0x1000) & ~u32{0x1fff};
  return magnitude_of(x) < Format<float>::kInf ? rounded : bits & ~u32{0x1fff};
}

/// cvt.rn.f16x2.f32 d, a, b and its like: a becomes the upper half, b the lower.
template <class F, Round R>
inline u32 pack_halves(float a, float b) {
  return u32{narrow<F, R>(a).bits} << 16 | narrow<F, R>(b).bits;
}

}  // namespace terrace::ptx
