// f32 and f64 arithmetic as PTX defines it, in all four rounding modes: add, sub, mul, fma, div, rcp, sqrt, min, max,
// compares, testp, copysign. `mul<R, true>` is mul.R.ftz; `saturate` around it adds .sat.
//
// Round-to-nearest is the host's own IEEE operation and free of branches. Directed f32 is exact double arithmetic
// rounded once; directed f64 is done in integers (soft_double.h). Where the ISA leaves a NaN open, an H200 was asked:
// f32 returns 0x7fffffff, f64 passes a NaN operand on.
// SPDX-License-Identifier: MIT
#pragma once

#include "frontend/ptx/arith/rounding.h"
#include "frontend/ptx/arith/soft_double.h"

namespace terrace::ptx {

/// A subnormal becomes a zero of its sign: what .ftz does to operands. Results need more care (`flush_product`).
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

/// The result of an operation when it is no NaN; else the NaN that the hardware gives. f64 returns its first NaN
/// operand in the order the caller lists them, made quiet; their order, and that signs of sources do not matter, is the
/// H200's.
template <class... Operands>
inline float or_nan(float result, Operands...) {
  return canonical(result);
}
inline double quiet(double x) {
  return from_bits<double>(bits_of(x) | 0x0008'0000'0000'0000);
}
inline double or_nan(double result) {
  return canonical(result);
}
inline double or_nan(double result, double a) {
  return result == result ? result : (a == a ? kNan<double> : quiet(a));
}
template <class... Operands>
inline double or_nan(double result, double first, Operands... rest) {
  const double other = or_nan(result, rest...);
  return result == result ? result : (first == first ? other : quiet(first));
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

namespace detail {

/// .ftz on a product, quotient or fused result of normal floats. The hardware rounds to full precision first and
/// flushes what is then below 2^-126; `scaled` is the same operation on operands 2^24 larger, whose rounding sees no
/// subnormals.
inline float flush_product(float result, float scaled) {
  const float zero = from_bits<float>(bits_of(result) & kSignBit<float>);
  return from_bits<float>(magnitude_of(scaled)) < 0x1p-102f ? zero : result;
}

}  // namespace detail

template <Round R, bool Ftz = false, class F>
inline F add(F a, F b) {
  static_assert(!Ftz || detail::kIsFloat<F>, "PTX has no .ftz for f64 arithmetic");
  // A sum of normal floats that is subnormal is exact, so flushing it is all there is to .ftz.
  if constexpr (Ftz)
    return flush(add<R>(flush(a), flush(b)));
  else if constexpr (R != Round::kNearestEven && detail::kIsFloat<F>)
    return narrow<F, R>(detail::odd_sum<R>(a, b));
  else if (R == Round::kNearestEven || !detail::finite(a) || !detail::finite(b))
    return or_nan(a + b, b, a);
  else
    return static_cast<F>(soft::sum<R>(soft::unpack(a), soft::unpack(b)));
}

template <Round R, bool Ftz = false, class F>
inline F sub(F a, F b) {
  const F difference = add<R, Ftz>(a, from_bits<F>(bits_of(b) ^ kSignBit<F>));
  return or_nan(difference, b, a);
}

template <Round R, bool Ftz = false, class F>
inline F mul(F a, F b) {
  static_assert(!Ftz || detail::kIsFloat<F>, "PTX has no .ftz for f64 arithmetic");
  if constexpr (Ftz) a = flush(a), b = flush(b);
  if constexpr (R != Round::kNearestEven && detail::kIsFloat<F>)
    return narrow<F, R, Ftz>(double(a) * double(b));
  else if constexpr (Ftz)
    return detail::flush_product(canonical(a * b), (a * 0x1p24f) * b);
  else if (R == Round::kNearestEven || !detail::finite(a) || !detail::finite(b))
    return or_nan(a * b, b, a);
  else
    return static_cast<F>(soft::pack<R>(soft::product(soft::unpack(a), soft::unpack(b))));
}

template <Round R, bool Ftz = false, class F>
inline F fma(F a, F b, F c) {
  static_assert(!Ftz || detail::kIsFloat<F>, "PTX has no .ftz for f64 arithmetic");
  if constexpr (Ftz) a = flush(a), b = flush(b), c = flush(c);
  if constexpr (detail::kIsFloat<F>) {
    if constexpr (R != Round::kNearestEven) {
      return narrow<F, R, Ftz>(detail::odd_sum<R>(double(a) * double(b), double(c)));
    } else {
      const float result = canonical(__builtin_fmaf(a, b, c));
      return Ftz ? detail::flush_product(result, __builtin_fmaf(a * 0x1p24f, b, c * 0x1p24f)) : result;
    }
  } else {
    if (R == Round::kNearestEven || !detail::finite(a) || !detail::finite(b) || !detail::finite(c))
      return or_nan(__builtin_fma(a, b, c), b, c, a);
    return soft::sum<R>(soft::product(soft::unpack(a), soft::unpack(b)), soft::unpack(c));
  }
}

template <Round R, bool Ftz = false, class F>
inline F div(F a, F b) {
  static_assert(!Ftz || detail::kIsFloat<F>, "PTX has no .ftz for f64 arithmetic");
  if constexpr (Ftz) a = flush(a), b = flush(b);
  if constexpr (R != Round::kNearestEven && detail::kIsFloat<F>)
    return narrow<F, R, Ftz>(detail::odd_quotient(a, b));
  else if constexpr (Ftz)
    return detail::flush_product(canonical(a / b), (a * 0x1p24f) / b);
  else if (R == Round::kNearestEven || !detail::finite(a) || !detail::finite(b) || a == 0 || b == 0)
    return or_nan(a / b, a, b);
  else
    return static_cast<F>(soft::quotient<R>(soft::unpack(a), soft::unpack(b)));
}

template <Round R, bool Ftz = false, class F>
inline F rcp(F a) {
  return div<R, Ftz>(F(1), a);
}

template <Round R, bool Ftz = false, class F>
inline F sqrt(F a) {
  if constexpr (Ftz) a = flush(a);  // the root of a normal number is normal
  if constexpr (detail::kIsFloat<F>) {
    if constexpr (R == Round::kNearestEven)
      return canonical(__builtin_sqrtf(a));
    else
      return narrow<F, R>(detail::odd_root(a));
  } else {
    if (R == Round::kNearestEven || !detail::finite(a) || !(a > 0)) return or_nan(__builtin_sqrt(a), a);
    return soft::square_root<R>(soft::unpack(a));
  }
}

/// neg and abs: of a NaN they return what other arithmetic does, its sign as it was.
template <class F>
inline F neg(F a) {
  const F result = from_bits<F>(static_cast<typename Format<F>::Bits>(bits_of(a) ^ kSignBit<F>));
  if constexpr (std::same_as<F, double>)
    return or_nan(result, a);
  else
    return is_nan(a) ? kNan<F> : result;
}
template <class F>
inline F abs(F a) {
  const F result = from_bits<F>(magnitude_of(a));
  if constexpr (std::same_as<F, double>)
    return or_nan(result, a);
  else
    return is_nan(a) ? kNan<F> : result;
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
    return or_nan(result, b, a);
  }
  return ((a == a) & (b == b)) ? result : kNan<F>;
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

/// .xorsign.abs: the smaller (larger) magnitude, negative when exactly one operand is; a NaN stays the canonical NaN.
template <NanRule N, class F>
inline F min_xorsign_abs(F a, F b) {
  const F result = min<N>(from_bits<F>(magnitude_of(a)), from_bits<F>(magnitude_of(b)));
  return canonical(from_bits<F>(magnitude_of(result) | ((bits_of(a) ^ bits_of(b)) & kSignBit<F>)));
}
template <NanRule N, class F>
inline F max_xorsign_abs(F a, F b) {
  const F result = max<N>(from_bits<F>(magnitude_of(a)), from_bits<F>(magnitude_of(b)));
  return canonical(from_bits<F>(magnitude_of(result) | ((bits_of(a) ^ bits_of(b)) & kSignBit<F>)));
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
      return ((magnitude >= kMinNormal) & (magnitude < Format<F>::kInf)) |
             (magnitude == 0);  // the ISA counts zeros as normal
    case TestProperty::kSubnormal:
      return (magnitude < kMinNormal) & (magnitude != 0);
  }
  return false;
}

}  // namespace terrace::ptx
