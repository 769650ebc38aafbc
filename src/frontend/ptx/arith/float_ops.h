// f32 and f64 arithmetic as PTX defines it, in all four rounding modes: add, sub, mul, fma, div, rcp, sqrt, min, max,
// compares, testp, copysign. Modifiers compose around an operation: `saturate(flush(add<R>(flush(a), flush(b))))` is
// add.R.ftz.sat.f32.
//
// Round-to-nearest is the host's own IEEE operation. Directed f32 is exact double arithmetic rounded once; directed f64
// is done in integers (soft_double.h). f32 returns the canonical NaN; f64 propagates a NaN operand as described at
// `nan_of`. SPDX-License-Identifier: MIT
#pragma once

#include "frontend/ptx/arith/rounding.h"
#include "frontend/ptx/arith/soft_double.h"

namespace terrace::ptx {

/// .ftz: a subnormal becomes a zero of its sign.
template <class F>
inline F flush(F x) {
  using Bits = typename Format<F>::Bits;
  constexpr Bits kMinNormal = Bits{1} << (Format<F>::kPrecision - 1);
  return from_bits<F>(magnitude_of(x) < kMinNormal ? static_cast<Bits>(bits_of(x) & kSignBit<F>) : bits_of(x));
}

/// .sat: into [+0, 1]; a NaN becomes +0.
template <class F>
inline F saturate(F x) {
  const F floor = x > F(0) ? x : F(0);
  return floor < F(1) ? floor : F(1);
}

template <class F>
inline F canonical(F x) {
  return x == x ? x : kNan<F>;
}

namespace detail {

template <class F>
inline constexpr bool kIsFloat = std::same_as<F, float>;

/// An exact zero sum of unlike signs is -0 when rounding down (IEEE 754, 6.3); the host rounds to nearest and gives +0.
template <Round R>
inline double signed_zero(double value, double a, double b) {
  if constexpr (R != Round::kDown) return value;
  return value == 0 ? from_bits<double>((bits_of(a) | bits_of(b)) & kSignBit<double>) : value;
}

/// a + b for doubles of moderate size, as a double that is odd when the sum is not exact (Knuth's TwoSum).
template <Round R>
inline double odd_sum(double a, double b) {
  const double s = a + b;
  const double part = s - a;
  const double error = (a - (s - part)) + (b - part);
  return signed_zero<R>(to_odd(s, error), a, b);
}

/// a / b for operands that are floats: the residual is exact, and its sign is that of what the quotient lost.
inline double odd_quotient(double a, double b) {
  const double q = a / b;
  const double residual = __builtin_fma(-q, b, a);
  return to_odd(q, b < 0 ? -residual : residual);
}

inline double odd_root(double x) {
  const double r = __builtin_sqrt(x);
  return to_odd(r, __builtin_fma(-r, r, x));
}

inline bool finite(double x) {
  return magnitude_of(x) < Format<double>::kInf;
}

}  // namespace detail

template <Round R, class F>
inline F add(F a, F b) {
  if constexpr (R == Round::kNearestEven) return canonical(a + b);
  if constexpr (detail::kIsFloat<F>)
    return narrow<F, R>(detail::odd_sum<R>(a, b));
  else if (!detail::finite(a) || !detail::finite(b))
    return canonical(a + b);
  else
    return soft::sum<R>(soft::unpack(a), soft::unpack(b));
}

template <Round R, class F>
inline F sub(F a, F b) {
  return add<R>(a, -b);
}

template <Round R, class F>
inline F mul(F a, F b) {
  if constexpr (R == Round::kNearestEven) return canonical(a * b);
  if constexpr (detail::kIsFloat<F>)
    return narrow<F, R>(double(a) * double(b));
  else if (!detail::finite(a) || !detail::finite(b))
    return canonical(a * b);
  else
    return soft::pack<R>(soft::product(soft::unpack(a), soft::unpack(b)));
}

template <Round R, class F>
inline F fma(F a, F b, F c) {
  if constexpr (detail::kIsFloat<F>) {
    if constexpr (R == Round::kNearestEven) return canonical(__builtin_fmaf(a, b, c));
    return narrow<F, R>(detail::odd_sum<R>(double(a) * double(b), double(c)));
  } else {
    if (R == Round::kNearestEven || !detail::finite(a) || !detail::finite(b) || !detail::finite(c))
      return canonical(__builtin_fma(a, b, c));
    return soft::sum<R>(soft::product(soft::unpack(a), soft::unpack(b)), soft::unpack(c));
  }
}

template <Round R, class F>
inline F div(F a, F b) {
  if constexpr (R == Round::kNearestEven) return canonical(a / b);
  if constexpr (detail::kIsFloat<F>)
    return narrow<F, R>(detail::odd_quotient(a, b));
  else if (!detail::finite(a) || !detail::finite(b) || a == 0 || b == 0)
    return canonical(a / b);
  else
    return soft::quotient<R>(soft::unpack(a), soft::unpack(b));
}

template <Round R, class F>
inline F rcp(F a) {
  return div<R>(F(1), a);
}

template <Round R, class F>
inline F sqrt(F a) {
  if constexpr (detail::kIsFloat<F>) {
    if constexpr (R == Round::kNearestEven) return canonical(__builtin_sqrtf(a));
    return narrow<F, R>(detail::odd_root(a));
  } else {
    if (R == Round::kNearestEven || !detail::finite(a) || !(a > 0)) return canonical(__builtin_sqrt(a));
    return soft::square_root<R>(soft::unpack(a));
  }
}

/// neg and abs act on the sign bit alone, NaNs included.
template <class F>
inline F neg(F a) {
  return from_bits<F>(static_cast<typename Format<F>::Bits>(bits_of(a) ^ kSignBit<F>));
}
template <class F>
inline F abs(F a) {
  return from_bits<F>(magnitude_of(a));
}

/// copysign d, a, b: the sign of a on the value of b.
template <class F>
inline F copysign(F a, F b) {
  return from_bits<F>(static_cast<typename Format<F>::Bits>((bits_of(a) & kSignBit<F>) | magnitude_of(b)));
}

/// Whether min and max return a NaN operand (.NaN) or the other operand.
enum class NanRule : u8 { kOther, kNan };

namespace detail {

template <NanRule N, bool Max, class F>
inline F extreme(F a, F b) {
  // Equal operands differ at most in the sign of a zero: -0 < +0.
  const auto equal = Max ? bits_of(a) & bits_of(b) : bits_of(a) | bits_of(b);
  const bool first = Max ? a > b : a < b;
  F result = a == b ? from_bits<F>(equal) : (first ? a : b);
  if constexpr (N == NanRule::kOther) {
    result = b == b ? result : a;
    result = a == a ? result : b;
    return canonical(result);
  }
  return (a == a) & (b == b) ? result : kNan<F>;
}

}  // namespace detail

template <NanRule N = NanRule::kOther, class F>
inline F min(F a, F b) {
  return detail::extreme<N, false>(a, b);
}
template <NanRule N = NanRule::kOther, class F>
inline F max(F a, F b) {
  return detail::extreme<N, true>(a, b);
}

/// .xorsign.abs: the magnitude of the smaller (larger) magnitude, negative when exactly one operand is.
template <NanRule N, class F>
inline F min_xorsign_abs(F a, F b) {
  return from_bits<F>(magnitude_of(min<N>(abs(a), abs(b))) | ((bits_of(a) ^ bits_of(b)) & kSignBit<F>));
}
template <NanRule N, class F>
inline F max_xorsign_abs(F a, F b) {
  return from_bits<F>(magnitude_of(max<N>(abs(a), abs(b))) | ((bits_of(a) ^ bits_of(b)) & kSignBit<F>));
}

/// The comparisons of set and setp. lo, ls, hi, hs are lt, le, gt, ge on unsigned integers: the operand type says so.
enum class Compare : u8 { kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNan };

/// Works for integers and floats. The first six are false when an operand is a NaN (ne too), the six ending in u true.
template <Compare C, class T>
inline bool compare(T a, T b) {
  switch (C) {
    case Compare::kEq:
      return a == b;
    case Compare::kNe:
      return (a < b) | (a > b);
    case Compare::kLt:
      return a < b;
    case Compare::kLe:
      return a <= b;
    case Compare::kGt:
      return a > b;
    case Compare::kGe:
      return a >= b;
    case Compare::kEqu:
      return !((a < b) | (a > b));
    case Compare::kNeu:
      return !(a == b);
    case Compare::kLtu:
      return !(a >= b);
    case Compare::kLeu:
      return !(a > b);
    case Compare::kGtu:
      return !(a <= b);
    case Compare::kGeu:
      return !(a < b);
    case Compare::kNum:
      return (a == a) & (b == b);
    case Compare::kNan:
      return !((a == a) & (b == b));
  }
  return false;
}

enum class TestProperty : u8 { kFinite, kInfinite, kNumber, kNotANumber, kNormal, kSubnormal };

template <TestProperty P, class F>
inline bool testp(F a) {
  const auto magnitude = magnitude_of(a);
  constexpr auto kMinNormal = typename Format<F>::Bits(1) << (Format<F>::kPrecision - 1);
  switch (P) {
    case TestProperty::kFinite:
      return magnitude < Format<F>::kInf;
    case TestProperty::kInfinite:
      return magnitude == Format<F>::kInf;
    case TestProperty::kNumber:
      return magnitude <= Format<F>::kInf;
    case TestProperty::kNotANumber:
      return magnitude > Format<F>::kInf;
    case TestProperty::kNormal:
      return (magnitude >= kMinNormal) & (magnitude < Format<F>::kInf);
    case TestProperty::kSubnormal:
      return magnitude < kMinNormal;  // the ISA counts zero as subnormal
  }
  return false;
}

}  // namespace terrace::ptx
