// The approximate instructions: ex2, lg2, sin, cos, tanh, rcp, rsqrt, sqrt, div. Each is computed in double with only
// + - x / sqrt, fma and bit operations, never libm, so every host and compiler gives the same bits; the result is far
// inside the error the PTX ISA allows (docs/ptx.md has the measured errors). Real GPUs differ in the last bits.
// Every coefficient is that of the function's power series; ranges are small enough for it.
//
// .ftz composes: flush(ex2_approx(flush(x))), except where a function says otherwise. Special values follow the tables
// of the PTX ISA.
// SPDX-License-Identifier: MIT
#pragma once

#include "frontend/ptx/arith/convert.h"

namespace terrace::ptx {

namespace detail {

/// 2^n for a double exponent in range.
inline double power_of_two(i64 n) {
  return from_bits<double>(static_cast<u64>(n + 1023) << 52);
}

inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;

/// 2^x for |x| <= 1000: the series of e^(f ln 2) for |f| <= 1/2, whose first missing term is below 2^-42 of the result.
inline double exp2_double(double x) {
  const double n = __builtin_rint(x);
  const double t = (x - n) * kLn2;
  double p = 1.0 / 3628800;
  p = __builtin_fma(p, t, 1.0 / 362880);
  p = __builtin_fma(p, t, 1.0 / 40320);
  p = __builtin_fma(p, t, 1.0 / 5040);
  p = __builtin_fma(p, t, 1.0 / 720);
  p = __builtin_fma(p, t, 1.0 / 120);
  p = __builtin_fma(p, t, 1.0 / 24);
  p = __builtin_fma(p, t, 1.0 / 6);
  p = __builtin_fma(p, t, 1.0 / 2);
  p = __builtin_fma(p, t, 1.0);
  p = __builtin_fma(p, t, 1.0);
  return p * power_of_two(static_cast<i64>(n));
}

/// log2 of a positive finite double that came from a float: 2/ln 2 artanh(s), s = (m-1)/(m+1), m in [sqrt 1/2, sqrt 2).
inline double log2_double(double x) {
  constexpr u64 kSqrtHalf = 0x3fe6'a09e'667f'3bcd;
  const u64 bits = bits_of(x);
  const i64 exponent = static_cast<i64>(bits - kSqrtHalf) >> 52;
  const double m = from_bits<double>(bits - (static_cast<u64>(exponent) << 52));
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  double p = 1.0 / 17;
  p = __builtin_fma(p, z, 1.0 / 15);
  p = __builtin_fma(p, z, 1.0 / 13);
  p = __builtin_fma(p, z, 1.0 / 11);
  p = __builtin_fma(p, z, 1.0 / 9);
  p = __builtin_fma(p, z, 1.0 / 7);
  p = __builtin_fma(p, z, 1.0 / 5);
  p = __builtin_fma(p, z, 1.0 / 3);
  p = __builtin_fma(p, z, 1.0);
  constexpr double kTwoOverLn2 = 0x1.71547652b82fep+1;
  return static_cast<double>(exponent) + kTwoOverLn2 * s * p;
}

inline double sin_series(double x) {
  const double z = x * x;
  double p = 1.0 / 6227020800.0;
  p = __builtin_fma(p, z, -1.0 / 39916800);
  p = __builtin_fma(p, z, 1.0 / 362880);
  p = __builtin_fma(p, z, -1.0 / 5040);
  p = __builtin_fma(p, z, 1.0 / 120);
  p = __builtin_fma(p, z, -1.0 / 6);
  return __builtin_fma(p * z, x, x);
}
inline double cos_series(double x) {
  const double z = x * x;
  double p = -1.0 / 87178291200.0;
  p = __builtin_fma(p, z, 1.0 / 479001600);
  p = __builtin_fma(p, z, -1.0 / 3628800);
  p = __builtin_fma(p, z, 1.0 / 40320);
  p = __builtin_fma(p, z, -1.0 / 720);
  p = __builtin_fma(p, z, 1.0 / 24);
  p = __builtin_fma(p, z, -1.0 / 2);
  return __builtin_fma(p, z, 1.0);
}

inline constexpr double kHalfPiHigh = 0x1.921fb54442d18p+0, kHalfPiLow = 0x1.1a62633145c07p-54;

struct Reduced {
  double rest;   // in [-pi/4, pi/4]
  u32 quadrant;  // multiples of pi/2 taken away, modulo 4
};

/// A float's angle brought into one quadrant. Up to 2^20 two parts of pi/2 suffice (Cody and Waite); beyond, the bits
/// of 2/pi that matter for this exponent are multiplied in integers (Payne and Hanek), exact to 2^-37 of a quadrant.
inline Reduced reduce_angle(float x) {
  if (magnitude_of(x) < 0x4980'0000) {  // 2^20
    const double n = __builtin_rint(x * 0x1.45f306dc9c883p-1);
    const double r = __builtin_fma(-n, kHalfPiLow, __builtin_fma(-n, kHalfPiHigh, double{x}));
    return {r, static_cast<u32>(static_cast<i64>(n)) & 3};
  }
  // The binary digits of 2/pi after the point.
  constexpr u64 kTwoOverPi[] = {0xa2f9'836e'4e44'1529, 0xfc27'57d1'f534'ddc0, 0xdb62'9599'3c43'9041,
                                0xfe51'63ab'debb'c561};
  const u32 exponent = (magnitude_of(x) >> 23) - 150;  // x = significand x 2^exponent, exponent in [-3, 104]
  const u64 significand = (magnitude_of(x) & 0x7f'ffff) | 0x80'0000;
  // Digits worth 4 quadrants and more, once scaled by 2^exponent, vanish modulo 4: start two digits before the point.
  const u32 skip = static_cast<u32>(static_cast<i32>(exponent) - 2 + 64);
  const auto digits = [&](u32 from) {  // 64 digits from position `from` - 64
    const auto word = [&](u32 i) { return i == 0 ? u64{0} : kTwoOverPi[i - 1]; };
    const u32 i = from / 64, s = from % 64;
    return s == 0 ? word(i) : word(i) << s | word(i + 1) >> (64 - s);
  };
  const u64 turns = significand * digits(skip) + static_cast<u64>((soft::u128{significand} * digits(skip + 64)) >> 64);
  const u64 nearest = (turns + (u64{1} << 61)) >> 62;
  const double rest = static_cast<double>(static_cast<i64>(turns - (nearest << 62))) * (0x1p-62 * kHalfPiHigh);
  return is_negative(x) ? Reduced{-rest, static_cast<u32>(0 - nearest) & 3}
                        : Reduced{rest, static_cast<u32>(nearest) & 3};
}

inline double sine_of(Reduced angle) {
  const double value = (angle.quadrant & 1) != 0 ? cos_series(angle.rest) : sin_series(angle.rest);
  return (angle.quadrant & 2) != 0 ? -value : value;
}

inline bool finite(float x) {
  return magnitude_of(x) < Format<float>::kInf;
}

inline float to_float(double x) {
  return canonical(static_cast<float>(x));
}

}  // namespace detail

/// ex2.approx.f32: +0 for -inf, +inf for +inf.
inline float ex2_approx(float x) {
  const double bounded = x < -200.f ? -200.0 : (x > 200.f ? 200.0 : double{x});  // beyond is 0 and infinity already
  return x == x ? detail::to_float(detail::exp2_double(x == x ? bounded : 0.0)) : kNan<float>;
}

/// lg2.approx.f32: -inf for either zero, NaN below zero.
inline float lg2_approx(float x) {
  float result = detail::to_float(detail::log2_double(((x > 0) & detail::finite(x)) ? double{x} : 1.0));
  result = magnitude_of(x) == Format<float>::kInf ? x : result;
  result = x == 0 ? -from_bits<float>(Format<float>::kInf) : result;
  return x >= 0 ? result : kNan<float>;
}

/// sin.approx.f32, cos.approx.f32: NaN for infinities; sin of a subnormal is a zero of its sign, with and without .ftz.
inline float sin_approx(float x) {
  if (!detail::finite(x)) return kNan<float>;
  x = flush(x);
  if (x == 0) return x;
  return detail::to_float(detail::sine_of(detail::reduce_angle(x)));
}
inline float cos_approx(float x) {
  if (!detail::finite(x)) return kNan<float>;
  detail::Reduced angle = detail::reduce_angle(x);
  angle.quadrant += 1;
  return detail::to_float(detail::sine_of(angle));
}

/// tanh.approx.f32: (e^2x - 1) / (e^2x + 1); near zero that cancels, and three terms of the series do instead.
inline float tanh_approx(float x) {
  const double wide = double{x};
  const double bounded = wide < -20 ? -20 : (wide > 20 ? 20 : wide);  // 1 - tanh(20) is below half an ulp of 1
  const double z = bounded * bounded;
  const double near_zero = bounded * __builtin_fma(__builtin_fma(2.0 / 15, z, -1.0 / 3), z, 1.0);
  const double e = detail::exp2_double(x == x ? bounded * (2 / detail::kLn2) : 0.0);
  const double value = z < 0x1p-12 ? near_zero : (e - 1) / (e + 1);
  return x == x ? static_cast<float>(value) : kNan<float>;
}

/// The float ones are correctly rounded: the host's division and square root are exact enough and as fast as any
/// estimate.
template <bool Ftz = false>
inline float rcp_approx(float x) {
  return rcp<Round::kNearestEven, Ftz>(x);
}
template <bool Ftz = false>
inline float sqrt_approx(float x) {
  return sqrt<Round::kNearestEven, Ftz>(x);
}
template <bool Ftz = false>
inline float rsqrt_approx(float x) {
  // 1 / sqrt(-0) is -inf, as the ISA's table asks. The result is never subnormal.
  return detail::to_float(1.0 / __builtin_sqrt(double{Ftz ? flush(x) : x}));
}

/// div.approx.f32: zero when the divisor is above 2^126 (NaN if a is infinite, as infinity times the zero reciprocal).
template <bool Ftz = false>
inline float div_approx(float a, float b) {
  const u32 divisor = magnitude_of(b);
  const bool huge = divisor > 0x7e80'0000 && divisor < Format<float>::kInf;
  const float quotient = div<Round::kNearestEven, Ftz>(a, b);
  const float vanished = from_bits<float>((bits_of(a) ^ bits_of(b)) & kSignBit<float>);
  return huge ? (detail::finite(a) ? vanished : kNan<float>) : quotient;
}
template <bool Ftz = false>
inline float div_full(float a, float b) {
  return div<Round::kNearestEven, Ftz>(a, b);
}

/// rcp.approx.ftz.f64, rsqrt.approx.ftz.f64: only the upper 32 bits of the operand count and only those of the result
/// are not zero; subnormals are flushed on both sides. The NaN is the H200's.
inline double upper_word(double x) {
  return from_bits<double>(bits_of(x) & 0xffff'ffff'0000'0000);
}
inline double rcp_approx_ftz(double x) {
  const double y = flush(1.0 / flush(upper_word(x)));
  return y == y ? upper_word(y) : from_bits<double>(0x7fff'ffff'0000'0000);
}
inline double rsqrt_approx_ftz(double x) {
  const double y = 1.0 / __builtin_sqrt(flush(upper_word(x)));
  return y == y ? upper_word(y) : from_bits<double>(0x7fff'ffff'0000'0000);
}
inline double rsqrt_approx(double x) {
  return or_nan(1.0 / __builtin_sqrt(x), x);
}

/// ex2.approx and tanh.approx for halves: the float result rounded to the half.
template <NarrowFloat F>
inline F half_ex2_approx(F x) {
  return narrow<F, Round::kNearestEven>(ex2_approx(widen_to_float(x)));
}
template <NarrowFloat F>
inline F half_tanh_approx(F x) {
  return narrow<F, Round::kNearestEven>(tanh_approx(widen_to_float(x)));
}

}  // namespace terrace::ptx
