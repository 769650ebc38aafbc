// Rounding to a binary format from something more exact, in integer arithmetic: the host's rounding mode is never
// touched, because changing it is slow and compilers move arithmetic across the change.
//
// Every inexact operation on f32, f16, bf16 and tf32 is computed in double, made sticky (`to_odd`: what the double lost
// lives on in its last bit) and narrowed once by `narrow`. Rounding to odd first is harmless because a double has at
// least two bits more than any of these formats needs (Boldo and Melquiond, "Emulation of FMA and correctly rounded
// sums", 2008). All of it is free of branches, so loops over lanes vectorise.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <concepts>

#include "engine/types.h"

namespace terrace::ptx {

/// The four IEEE directions PTX names: .rn .rz .rm .rp; with a trailing i (.rni ...) they round to an integral value.
enum class Round : u8 { kNearestEven, kZero, kDown, kUp };

/// f16, bf16 and tf32 values are carried as bits; only this layer computes with them.
struct F16 {
  u16 bits;
  friend bool operator==(F16, F16) = default;
};
struct BF16 {
  u16 bits;
  friend bool operator==(BF16, BF16) = default;
};
struct TF32 {
  u32 bits;
  friend bool operator==(TF32, TF32) = default;
};

/// Shape of an IEEE-like format, and the NaN that arithmetic in this format returns: always that one, except that f64
/// passes a NaN operand on (float_ops.h). As measured on an H200.
template <class F>
struct Format;
template <>
struct Format<float> {
  using Bits = u32;
  static constexpr int kPrecision = 24, kMinExponent = -126;
  static constexpr Bits kInf = 0x7f80'0000, kNan = 0x7fff'ffff;
};
template <>
struct Format<double> {
  using Bits = u64;
  static constexpr int kPrecision = 53, kMinExponent = -1022;
  static constexpr Bits kInf = 0x7ff0'0000'0000'0000, kNan = 0xfff8'0000'0000'0000;
};
template <>
struct Format<F16> {
  using Bits = u16;
  static constexpr int kPrecision = 11, kMinExponent = -14;
  static constexpr Bits kInf = 0x7c00, kNan = 0x7fff;
};
template <>
struct Format<BF16> {
  using Bits = u16;
  static constexpr int kPrecision = 8, kMinExponent = -126;
  static constexpr Bits kInf = 0x7f80, kNan = 0x7fff;
};
/// tf32 occupies a 32-bit register: a float whose 13 low mantissa bits are unspecified by the ISA; here they are zero.
template <>
struct Format<TF32> {
  using Bits = u32;
  static constexpr int kPrecision = 11, kMinExponent = -126;
  static constexpr Bits kInf = 0xff << 10, kNan = 0x3'ffff;
};

template <class F>
inline constexpr typename Format<F>::Bits kSignBit =
    typename Format<F>::Bits(typename Format<F>::Bits(1) << (sizeof(F) * 8 - 1));

template <class F>
constexpr auto bits_of(F x) {
  return std::bit_cast<typename Format<F>::Bits>(x);
}
template <class F>
constexpr F from_bits(typename Format<F>::Bits bits) {
  return std::bit_cast<F>(bits);
}
template <class F>
constexpr auto magnitude_of(F x) {
  return static_cast<typename Format<F>::Bits>(bits_of(x) & ~kSignBit<F>);
}
template <class F>
constexpr bool is_negative(F x) {
  return (bits_of(x) & kSignBit<F>) != 0;
}
template <class F>
constexpr bool is_nan(F x) {
  return magnitude_of(x) > Format<F>::kInf;
}
template <class F>
inline constexpr F kNan = from_bits<F>(Format<F>::kNan);

/// Whether a magnitude with this remainder is rounded away from zero. `half` is the remainder of an exact tie.
template <Round R, class U>
constexpr bool rounds_up(bool negative, bool odd, U remainder, U half) {
  if constexpr (R == Round::kNearestEven) return (remainder > half) | ((remainder == half) & odd);
  if constexpr (R == Round::kZero) return false;
  if constexpr (R == Round::kDown) return negative & (remainder != 0);
  return !negative & (remainder != 0);
}

/// What a finite value beyond the largest number becomes, as a magnitude: infinity, or the largest number.
template <Round R, class Bits>
constexpr Bits overflow_magnitude(bool negative, Bits inf) {
  if constexpr (R == Round::kNearestEven) return inf;
  if constexpr (R == Round::kZero) return static_cast<Bits>(inf - 1);
  if constexpr (R == Round::kDown) return static_cast<Bits>(inf - (negative ? 0 : 1));
  return static_cast<Bits>(inf - (negative ? 1 : 0));
}

/// The double nearest to value + error, made odd when error is not zero. `value` must be value + error rounded to
/// nearest, neither tiny nor huge; infinities and NaNs pass (their error compares as neither above nor below zero).
inline double to_odd(double value, double error) {
  const u64 bits = bits_of(value);
  const bool inexact = (error < 0) | (error > 0);
  const bool away = (error < 0) == (value < 0);
  const u64 step = away ? 1 : ~u64{0};
  return from_bits<double>(bits + ((inexact & ((bits & 1) == 0)) ? step : 0));
}

/// The bits of x rounded once to format F. With Ftz a result that is below the smallest normal number when rounded to
/// full precision becomes a zero of its sign; this is how the hardware decides, and it differs from flushing the IEEE
/// result where that rounds up to the smallest normal number.
template <class F, Round R, bool Ftz = false>
inline typename Format<F>::Bits narrow_bits(double x) {
  using Bits = typename Format<F>::Bits;
  constexpr int kP = Format<F>::kPrecision;
  const u64 bits = bits_of(x);
  const u64 magnitude = bits & ~kSignBit<double>;
  const bool negative = bits != magnitude;
  const int biased = static_cast<int>(magnitude >> 52);
  const int exponent = (biased > 0 ? biased : 1) - 1023;
  const u64 significand = (magnitude & ((u64{1} << 52) - 1)) | (u64{biased > 0} << 52);
  // Bits that do not fit: more of them below the smallest normal number. 62 is past every bit and keeps shifts defined.
  const int below = Format<F>::kMinExponent - exponent;
  const int wanted = 53 - kP + (below > 0 && !Ftz ? below : 0);
  const int drop = wanted < 62 ? wanted : 62;
  const u64 kept = significand >> drop;
  const u64 remainder = significand - (kept << drop);
  const u64 up = rounds_up<R, u64>(negative, (kept & 1) != 0, remainder, u64{1} << (drop - 1));
  // The leading bit of a normal significand carries into the exponent field, and so does a mantissa rounded up to 2.
  u64 rounded = (static_cast<u64>(below > 0 ? 0 : -below) << (kP - 1)) + kept + up;
  if constexpr (Ftz) {
    const bool carried = (below == 1) & (kept + up == u64{1} << kP);
    rounded = below > 0 ? (carried ? u64{1} << (kP - 1) : 0) : rounded;
  }
  u64 result = rounded < Format<F>::kInf ? rounded : u64{overflow_magnitude<R, Bits>(negative, Format<F>::kInf)};
  result = magnitude == Format<double>::kInf ? u64{Format<F>::kInf} : result;
  const u64 sign = negative ? u64{1} << (std::same_as<F, TF32> ? 18 : sizeof(F) * 8 - 1) : 0;
  return static_cast<Bits>(magnitude > Format<double>::kInf ? u64{Format<F>::kNan} : result | sign);
}

template <class F, Round R, bool Ftz = false>
inline F narrow(double x) {
  const auto bits = narrow_bits<F, R, Ftz>(x);
  return from_bits<F>(std::same_as<F, TF32> ? static_cast<decltype(bits)>(bits << 13) : bits);
}

/// The exact value of a narrow format. A NaN stays a NaN.
inline double widen(float x) {
  return x;
}
inline float widen_to_float(BF16 x) {
  return from_bits<float>(u32{x.bits} << 16);
}
inline float widen_to_float(F16 x) {
  const u32 magnitude = magnitude_of(x);
  // A half's fields read as a float's are 2^112 too small; the product is exact, subnormal halves included.
  const float finite = from_bits<float>(magnitude << 13) * 0x1p112f;
  const u32 special = 0x7f80'0000 | (magnitude << 13);
  const u32 result = magnitude >= Format<F16>::kInf ? special : bits_of(finite);
  return from_bits<float>(result | (u32{x.bits} & 0x8000u) << 16);
}
inline double widen(F16 x) {
  return widen_to_float(x);
}
inline double widen(BF16 x) {
  return widen_to_float(x);
}

}  // namespace terrace::ptx
