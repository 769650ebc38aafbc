// The error function, its complement, the normal distribution and their inverses; inverse hyperbolic functions. Polynomials were fitted at
// Chebyshev points with 60 digits; the errors beside them are the fits'. Inverses are solved for by Newton's steps, so they cost more
// instructions than those of a toolkit. Part of terrace_device.h, for clang.
// SPDX-License-Identifier: MIT
#pragma once

#include "math.h"

namespace terrace_device {

TERRACE_DEVICE_INLINE double polynomial(double, double sum) {
  return sum;
}
template <class... Rest>
TERRACE_DEVICE_INLINE double polynomial(double x, double sum, double next, Rest... rest) {
  return polynomial(x, multiply_add(sum, x, next), rest...);
}

/// e^(x^2) (1 - erf(x)) of an x of at least 0: (1 + 2 x) times it is a polynomial of (x - 4) / (x + 4), to 3.6e-9.
TERRACE_DEVICE_INLINE float scaled_complement(float x) {
  return polynomial((x - 4) / (x + 4), 1.16607997e-4f, -2.48632297e-4f, -7.16339472e-4f, 5.08280915e-3f,
                    -1.62222746e-2f, 3.71399169e-2f, -6.63232595e-2f, 9.37404438e-2f, -1.01039951e-1f, 6.80961321e-2f,
                    1.53796837e-2f, -1.39621084e-1f, 1.23299512f) /
         multiply_add(2.0f, x, 1.0f);
}
/// To 1.0e-17.
TERRACE_DEVICE_INLINE double scaled_complement(double x) {
  return polynomial((x - 4) / (x + 4), -2.764120233734578e-10, 9.2976252637096597e-10, 3.2323973445082033e-9,
                    -1.2338731403798444e-8, -2.0725802488181962e-8, 1.0631817593818148e-7, 7.7719432410869128e-8,
                    -8.2106479332973363e-7, 2.9173425573089733e-7, 5.7065782992407405e-6, -1.1221135665965907e-5,
                    -2.4397731143023292e-5, 1.5062142608651945e-4, -1.9925715247265178e-4, -7.5777324359425761e-4,
                    5.0319700691022558e-3, -1.6197734062934771e-2, 3.7167515526338004e-2, -6.6330365811860582e-2,
                    9.3732834999112639e-2, -1.0103906603631812e-1, 6.8097054254668382e-2, 1.5379652102619974e-2,
                    -1.3962111684056228e-1, 1.2329951186255525) /
         multiply_add(2.0, x, 1.0);
}
/// A polynomial of x^2 below 1, to 1.5e-19.
TERRACE_DEVICE_INLINE double error_function(double x) {
  const double size = magnitude(x), square = x * x;
  if (size < 1)
    return x * polynomial(square, 5.9571761477489114e-11, -1.1372848856791674e-9, 1.4659775274047436e-8,
                          -1.6350312701054695e-7, 1.6461000484121368e-6, -1.4925595266831182e-5, 1.2055331111642711e-4,
                          -8.5483269808337899e-4, 5.2239776248180145e-3, -2.6866170645076793e-2, 1.1283791670954879e-1,
                          -3.7612638903183748e-1, 1.1283791670955126);
  if (size > 6) return with_sign(1.0, x);  // nothing is left to 1
  return x != x ? x : with_sign(1 - scaled_complement(size) * exp_scaled(-square, multiply_add(-x, x, square), 0), x);
}

template <class T>
struct ErrorReal;
template <>
struct ErrorReal<float> {
  static constexpr float kRootHalf = 0x1.6a09e6p-1f, kRootHalfRest = 0x1.9fcef4p-27f;
  static constexpr float kEnds = 12;  // beyond, the complement is zero
  static constexpr int kSteps = 3;    // Newton's; the last ones have all digits
};
template <>
struct ErrorReal<double> {
  static constexpr double kRootHalf = 0x1.6a09e667f3bcdp-1, kRootHalfRest = -0x1.bdd3413b26456p-55;
  static constexpr double kEnds = 30;
  static constexpr int kSteps = 4;
};
/// Half the root of pi: the inverse of the error function's slope at 0.
template <class T>
inline constexpr T kHalfRootPi = T(0.88622692545275801364908374167057259);

/// 1 - erf(x + low), times 2^shift. The square in the exponent is exact.
template <class T>
TERRACE_DEVICE_INLINE T complement(T x, T low, int shift) {
  if (x != x) return x;
  if (magnitude(x) < T(0.5))
    return scale(T(1) - error_function(x), shift);  // more exact, and the rest is too small to see
  const bool negative = x < T(0);
  T size = magnitude(x);
  size = size > ErrorReal<T>::kEnds ? ErrorReal<T>::kEnds : size;
  const T square = product(size, size);
  const T rest = multiply_add(size, size, -square) + T(2) * size * (negative ? -low : low);
  const T value = scaled_complement(size) * exp_scaled(-square, -rest, shift);
  return negative ? scale(T(2), shift) - value : value;
}
template <class T>
TERRACE_DEVICE_INLINE T error_complement(T x) {
  return complement(x, T(0), 0);
}
template <class T>
TERRACE_DEVICE_INLINE T normal_distribution(T x) {
  using R = ErrorReal<T>;
  constexpr T kEnds = T(2) * R::kEnds;  // the rest of an infinite product would be no number
  x = x > kEnds ? kEnds : x < -kEnds ? -kEnds : x;
  const T turned = product(-x, R::kRootHalf);
  return complement(turned, multiply_add(-x, R::kRootHalf, -turned) - x * R::kRootHalfRest, -1);
}

/// Of -3/4 to 3/4: Halley's steps from the first terms of the series.
template <class T>
TERRACE_DEVICE_INLINE T middle_inverse(T y) {
  T x = y * kHalfRootPi<T> * multiply_add(y * y, T(0.2617993877991494), T(1));  // pi / 12
#pragma unroll
  for (int step = 0; step < ErrorReal<T>::kSteps - 1; ++step) {
    const T away = (error_function(x) - y) * kHalfRootPi<T> * exp_scaled(x * x, T(0), 0);
    x -= away / multiply_add(x, away, T(1));
  }
  return x;
}
/// A float has a polynomial of y^2 for it, to 5.2e-11.
template <>
TERRACE_DEVICE_INLINE float middle_inverse(float y) {
  return y * polynomial(y * y, 1.65682606f, -4.29223172f, 5.23067583f, -3.66107823f, 1.71216378f, -4.73567353e-1f,
                        1.46671787e-1f, 3.77716913e-2f, 6.61508225e-2f, 8.64921814e-2f, 1.27557731e-1f, 2.32013651e-1f,
                        8.86226925e-1f);
}
/// The x whose complement is y, below 1/2: Newton's steps on the logarithm, which come down from the root of -ln y to the solution
/// and never beyond, and one on the complement itself, for the last digits. Tiny numbers are scaled, so that none are lost.
template <class T>
TERRACE_DEVICE_INLINE T tail_inverse(T y) {
  const T log = natural_log(y);
  T x = root(-log);
#pragma unroll
  for (int step = 0; step < ErrorReal<T>::kSteps; ++step) {
    const T scaled = scaled_complement(x);
    x += (natural_log(scaled) - multiply_add(x, x, log)) * scaled * kHalfRootPi<T>;
  }
  const int shift = log < -Real<T>::kExpEnds / 2 ? Real<T>::kBias / 2 : 0;
  const T found = complement(x, T(0), shift);
  return x + (found - scale(y, shift)) / found * scaled_complement(x) * kHalfRootPi<T>;
}
template <class T>
__device__ inline __attribute__((nodebug)) T inverse_complement(T y) {
  if (!(y >= T(0) && y <= T(2))) return not_a_number<T>();
  if (y == T(0) || y == T(2)) return y == T(0) ? infinity<T>() : -infinity<T>();
  if (y >= T(0.5) && y <= T(1.5)) return middle_inverse(T(1) - y);
  return y < T(1) ? tail_inverse(y) : -tail_inverse(T(2) - y);
}
template <class T>
__device__ inline __attribute__((nodebug)) T inverse_error(T y) {
  const T size = magnitude(y);
  if (!(size <= T(1))) return not_a_number<T>();
  if (size <= T(0.75)) return size == T(0) ? y : middle_inverse(y);
  return with_sign(size == T(1) ? infinity<T>() : tail_inverse(T(1) - size), y);
}
template <class T>
TERRACE_DEVICE_INLINE T inverse_normal(T y) {
  const T x = inverse_complement(T(2) * y);
  if (!(magnitude(x) < infinity<T>())) return -x;
  return -multiply_add(x, T(2) * ErrorReal<T>::kRootHalf, x * (T(2) * ErrorReal<T>::kRootHalfRest));
}

template <class T>
TERRACE_DEVICE_INLINE T inverse_hyperbolic_sine(T x) {
  const T size = magnitude(x);
  if (!(size < infinity<T>()) || size == T(0)) return x;
  // From there on the root is the number itself.
  if (size > T(1ull << (Real<T>::kFraction / 2 + 2)))
    return with_sign(natural_log(size) + (Real<T>::kLn2 + Real<T>::kLn2Rest), x);
  const T square = size * size;
  return with_sign(log_1_plus(size + square / (T(1) + root(square + T(1)))), x);
}
template <class T>
TERRACE_DEVICE_INLINE T inverse_hyperbolic_cosine(T x) {
  if (!(x >= T(1))) return x + not_a_number<T>();
  if (x > T(1ull << (Real<T>::kFraction / 2 + 2))) return natural_log(x) + (Real<T>::kLn2 + Real<T>::kLn2Rest);
  const T above = x - T(1);
  return log_1_plus(above + root(multiply_add(above, above, T(2) * above)));
}
template <class T>
TERRACE_DEVICE_INLINE T inverse_hyperbolic_tangent(T x) {
  const T size = magnitude(x);
  if (!(size <= T(1))) return x + not_a_number<T>();
  return size == T(0) ? x : with_sign(T(0.5) * log_1_plus(T(2) * size / (T(1) - size)), x);
}

}  // namespace terrace_device

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
TERRACE_DEVICE_MATH1(erf, error_function)
TERRACE_DEVICE_MATH1(erfc, error_complement)
TERRACE_DEVICE_MATH1(erfinv, inverse_error)
TERRACE_DEVICE_MATH1(erfcinv, inverse_complement)
TERRACE_DEVICE_MATH1(normcdf, normal_distribution)
TERRACE_DEVICE_MATH1(normcdfinv, inverse_normal)
TERRACE_DEVICE_MATH1(asinh, inverse_hyperbolic_sine)
TERRACE_DEVICE_MATH1(acosh, inverse_hyperbolic_cosine)
TERRACE_DEVICE_MATH1(atanh, inverse_hyperbolic_tangent)
#undef TERRACE_DEVICE_MATH1
