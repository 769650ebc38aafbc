// CUDA's mathematical functions. There is no device library to link with, so they are written here, for float and double
// from the same templates: a reduction to a small argument, a Taylor polynomial, and the way back. What is lost in the
// reduction is carried in a second number where it counts. docs/your_program.md gives the largest errors, which
// tests/unit/device_math_test.cc checks against the host's functions. Part of terrace_device.h, for clang.
// SPDX-License-Identifier: MIT
#pragma once

#include "integers.h"

namespace terrace_device {

/// What a type of number is made of. Constants in two parts add up to more digits than one number holds; the first part
/// of ln 2 is so short that its product with any exponent is exact.
template <class T>
struct Real;
template <>
struct Real<float> {
  using Bits = unsigned int;
  using SignedBits = int;
  static constexpr int kFraction = 23, kBias = 127;
  static constexpr unsigned int kSign = 0x80000000u, kInfinity = 0x7f800000u, kRootHalf = 0x3f3504f3u;
  static constexpr float kLn2 = 0x1.62e4p-1f, kLn2Rest = 0x1.7f7d1cp-20f;
  static constexpr float kLog2e = 0x1.715476p+0f, kLog2eRest = 0x1.4ae0bep-26f;
  static constexpr float kLog10e = 0x1.bcb7bp-2f, kLog10eRest = 0x1.526e5p-26f;
  static constexpr float kLn10 = 0x1.26bb1ap+1f, kLn10Rest = 0x1.bb555p-23f;
  static constexpr float kHalfPi = 0x1.921fb4p+0f, kHalfPiRest = 0x1.4442dp-24f, kHalfPiLast = 0x1.846988p-48f;
  static constexpr float kExpEnds = 110, kSmallAngle = 131072;
  static constexpr int kSine = 5, kCosine = 6, kExp = 8, kLog = 5, kAtan = 10, kRootSteps = 2;  // terms
};
template <>
struct Real<double> {
  using Bits = unsigned long long;
  using SignedBits = long long;
  static constexpr int kFraction = 52, kBias = 1023;
  static constexpr unsigned long long kSign = 0x8000000000000000ull, kInfinity = 0x7ff0000000000000ull,
                                      kRootHalf = 0x3fe6a09e667f3bcdull;
  static constexpr double kLn2 = 0x1.62e42fefa3p-1, kLn2Rest = 0x1.3de6af278ece6p-42;
  static constexpr double kLog2e = 0x1.71547652b82fep+0, kLog2eRest = 0x1.777d0ffda0d23p-56;
  static constexpr double kLog10e = 0x1.bcb7b1526e50ep-2, kLog10eRest = 0x1.95355baaafad3p-57;
  static constexpr double kLn10 = 0x1.26bb1bbb55515p+1, kLn10Rest = 0x1.05ba95b58ae0bp-52;
  static constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiRest = 0x1.1a62633145c06p-54,
                          kHalfPiLast = 0x1.c1cd129024e08p-107;
  static constexpr double kExpEnds = 760, kSmallAngle = 1073741824;
  static constexpr int kSine = 9, kCosine = 10, kExp = 15, kLog = 11, kAtan = 22, kRootSteps = 3;
};

template <class T>
TERRACE_DEVICE_INLINE typename Real<T>::Bits bits_of(T x) {
  return __builtin_bit_cast(typename Real<T>::Bits, x);
}
template <class T>
TERRACE_DEVICE_INLINE T from_bits(typename Real<T>::Bits bits) {
  return __builtin_bit_cast(T, bits);
}
template <class T>
TERRACE_DEVICE_INLINE T not_a_number() {
  return from_bits<T>(Real<T>::kInfinity | Real<T>::kInfinity >> 1);
}
template <class T>
TERRACE_DEVICE_INLINE T infinity() {
  return from_bits<T>(Real<T>::kInfinity);
}

TERRACE_DEVICE_INLINE float multiply_add(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
TERRACE_DEVICE_INLINE double multiply_add(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
TERRACE_DEVICE_INLINE float nearest(float x) {
  return __builtin_rintf(x);
}
TERRACE_DEVICE_INLINE double nearest(double x) {
  return __builtin_rint(x);
}
TERRACE_DEVICE_INLINE int to_int(float x) {
  return __nvvm_f2i_rz(x);
}
TERRACE_DEVICE_INLINE int to_int(double x) {
  return __nvvm_d2i_rz(x);
}
TERRACE_DEVICE_INLINE float root(float x) {
  return __nvvm_sqrt_rn_f(x);
}
TERRACE_DEVICE_INLINE double root(double x) {
  return __nvvm_sqrt_rn_d(x);
}
/// A product that is rounded, and not joined with the sum that it becomes part of.
TERRACE_DEVICE_INLINE float product(float x, float y) {
  return __nvvm_mul_rn_f(x, y);
}
TERRACE_DEVICE_INLINE double product(double x, double y) {
  return __nvvm_mul_rn_d(x, y);
}
template <class T>
TERRACE_DEVICE_INLINE T magnitude(T x) {
  return from_bits<T>(bits_of(x) & ~Real<T>::kSign);
}
template <class T>
TERRACE_DEVICE_INLINE T with_sign(T x, T sign) {
  return from_bits<T>((bits_of(x) & ~Real<T>::kSign) | (bits_of(sign) & Real<T>::kSign));
}

/// x times 2 to a power that may be outside of the exponents there are: in two factors, of which only the last rounds.
template <class T>
TERRACE_DEVICE_INLINE T scale(T x, int power) {
  const int half = power >> 1, rest = power - half;
  return x * from_bits<T>(static_cast<typename Real<T>::Bits>(half + Real<T>::kBias) << Real<T>::kFraction) *
         from_bits<T>(static_cast<typename Real<T>::Bits>(rest + Real<T>::kBias) << Real<T>::kFraction);
}

/// x = whole ln 2 + rest.
template <class T>
TERRACE_DEVICE_INLINE T exp_rest(T x, T whole) {
  return multiply_add(-whole, Real<T>::kLn2Rest, multiply_add(-whole, Real<T>::kLn2, x));
}
/// e^x - 1 of a small x.
template <class T>
TERRACE_DEVICE_INLINE T small_expm1(T x) {
  T sum = 0;
#pragma unroll
  for (int n = Real<T>::kExp; n > 1; --n) sum = multiply_add(sum, x, T(1)) / T(n) * (n == 2 ? x : T(1));
  return multiply_add(sum, x, x);
}
/// e^(x + low) 2^shift.
template <class T>
TERRACE_DEVICE_INLINE T exp_scaled(T x, T low, int shift) {
  x = x > Real<T>::kExpEnds ? Real<T>::kExpEnds : x < -Real<T>::kExpEnds ? -Real<T>::kExpEnds : x;
  const T whole = nearest(x * Real<T>::kLog2e);
  const T rest = exp_rest(x, whole) + low;
  return scale(T(1) + small_expm1(rest), to_int(whole) + shift);
}
/// A float has one instruction for the middle part.
template <>
TERRACE_DEVICE_INLINE float exp_scaled(float x, float low, int shift) {
  x = x > Real<float>::kExpEnds ? Real<float>::kExpEnds : x < -Real<float>::kExpEnds ? -Real<float>::kExpEnds : x;
  const float whole = nearest(x * Real<float>::kLog2e);
  const float rest = exp_rest(x, whole) + low;
  return scale(__nvvm_ex2_approx_f(rest * Real<float>::kLog2e), to_int(whole) + shift);
}
template <class T>
TERRACE_DEVICE_INLINE T exp_minus_1(T x) {
  if (x > Real<T>::kExpEnds / 2) return exp_scaled(x, T(0), 0);
  if (x < -Real<T>::kExpEnds / 2) return T(-1);
  if (x == T(0)) return x;  // with its sign
  const T whole = nearest(x * Real<T>::kLog2e);
  const T power = scale(T(1), to_int(whole));
  return multiply_add(small_expm1(exp_rest(x, whole)), power, power - T(1));
}

/// A number and what it lacks.
template <class T>
struct Pair {
  T high, low;
};
/// (high + low)(c + c_rest).
template <class T>
TERRACE_DEVICE_INLINE Pair<T> times(Pair<T> x, T c, T c_rest) {
  const T high = product(x.high, c);
  return {high, multiply_add(x.high, c, -high) + multiply_add(x.high, c_rest, x.low * c)};
}
/// ln of a number above 0: x = 2^e m, ln m = 2 atanh((m - 1) / (m + 1)), the quotient in two parts.
template <class T>
TERRACE_DEVICE_INLINE Pair<T> log_pair(T x) {
  using R = Real<T>;
  typename R::Bits bits = bits_of(x);
  int exponent = 0;
  if (bits >> R::kFraction == 0) {  // not normal
    bits = bits_of(x * from_bits<T>(static_cast<typename R::Bits>(R::kBias + R::kFraction + 1) << R::kFraction));
    exponent = -(R::kFraction + 1);
  }
  const int more = static_cast<int>(static_cast<typename R::SignedBits>(bits - R::kRootHalf) >> R::kFraction);
  exponent += more;
  const T m = from_bits<T>(bits - (static_cast<typename R::Bits>(more) << R::kFraction));
  const T above = m - T(1), sum = T(1) + m, sum_rest = m - (sum - T(1));
  const T s = above / sum;
  const T s_rest = (multiply_add(-s, sum, above) - s * sum_rest) / sum;
  const T z = s * s;
  T series = 0;
#pragma unroll
  for (int n = R::kLog; n > 0; --n) series = multiply_add(series, z, T(2) / T(2 * n + 1));
  const T e = static_cast<T>(exponent), first = e * R::kLn2, second = T(2) * s;
  const T high = first + second;
  const T low = ((first - high) + second) + multiply_add(e, R::kLn2Rest, multiply_add(s * z, series, T(2) * s_rest));
  const T rounded = high + low;
  return {rounded, (high - rounded) + low};
}
/// What a logarithm is where log_pair does not serve.
template <class T>
TERRACE_DEVICE_INLINE bool log_is_special(T x, T& result) {
  if (x > T(0) && x < infinity<T>()) return false;
  result = x == T(0) ? -infinity<T>() : x > T(0) ? x : x + not_a_number<T>();
  return true;
}
template <class T>
TERRACE_DEVICE_INLINE T natural_log(T x) {
  T special;
  return log_is_special(x, special) ? special : log_pair(x).high;
}
template <class T>
TERRACE_DEVICE_INLINE T other_log(T x, T factor, T factor_rest) {
  T special;
  if (log_is_special(x, special)) return special;
  const Pair<T> result = times(log_pair(x), factor, factor_rest);
  return result.high + result.low;
}
template <class T>
TERRACE_DEVICE_INLINE T log_1_plus(T x) {
  const T sum = T(1) + x;
  if (!(sum > T(0) && sum < infinity<T>())) return natural_log(sum);
  if (magnitude(x) < T(1) / T(1ull << (Real<T>::kFraction + 1))) return x;
  const Pair<T> log = log_pair(sum);
  const T rest = x < T(1) ? x - (sum - T(1)) : T(1) - (sum - x);
  return log.high + (log.low + rest / sum);
}

template <class T>
TERRACE_DEVICE_INLINE T floor_of(T x);
template <>
TERRACE_DEVICE_INLINE float floor_of(float x) {
  return __builtin_floorf(x);
}
template <>
TERRACE_DEVICE_INLINE double floor_of(double x) {
  return __builtin_floor(x);
}

template <class T>
__device__ inline __attribute__((nodebug)) T power(T x, T y) {
  if (y == T(0) || x == T(1)) return T(1);
  if (x != x || y != y) return x + y;
  const bool whole = floor_of(y) == y;
  const bool odd = whole && floor_of(y / T(2)) != y / T(2);
  const T sign = odd ? x : T(1), size = magnitude(x);
  if (size == T(1) && (whole || x > T(0))) return with_sign(T(1), sign);  // an infinity is whole
  if (size == T(0) || size == infinity<T>())
    return with_sign((size == T(0)) == (y < T(0)) ? infinity<T>() : T(0), sign);
  if (magnitude(y) == infinity<T>()) return (size > T(1)) == (y > T(0)) ? infinity<T>() : T(0);
  if (x < T(0) && !whole) return not_a_number<T>();
  const Pair<T> log = log_pair(size);
  const T high = product(log.high, y);
  // Beyond the ends the rest is of no use, and may be infinite.
  if (magnitude(high) > Real<T>::kExpEnds) return with_sign(exp_scaled(high, T(0), 0), sign);
  const T low = multiply_add(log.high, y, -high) + log.low * y;
  return with_sign(exp_scaled(high, low, 0), sign);
}

/// 2 / pi, 64 bits each.
static const __device__ unsigned long long kTwoOverPi[20] = {
    0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull,
    0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull,
    0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
    0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull, 0xf0cfbc209af4361dull};

/// 64 bits of a long number, from bit `at` upwards.
TERRACE_DEVICE_INLINE unsigned long long bits_from(const unsigned long long* words, int at) {
  const int word = at >> 6, bit = at & 63;
  return bit == 0 ? words[word] : words[word] >> bit | words[word + 1] << (64 - bit);
}
/// A large angle less a multiple of pi / 2; the multiple modulo 4. The digits of 2 / pi that matter are multiplied with
/// the significand as whole numbers: what lies above 4 turns nothing, what lies below 2^-138 is too small to see.
__device__ inline __attribute__((noinline, nodebug)) double large_angle(double x, int& quadrant) {
  const unsigned long long bits = bits_of(x);
  const int power = static_cast<int>(bits >> 52 & 0x7ff) - 1075;
  const unsigned long long significand = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
  const int skipped = power >= 2 ? (power - 2) / 64 : 0;
  unsigned long long product[6] = {};
  unsigned long long carry = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned long long word = kTwoOverPi[skipped + 3 - i];
    const unsigned long long low = significand * word;
    product[i] = low + carry;
    carry = __umul64hi(significand, word) + (product[i] < low);
  }
  product[4] = carry;
  const int point = 256 - (power - 64 * skipped);  // bits from there on are whole
  int turns = static_cast<int>(bits_from(product, point) & 3);
  unsigned long long high = bits_from(product, point - 64), low = bits_from(product, point - 128);
  const bool beyond = high >> 63 != 0;  // nearer to the next multiple
  if (beyond) {
    ++turns;
    low = ~low + 1;
    high = ~high + (low == 0);
  }
  int shift = 0;
  if (high == 0) {
    high = low;
    low = 0;
    shift = 64;
  }
  const int zeros = __clzll(static_cast<long long>(high));
  if (zeros != 0) high = high << zeros | (zeros == 64 ? 0 : low >> (64 - zeros));
  const double first = static_cast<double>(high >> 11) * 0x1p-53, second = static_cast<double>(high & 2047) * 0x1p-64;
  const Pair<double> angle = times(Pair<double>{first, second}, Real<double>::kHalfPi, Real<double>::kHalfPiRest);
  const double result = scale(angle.high + angle.low, -shift - zeros);
  const bool negative = bits >> 63 != 0;
  quadrant = (negative ? -turns : turns) & 3;
  return beyond != negative ? -result : result;
}
template <class T>
TERRACE_DEVICE_INLINE T reduced_angle(T x, int& quadrant) {
  using R = Real<T>;
  if (magnitude(x) > R::kSmallAngle) {
    if (!(magnitude(x) < infinity<T>())) {
      quadrant = 0;
      return not_a_number<T>();
    }
    return static_cast<T>(large_angle(static_cast<double>(x), quadrant));
  }
  const T turns = nearest(x * (T(1) / (R::kHalfPi + R::kHalfPiRest)));
  quadrant = to_int(turns) & 3;
  return multiply_add(-turns, R::kHalfPiLast,
                      multiply_add(-turns, R::kHalfPiRest, multiply_add(-turns, R::kHalfPi, x)));
}
template <class T>
TERRACE_DEVICE_INLINE T small_sine(T x) {
  const T z = x * x;
  T sum = 0;
#pragma unroll
  for (int n = Real<T>::kSine; n > 0; --n) sum = multiply_add(sum, z, T(1)) * (T(-1) / T(2 * n * (2 * n + 1)));
  return multiply_add(sum * z, x, x);
}
template <class T>
TERRACE_DEVICE_INLINE T small_cosine(T x) {
  const T z = x * x;
  T sum = 0;
#pragma unroll
  for (int n = Real<T>::kCosine; n > 1; --n) sum = multiply_add(sum, z, T(1)) * (T(-1) / T(2 * n * (2 * n - 1)));
  // 1 - z / 2, and what that lacks.
  const T half = T(0.5) * z, first = T(1) - half;
  return first + (((T(1) - first) - half) - half * z * sum);
}
template <class T>
TERRACE_DEVICE_INLINE void sine_cosine(T x, T* sine, T* cosine) {
  int quadrant;
  const T angle = reduced_angle(x, quadrant);
  const T s = small_sine(angle), c = small_cosine(angle);
  const T first = quadrant & 1 ? c : s, second = quadrant & 1 ? s : c;
  *sine = x == T(0) ? x : quadrant & 2 ? -first : first;
  *cosine = (quadrant + 1) & 2 ? -second : second;
}
template <class T>
TERRACE_DEVICE_INLINE T sine(T x) {
  int quadrant;
  const T angle = reduced_angle(x, quadrant);
  const T value = quadrant & 1 ? small_cosine(angle) : small_sine(angle);
  return x == T(0) ? x : quadrant & 2 ? -value : value;
}
template <class T>
TERRACE_DEVICE_INLINE T cosine(T x) {
  int quadrant;
  const T angle = reduced_angle(x, quadrant);
  const T value = quadrant & 1 ? small_sine(angle) : small_cosine(angle);
  return (quadrant + 1) & 2 ? -value : value;
}
template <class T>
TERRACE_DEVICE_INLINE T tangent(T x) {
  int quadrant;
  const T angle = reduced_angle(x, quadrant);
  const T s = small_sine(angle), c = small_cosine(angle);
  return x == T(0) ? x : quadrant & 1 ? -c / s : s / c;
}

/// Half turns: the multiple of a quarter turn is exact. From 2^fraction on every number is whole and even, or has no sine.
template <class T>
TERRACE_DEVICE_INLINE T half_turns(T x, int& quadrant) {
  if (!(magnitude(x) < T(1ull << Real<T>::kFraction))) {
    // The last bit of a whole number below twice that tells whether it is odd.
    quadrant = magnitude(x) < T(2ull << Real<T>::kFraction) && (bits_of(x) & 1) != 0 ? 2 : 0;
    return x - x;
  }
  const T whole = nearest(T(2) * x);
  quadrant = static_cast<int>(static_cast<long long>(whole) & 3);
  const Pair<T> angle = times(Pair<T>{x - T(0.5) * whole, T(0)}, T(2) * Real<T>::kHalfPi, T(2) * Real<T>::kHalfPiRest);
  return angle.high + angle.low;
}
template <class T>
TERRACE_DEVICE_INLINE T sine_of_half_turns(T x) {
  int quadrant;
  const T angle = half_turns(x, quadrant);
  const T value = quadrant & 1 ? small_cosine(angle) : small_sine(angle);
  return angle == T(0) && (quadrant & 1) == 0 ? with_sign(T(0), x) : quadrant & 2 ? -value : value;
}
template <class T>
TERRACE_DEVICE_INLINE T cosine_of_half_turns(T x) {
  int quadrant;
  const T angle = half_turns(x, quadrant);
  if (angle == T(0) && (quadrant & 1) != 0) return T(0);
  const T value = quadrant & 1 ? small_sine(angle) : small_cosine(angle);
  return (quadrant + 1) & 2 ? -value : value;
}

/// Angles from 0 to pi / 2 of a tangent of at least 0, in two parts: tangents are brought below tan(pi / 8).
template <class T>
TERRACE_DEVICE_INLINE Pair<T> angle_of(T tangent) {
  using R = Real<T>;
  const bool steep = tangent > T(2.414213562373095), middle = tangent > T(0.4142135623730950);
  const T t = steep ? T(-1) / tangent : middle ? (tangent - T(1)) / (tangent + T(1)) : tangent;
  const T z = t * t;
  T sum = 0;
#pragma unroll
  for (int n = R::kAtan; n > 0; --n) sum = multiply_add(-sum, z, T(1) / T(2 * n + 1));
  const T part = steep ? T(1) : middle ? T(0.5) : T(0);
  const T high = part * R::kHalfPi, low = part * R::kHalfPiRest, small = multiply_add(-sum * z, t, t);
  const T rounded = high + small;
  return {rounded, ((high - rounded) + small) + low};
}
template <class T>
TERRACE_DEVICE_INLINE T arc_tangent(T x) {
  const Pair<T> angle = angle_of(magnitude(x));
  return x != x ? x : with_sign(angle.high + angle.low, x);
}
template <class T>
TERRACE_DEVICE_INLINE T arc_tangent(T y, T x) {
  if (x != x || y != y) return x + y;
  T down = magnitude(y), across = magnitude(x);
  if (down == across) down = across = down == T(0) ? down : T(1);  // infinities too
  const Pair<T> angle = angle_of(down == T(0) ? T(0) : down / across);
  const bool left = bits_of(x) >> (sizeof(T) * 8 - 1) != 0;
  const T whole = T(2) * Real<T>::kHalfPi, whole_rest = T(2) * Real<T>::kHalfPiRest;
  const T turned = whole - angle.high;
  const T result =
      left ? turned + (((whole - turned) - angle.high) + (whole_rest - angle.low)) : angle.high + angle.low;
  return with_sign(result, y);
}
template <class T>
TERRACE_DEVICE_INLINE T arc_sine(T x) {
  return x == T(0) ? x : arc_tangent(x, root((T(1) - x) * (T(1) + x)));
}
template <class T>
TERRACE_DEVICE_INLINE T arc_cosine(T x) {
  return T(2) * arc_tangent(root(T(1) - x), root(T(1) + x));
}

template <class T>
TERRACE_DEVICE_INLINE T hyperbolic_tangent(T x) {
  const T size = magnitude(x);
  if (size > T(Real<T>::kFraction)) return with_sign(T(1), x);
  const T grown = exp_minus_1(T(2) * size);
  return x != x ? x : with_sign(grown / (grown + T(2)), x);
}
template <class T>
TERRACE_DEVICE_INLINE T hyperbolic_sine(T x) {
  const T size = magnitude(x);
  if (size < T(1)) {
    const T grown = exp_minus_1(size);
    return with_sign(T(0.5) * (grown + grown / (grown + T(1))), x);
  }
  const T half = exp_scaled(size, T(0), -1);
  return x != x ? x : with_sign(half - T(0.25) / half, x);
}
template <class T>
TERRACE_DEVICE_INLINE T hyperbolic_cosine(T x) {
  const T half = exp_scaled(magnitude(x), T(0), -1);
  return half + T(0.25) / half;
}

/// From a third of the exponent by Halley's steps, each of which has three times the digits of the one before.
template <class T>
TERRACE_DEVICE_INLINE T cube_root(T x) {
  using R = Real<T>;
  T size = magnitude(x);
  if (!(size > T(0) && size < infinity<T>())) return x;
  // Numbers whose cubes, or what is made of them, would leave the range are brought nearer to 1.
  const int exponent = static_cast<int>(bits_of(size) >> R::kFraction) - R::kBias;
  const int away = exponent < -(R::kBias / 2) ? -18 : exponent > R::kBias / 2 ? 18 : 0;
  size = scale(size, -3 * away);
  T y = from_bits<T>(bits_of(size) / 3 + (static_cast<typename R::Bits>(R::kBias) << R::kFraction) / 3 * 2);
#pragma unroll
  for (int step = 0; step < R::kRootSteps; ++step) {
    const T cube = y * y * y;
    y = y * ((cube + T(2) * size) / (T(2) * cube + size));
  }
  // Once more, with the error of the cube known.
  const T square = product(y, y), square_rest = multiply_add(y, y, -square);
  const T cube = product(square, y);
  const T error = (size - cube) - (multiply_add(square, y, -cube) + square_rest * y);
  y = y + error / (T(3) * square);
  return with_sign(scale(y, away), x);
}
template <class T>
TERRACE_DEVICE_INLINE T length(T x, T y) {
  using R = Real<T>;
  const T a = magnitude(x), b = magnitude(y);
  if (a == infinity<T>() || b == infinity<T>()) return infinity<T>();
  if (a != a || b != b) return a + b;
  const T most = a > b ? a : b;
  if (most == T(0)) return most;
  // The larger one near 1, so that no square overflows or vanishes.
  const int exponent = static_cast<int>(bits_of(most) >> R::kFraction) - R::kBias;
  const T p = scale(a, -exponent), q = scale(b, -exponent);
  return scale(root(multiply_add(p, p, q * q)), exponent);
}
/// The exact remainder: long division of significands, as many bits at a time as 64 leave room for.
template <class T>
__device__ inline __attribute__((nodebug)) T remainder_of(T x, T y) {
  using R = Real<T>;
  const T a = magnitude(x), b = magnitude(y);
  if (!(a < infinity<T>()) || !(b > T(0))) return not_a_number<T>();
  if (a < b) return x;
  constexpr typename R::Bits kUnit = typename R::Bits{1} << R::kFraction;
  const auto exponent = [](T v) { return static_cast<int>(bits_of(v) >> R::kFraction); };
  const auto significand = [](T v) {
    const typename R::Bits fraction = bits_of(v) & (kUnit - 1);
    return static_cast<unsigned long long>(bits_of(v) >> R::kFraction == 0 ? fraction << 1 : fraction | kUnit);
  };
  unsigned long long rest = significand(a);
  const unsigned long long divisor = significand(b);
  rest %= divisor;
  for (int left = exponent(a) - exponent(b); left > 0;) {
    const int step = left < 62 - R::kFraction ? left : 62 - R::kFraction;
    rest = (rest << step) % divisor;
    left -= step;
  }
  // As many units of b's last place. Two factors, as the place may be one that no normal number has.
  return with_sign(scale(static_cast<T>(rest), exponent(b) - R::kBias - R::kFraction), x);
}
template <class T>
TERRACE_DEVICE_INLINE T away_from_half(T x) {
  const T size = magnitude(x);
  if (!(size < T(1ull << Real<T>::kFraction))) return x;  // whole, infinite or no number
  const T down = floor_of(size);
  return with_sign(size - down >= T(0.5) ? down + T(1) : down, x);
}

/// Coefficients of falling powers.
TERRACE_DEVICE_INLINE float polynomial(float, float sum) {
  return sum;
}
template <class... Rest>
TERRACE_DEVICE_INLINE float polynomial(float x, float sum, float next, Rest... rest) {
  return polynomial(x, multiply_add(sum, x, next), rest...);
}
/// Of x from 0 to 1 a polynomial of x^2 and 1 times x, fitted to 1.4e-9. Beyond, e^(-x^2) times a polynomial of 1 / (1 + x / 2), fitted
/// to 1.3e-10 up to 4, where nothing is left to 1.
TERRACE_DEVICE_INLINE float error_function(float x) {
  const float size = magnitude(x);
  if (size < 1)
    return multiply_add(polynomial(x * x, 7.87587505e-05f, -0.000801686428f, 0.00518908742f, -0.026854212f,
                                   0.112835947f, -0.376126267f, 0.128379167f),
                        x, x);
  if (size > 4) return with_sign(1.0f, x);
  const float rest = polynomial(1 / multiply_add(size, 0.5f, 1.0f), 0.120852434f, -0.476525276f, 0.571265178f,
                                -0.110208296f, 0.351030324f, 0.258751366f, 0.28506162f, -0.000164236391f);
  return x != x ? x : with_sign(1 - rest * exp_scaled(-size * size, 0.0f, 0), x);
}

}  // namespace terrace_device

namespace terrace_device {

#define TERRACE_DEVICE_BOTH(name, float_form, double_form) \
  TERRACE_DEVICE_INLINE float name(float x) {              \
    return float_form;                                     \
  }                                                        \
  TERRACE_DEVICE_INLINE double name(double x) {            \
    return double_form;                                    \
  }
TERRACE_DEVICE_BOTH(inverse_root, __nvvm_rsqrt_approx_f(x), 1.0 / root(x))
TERRACE_DEVICE_BOTH(exponential, exp_scaled(x, 0.0f, 0), exp_scaled(x, 0.0, 0))
TERRACE_DEVICE_BOTH(log_of_2, other_log(x, Real<float>::kLog2e, Real<float>::kLog2eRest),
                    other_log(x, Real<double>::kLog2e, Real<double>::kLog2eRest))
TERRACE_DEVICE_BOTH(log_of_10, other_log(x, Real<float>::kLog10e, Real<float>::kLog10eRest),
                    other_log(x, Real<double>::kLog10e, Real<double>::kLog10eRest))
TERRACE_DEVICE_BOTH(ceiling, __builtin_ceilf(x), __builtin_ceil(x))
TERRACE_DEVICE_BOTH(truncated, __builtin_truncf(x), __builtin_trunc(x))
#undef TERRACE_DEVICE_BOTH

template <class T>
TERRACE_DEVICE_INLINE T power_of_10(T x) {
  using R = Real<T>;
  if (!(magnitude(x * R::kLn10) < R::kExpEnds)) return exp_scaled(x * R::kLn10, T(0), 0);
  const Pair<T> product = times(Pair<T>{x, T(0)}, R::kLn10, R::kLn10Rest);
  return exp_scaled(product.high, product.low, 0);
}
/// The whole part is the exponent.
template <class T>
TERRACE_DEVICE_INLINE T power_of_2(T x) {
  constexpr T kEnds = Real<T>::kExpEnds * T(1.5);
  x = x > kEnds ? kEnds : x < -kEnds ? -kEnds : x;
  const T whole = nearest(x);
  return exp_scaled((x - whole) * (Real<T>::kLn2 + Real<T>::kLn2Rest), T(0), to_int(whole));
}
TERRACE_DEVICE_INLINE float smaller(float x, float y) {
  return __builtin_fminf(x, y);
}
TERRACE_DEVICE_INLINE double smaller(double x, double y) {
  return __builtin_fmin(x, y);
}
TERRACE_DEVICE_INLINE float larger(float x, float y) {
  return __builtin_fmaxf(x, y);
}
TERRACE_DEVICE_INLINE double larger(double x, double y) {
  return __builtin_fmax(x, y);
}
template <class T>
TERRACE_DEVICE_INLINE T above(T x, T y) {
  return x != x || y != y ? x + y : x > y ? x - y : T(0);
}

}  // namespace terrace_device

// What CUDA calls them. Beside sqrtf there is the overload sqrt(float), as C++ has it; whole numbers count as double.
#define TERRACE_DEVICE_MATH1(name, function)                 \
  TERRACE_DEVICE_INLINE float name##f(float x) {             \
    return terrace_device::function(x);                      \
  }                                                          \
  TERRACE_DEVICE_INLINE float name(float x) {                \
    return terrace_device::function(x);                      \
  }                                                          \
  TERRACE_DEVICE_INLINE double name(double x) {              \
    return terrace_device::function(x);                      \
  }                                                          \
  TERRACE_DEVICE_INLINE double name(int x) {                 \
    return terrace_device::function(static_cast<double>(x)); \
  }
#define TERRACE_DEVICE_MATH2(name, function)              \
  TERRACE_DEVICE_INLINE float name##f(float x, float y) { \
    return terrace_device::function(x, y);                \
  }                                                       \
  TERRACE_DEVICE_INLINE float name(float x, float y) {    \
    return terrace_device::function(x, y);                \
  }                                                       \
  TERRACE_DEVICE_INLINE double name(double x, double y) { \
    return terrace_device::function(x, y);                \
  }                                                       \
  TERRACE_DEVICE_INLINE float name(float x, int y) {      \
    return name(x, static_cast<float>(y));                \
  }                                                       \
  TERRACE_DEVICE_MIXED(name, double, float)               \
  TERRACE_DEVICE_MIXED(name, float, double)               \
  TERRACE_DEVICE_MIXED(name, double, int)                 \
  TERRACE_DEVICE_MIXED(name, int, double)                 \
  TERRACE_DEVICE_MIXED(name, int, int)
#define TERRACE_DEVICE_MIXED(name, first, second)                \
  TERRACE_DEVICE_INLINE double name(first x, second y) {         \
    return name(static_cast<double>(x), static_cast<double>(y)); \
  }
TERRACE_DEVICE_MATH1(sqrt, root)
TERRACE_DEVICE_MATH1(rsqrt, inverse_root)
TERRACE_DEVICE_MATH1(cbrt, cube_root)
TERRACE_DEVICE_MATH1(exp, exponential)
TERRACE_DEVICE_MATH1(exp2, power_of_2)
TERRACE_DEVICE_MATH1(exp10, power_of_10)
TERRACE_DEVICE_MATH1(expm1, exp_minus_1)
TERRACE_DEVICE_MATH1(log, natural_log)
TERRACE_DEVICE_MATH1(log2, log_of_2)
TERRACE_DEVICE_MATH1(log10, log_of_10)
TERRACE_DEVICE_MATH1(log1p, log_1_plus)
TERRACE_DEVICE_MATH1(sin, sine)
TERRACE_DEVICE_MATH1(cos, cosine)
TERRACE_DEVICE_MATH1(tan, tangent)
TERRACE_DEVICE_MATH1(sinpi, sine_of_half_turns)
TERRACE_DEVICE_MATH1(cospi, cosine_of_half_turns)
TERRACE_DEVICE_MATH1(asin, arc_sine)
TERRACE_DEVICE_MATH1(acos, arc_cosine)
TERRACE_DEVICE_MATH1(atan, arc_tangent)
TERRACE_DEVICE_MATH1(sinh, hyperbolic_sine)
TERRACE_DEVICE_MATH1(cosh, hyperbolic_cosine)
TERRACE_DEVICE_MATH1(tanh, hyperbolic_tangent)
TERRACE_DEVICE_MATH1(fabs, magnitude)
TERRACE_DEVICE_MATH1(floor, floor_of)
TERRACE_DEVICE_MATH1(ceil, ceiling)
TERRACE_DEVICE_MATH1(trunc, truncated)
TERRACE_DEVICE_MATH1(rint, nearest)
TERRACE_DEVICE_MATH1(nearbyint, nearest)
TERRACE_DEVICE_MATH1(round, away_from_half)
TERRACE_DEVICE_MATH2(pow, power)
TERRACE_DEVICE_MATH2(atan2, arc_tangent)
TERRACE_DEVICE_MATH2(fmod, remainder_of)
TERRACE_DEVICE_MATH2(hypot, length)
TERRACE_DEVICE_MATH2(fmin, smaller)
TERRACE_DEVICE_MATH2(fmax, larger)
TERRACE_DEVICE_MATH2(fdim, above)
TERRACE_DEVICE_MATH2(copysign, with_sign)
#undef TERRACE_DEVICE_MIXED
#undef TERRACE_DEVICE_MATH2
#undef TERRACE_DEVICE_MATH1

TERRACE_DEVICE_INLINE float fmaf(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
TERRACE_DEVICE_INLINE float fma(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
TERRACE_DEVICE_INLINE double fma(double x, double y, double z) {
  return __builtin_fma(x, y, z);
}
TERRACE_DEVICE_INLINE void sincosf(float x, float* sine, float* cosine) {
  terrace_device::sine_cosine(x, sine, cosine);
}
TERRACE_DEVICE_INLINE void sincos(double x, double* sine, double* cosine) {
  terrace_device::sine_cosine(x, sine, cosine);
}
TERRACE_DEVICE_INLINE float abs(float x) {
  return terrace_device::magnitude(x);
}
TERRACE_DEVICE_INLINE double abs(double x) {
  return terrace_device::magnitude(x);
}
TERRACE_DEVICE_INLINE long lrintf(float x) {
  return __nvvm_f2ll_rn(x);
}
TERRACE_DEVICE_INLINE long lrint(double x) {
  return __nvvm_d2ll_rn(x);
}
TERRACE_DEVICE_INLINE long lroundf(float x) {
  return __nvvm_f2ll_rz(terrace_device::away_from_half(x));
}
TERRACE_DEVICE_INLINE long lround(double x) {
  return __nvvm_d2ll_rz(terrace_device::away_from_half(x));
}

#define TERRACE_DEVICE_MINMAX(result, first, second)                                \
  TERRACE_DEVICE_INLINE result min(first a, second b) {                             \
    return terrace_device::smaller(static_cast<result>(a), static_cast<result>(b)); \
  }                                                                                 \
  TERRACE_DEVICE_INLINE result max(first a, second b) {                             \
    return terrace_device::larger(static_cast<result>(a), static_cast<result>(b));  \
  }
TERRACE_DEVICE_MINMAX(float, float, float)
TERRACE_DEVICE_MINMAX(double, double, double)
TERRACE_DEVICE_MINMAX(double, float, double)
TERRACE_DEVICE_MINMAX(double, double, float)
#undef TERRACE_DEVICE_MINMAX

// Where C's header has made macros of them, those serve.
#ifndef isnan
TERRACE_DEVICE_INLINE bool isnan(float x) {
  return x != x;
}
TERRACE_DEVICE_INLINE bool isnan(double x) {
  return x != x;
}
#endif
#ifndef isinf
TERRACE_DEVICE_INLINE bool isinf(float x) {
  return terrace_device::magnitude(x) == terrace_device::infinity<float>();
}
TERRACE_DEVICE_INLINE bool isinf(double x) {
  return terrace_device::magnitude(x) == terrace_device::infinity<double>();
}
#endif
#ifndef isfinite
TERRACE_DEVICE_INLINE bool isfinite(float x) {
  return terrace_device::magnitude(x) < terrace_device::infinity<float>();
}
TERRACE_DEVICE_INLINE bool isfinite(double x) {
  return terrace_device::magnitude(x) < terrace_device::infinity<double>();
}
#endif
#ifndef signbit
TERRACE_DEVICE_INLINE bool signbit(float x) {
  return terrace_device::bits_of(x) >> 31 != 0;
}
TERRACE_DEVICE_INLINE bool signbit(double x) {
  return terrace_device::bits_of(x) >> 63 != 0;
}
#endif

// One rounding each, in the mode that the name says; the compiler does not join them with others.
#define TERRACE_DEVICE_ROUNDED(cuda, ptx)                                   \
  TERRACE_DEVICE_INLINE float __fadd_##cuda(float x, float y) {             \
    return __nvvm_add_##ptx##_f(x, y);                                      \
  }                                                                         \
  TERRACE_DEVICE_INLINE float __fsub_##cuda(float x, float y) {             \
    return __nvvm_add_##ptx##_f(x, -y);                                     \
  }                                                                         \
  TERRACE_DEVICE_INLINE float __fmul_##cuda(float x, float y) {             \
    return __nvvm_mul_##ptx##_f(x, y);                                      \
  }                                                                         \
  TERRACE_DEVICE_INLINE float __fdiv_##cuda(float x, float y) {             \
    return __nvvm_div_##ptx##_f(x, y);                                      \
  }                                                                         \
  TERRACE_DEVICE_INLINE float __fmaf_##cuda(float x, float y, float z) {    \
    return __nvvm_fma_##ptx##_f(x, y, z);                                   \
  }                                                                         \
  TERRACE_DEVICE_INLINE float __fsqrt_##cuda(float x) {                     \
    return __nvvm_sqrt_##ptx##_f(x);                                        \
  }                                                                         \
  TERRACE_DEVICE_INLINE float __frcp_##cuda(float x) {                      \
    return __nvvm_rcp_##ptx##_f(x);                                         \
  }                                                                         \
  TERRACE_DEVICE_INLINE double __dadd_##cuda(double x, double y) {          \
    return __nvvm_add_##ptx##_d(x, y);                                      \
  }                                                                         \
  TERRACE_DEVICE_INLINE double __dsub_##cuda(double x, double y) {          \
    return __nvvm_add_##ptx##_d(x, -y);                                     \
  }                                                                         \
  TERRACE_DEVICE_INLINE double __dmul_##cuda(double x, double y) {          \
    return __nvvm_mul_##ptx##_d(x, y);                                      \
  }                                                                         \
  TERRACE_DEVICE_INLINE double __ddiv_##cuda(double x, double y) {          \
    return __nvvm_div_##ptx##_d(x, y);                                      \
  }                                                                         \
  TERRACE_DEVICE_INLINE double __fma_##cuda(double x, double y, double z) { \
    return __nvvm_fma_##ptx##_d(x, y, z);                                   \
  }                                                                         \
  TERRACE_DEVICE_INLINE double __dsqrt_##cuda(double x) {                   \
    return __nvvm_sqrt_##ptx##_d(x);                                        \
  }
TERRACE_DEVICE_ROUNDED(rn, rn)
TERRACE_DEVICE_ROUNDED(rz, rz)
TERRACE_DEVICE_ROUNDED(rd, rm)
TERRACE_DEVICE_ROUNDED(ru, rp)
#undef TERRACE_DEVICE_ROUNDED

// The approximate ones: one or two instructions each.
TERRACE_DEVICE_INLINE float __expf(float x) {
  return __nvvm_ex2_approx_f(x * 1.44269504f);  // log2(e)
}
TERRACE_DEVICE_INLINE float __exp10f(float x) {
  return __nvvm_ex2_approx_f(x * 3.32192809f);  // log2(10)
}
TERRACE_DEVICE_INLINE float __log2f(float x) {
  return __nvvm_lg2_approx_f(x);
}
TERRACE_DEVICE_INLINE float __logf(float x) {
  return __nvvm_lg2_approx_f(x) * 0.69314718f;  // ln(2)
}
TERRACE_DEVICE_INLINE float __log10f(float x) {
  return __nvvm_lg2_approx_f(x) * 0.30103f;  // log10(2)
}
TERRACE_DEVICE_INLINE float __powf(float x, float y) {
  return __nvvm_ex2_approx_f(y * __nvvm_lg2_approx_f(x));
}
TERRACE_DEVICE_INLINE float __sinf(float x) {
  return __nvvm_sin_approx_f(x);
}
TERRACE_DEVICE_INLINE float __cosf(float x) {
  return __nvvm_cos_approx_f(x);
}
TERRACE_DEVICE_INLINE float __tanf(float x) {
  return __nvvm_div_approx_f(__sinf(x), __cosf(x));
}
TERRACE_DEVICE_INLINE void __sincosf(float x, float* sine, float* cosine) {
  *sine = __sinf(x);
  *cosine = __cosf(x);
}
TERRACE_DEVICE_INLINE float __fdividef(float x, float y) {
  return __nvvm_div_approx_f(x, y);
}
TERRACE_DEVICE_INLINE float __frsqrt_rn(float x) {
  return __nvvm_rsqrt_approx_f(x);
}
TERRACE_DEVICE_INLINE float __saturatef(float x) {
  return __nvvm_saturate_f(x);
}
