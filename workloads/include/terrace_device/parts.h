// What numbers are made of: exponents, fractions, neighbours, remainders; lengths of vectors. All but the lengths and the root are
// exact. Those of float are computed in double. Part of terrace_device.h, for clang.
// SPDX-License-Identifier: MIT
#pragma once

#include "math.h"

namespace terrace_device {

template <class T>
TERRACE_DEVICE_INLINE int exponent_field(T x) {
  return static_cast<int>(bits_of(magnitude(x)) >> Real<T>::kFraction);
}
template <class T>
TERRACE_DEVICE_INLINE bool has_exponent(T x) {
  return magnitude(x) > T(0) && magnitude(x) < infinity<T>();
}
/// A normal number and the power of 2 that it lacks, of a number with an exponent.
template <class T>
TERRACE_DEVICE_INLINE T normalised(T x, int& lacks) {
  lacks = exponent_field(x) == 0 ? Real<T>::kFraction + 1 : 0;
  return lacks == 0
             ? x
             : x * from_bits<T>(static_cast<typename Real<T>::Bits>(Real<T>::kBias + lacks) << Real<T>::kFraction);
}
template <class T>
TERRACE_DEVICE_INLINE T with_exponent_field(T x, int field) {
  using Bits = typename Real<T>::Bits;
  return from_bits<T>((bits_of(x) & ~Real<T>::kInfinity) | static_cast<Bits>(field) << Real<T>::kFraction);
}

/// x 2^power: rounded once, where the result is not normal.
template <class T>
TERRACE_DEVICE_INLINE T load_exponent(T x, int power) {
  using R = Real<T>;
  if (!has_exponent(x)) return x;
  constexpr int kBeyond = 3 * R::kBias;
  power = power > kBeyond ? kBeyond : power < -kBeyond ? -kBeyond : power;
  int lacks;
  const T normal = normalised(x, lacks);
  const int field = exponent_field(normal) - lacks + power;
  if (field > 2 * R::kBias) return with_sign(infinity<T>(), x);
  if (field > 0) return with_exponent_field(normal, field);
  constexpr int kBelow = R::kFraction + 2;
  if (field + kBelow <= 0) return with_sign(T(0), x);
  return with_exponent_field(normal, field + kBelow) *
         from_bits<T>(static_cast<typename R::Bits>(R::kBias - kBelow) << R::kFraction);
}
template <class T>
TERRACE_DEVICE_INLINE T load_exponent(T x, long power) {
  return load_exponent(x, power > 100000 ? 100000 : power < -100000 ? -100000 : static_cast<int>(power));
}
/// A fraction from 1/2 to 1, and the power of 2 that makes x of it.
template <class T>
TERRACE_DEVICE_INLINE T take_apart(T x, int* power) {
  *power = 0;
  if (!has_exponent(x)) return x;
  int lacks;
  const T normal = normalised(x, lacks);
  *power = exponent_field(normal) - lacks - Real<T>::kBias + 1;
  return with_exponent_field(normal, Real<T>::kBias - 1);
}
template <class T>
TERRACE_DEVICE_INLINE int whole_exponent(T x) {
  if (!has_exponent(x)) return magnitude(x) == infinity<T>() ? 0x7fffffff : -0x7fffffff - 1;
  int power;
  take_apart(x, &power);
  return power - 1;
}
template <class T>
TERRACE_DEVICE_INLINE T exponent_of(T x) {
  if (x == T(0)) return -infinity<T>();
  return has_exponent(x) ? static_cast<T>(whole_exponent(x)) : x * x;
}
template <class T>
TERRACE_DEVICE_INLINE T whole_and_fraction(T x, T* whole) {
  const T size = magnitude(x), down = size < T(1ull << Real<T>::kFraction) ? floor_of(size) : size;
  *whole = x != x ? x : with_sign(down, x);
  return x != x ? x : with_sign(size == down ? T(0) : size - down, x);
}
template <class T>
TERRACE_DEVICE_INLINE T next_after(T x, T to) {
  if (x != x || to != to) return x + to;
  if (x == to) return to;
  if (x == T(0)) return with_sign(from_bits<T>(1), to);
  const bool away = (x < to) == (x > T(0));
  return from_bits<T>(away ? bits_of(x) + 1 : bits_of(x) - 1);
}

/// x less the nearest multiple of y, of two equally near ones the even one; the last bits of the multiple.
template <class T>
__device__ inline __attribute__((nodebug)) T nearest_remainder(T x, T y, int* multiple) {
  *multiple = 0;
  const T a = magnitude(x), b = magnitude(y);
  if (!(a < infinity<T>()) || !(b > T(0))) return not_a_number<T>();
  T rest = a;
  int count = 0;
  // Eight times it may be more than there is; then x is less than that.
  if (exponent_field(b) <= 2 * Real<T>::kBias - 3) rest = remainder_of(a, T(8) * b);
#pragma unroll
  for (int times = 4; times > 0; times /= 2) {
    const T part = T(times) * b;
    if (!(rest >= part)) continue;
    rest -= part;
    count += times;
  }
  // More than half of y: compared without halves, which may not exist.
  const T left = b - rest;
  if (rest > left || (rest == left && (count & 1) != 0)) {
    rest = -left;
    ++count;
  }
  *multiple = (bits_of(x) ^ bits_of(y)) >> (sizeof(T) * 8 - 1) != 0 ? -(count & 7) : count & 7;
  return bits_of(x) >> (sizeof(T) * 8 - 1) != 0 ? -rest : rest;
}
template <class T>
TERRACE_DEVICE_INLINE T nearest_remainder(T x, T y) {
  int multiple;
  return nearest_remainder(x, y, &multiple);
}

/// The length of a vector, or one divided by it. An infinite part makes it infinite, whatever the others are.
TERRACE_DEVICE_INLINE double vector_length(double x, double y, double z, double w, bool inverse) {
  const double a = magnitude(x), b = magnitude(y), c = magnitude(z), d = magnitude(w);
  const double most = __builtin_fmax(__builtin_fmax(a, b), __builtin_fmax(c, d));
  if (most == infinity<double>()) return inverse ? 0.0 : most;
  if (a != a || b != b || c != c || d != d) return not_a_number<double>();
  if (most == 0.0) return inverse ? infinity<double>() : 0.0;
  const int exponent = whole_exponent(most);
  const double p = load_exponent(a, -exponent), q = load_exponent(b, -exponent), r = load_exponent(c, -exponent),
               s = load_exponent(d, -exponent);
  const double size = root(multiply_add(p, p, multiply_add(q, q, multiply_add(r, r, s * s))));
  return inverse ? load_exponent(1.0 / size, -exponent) : load_exponent(size, exponent);
}
TERRACE_DEVICE_INLINE double inverse_cube_root(double x) {
  if (x == 0.0) return with_sign(infinity<double>(), x);
  const double y = 1.0 / cube_root(x);
  if (!has_exponent(x)) return y;
  // One step of Newton's method, with the error known.
  const double square = product(y, y), times = product(x, square);
  const double rest = multiply_add(x, square, -times) + x * multiply_add(y, y, -square);
  const double error = multiply_add(-times, y, 1.0) - rest * y;
  return multiply_add(y, error / 3.0, y);
}

}  // namespace terrace_device

#define TERRACE_DEVICE_PARTS(T, suffix)                                         \
  TERRACE_DEVICE_INLINE T ldexp##suffix(T x, int power) {                       \
    return terrace_device::load_exponent(x, power);                             \
  }                                                                             \
  TERRACE_DEVICE_INLINE T scalbn##suffix(T x, int power) {                      \
    return terrace_device::load_exponent(x, power);                             \
  }                                                                             \
  TERRACE_DEVICE_INLINE T scalbln##suffix(T x, long power) {                    \
    return terrace_device::load_exponent(x, power);                             \
  }                                                                             \
  TERRACE_DEVICE_INLINE T frexp##suffix(T x, int* power) {                      \
    return terrace_device::take_apart(x, power);                                \
  }                                                                             \
  TERRACE_DEVICE_INLINE int ilogb##suffix(T x) {                                \
    return terrace_device::whole_exponent(x);                                   \
  }                                                                             \
  TERRACE_DEVICE_INLINE T logb##suffix(T x) {                                   \
    return terrace_device::exponent_of(x);                                      \
  }                                                                             \
  TERRACE_DEVICE_INLINE T modf##suffix(T x, T* whole) {                         \
    return terrace_device::whole_and_fraction(x, whole);                        \
  }                                                                             \
  TERRACE_DEVICE_INLINE T nextafter##suffix(T x, T to) {                        \
    return terrace_device::next_after(x, to);                                   \
  }                                                                             \
  TERRACE_DEVICE_INLINE T remainder##suffix(T x, T y) {                         \
    return terrace_device::nearest_remainder(x, y);                             \
  }                                                                             \
  TERRACE_DEVICE_INLINE T remquo##suffix(T x, T y, int* multiple) {             \
    return terrace_device::nearest_remainder(x, y, multiple);                   \
  }                                                                             \
  TERRACE_DEVICE_INLINE T rhypot##suffix(T x, T y) {                            \
    return static_cast<T>(terrace_device::vector_length(x, y, 0.0, 0.0, true)); \
  }                                                                             \
  TERRACE_DEVICE_INLINE T norm3d##suffix(T x, T y, T z) {                       \
    return static_cast<T>(terrace_device::vector_length(x, y, z, 0.0, false));  \
  }                                                                             \
  TERRACE_DEVICE_INLINE T rnorm3d##suffix(T x, T y, T z) {                      \
    return static_cast<T>(terrace_device::vector_length(x, y, z, 0.0, true));   \
  }                                                                             \
  TERRACE_DEVICE_INLINE T norm4d##suffix(T x, T y, T z, T w) {                  \
    return static_cast<T>(terrace_device::vector_length(x, y, z, w, false));    \
  }                                                                             \
  TERRACE_DEVICE_INLINE T rnorm4d##suffix(T x, T y, T z, T w) {                 \
    return static_cast<T>(terrace_device::vector_length(x, y, z, w, true));     \
  }                                                                             \
  TERRACE_DEVICE_INLINE T rcbrt##suffix(T x) {                                  \
    return static_cast<T>(terrace_device::inverse_cube_root(x));                \
  }
TERRACE_DEVICE_PARTS(float, f)
TERRACE_DEVICE_PARTS(double, )
#undef TERRACE_DEVICE_PARTS
TERRACE_DEVICE_INLINE void sincospif(float x, float* sine, float* cosine) {
  *sine = terrace_device::sine_of_half_turns(x);
  *cosine = terrace_device::cosine_of_half_turns(x);
}
TERRACE_DEVICE_INLINE void sincospi(double x, double* sine, double* cosine) {
  *sine = terrace_device::sine_of_half_turns(x);
  *cosine = terrace_device::cosine_of_half_turns(x);
}
TERRACE_DEVICE_INLINE long long llrintf(float x) {
  return __nvvm_f2ll_rn(x);
}
TERRACE_DEVICE_INLINE long long llrint(double x) {
  return __nvvm_d2ll_rn(x);
}
TERRACE_DEVICE_INLINE long long llroundf(float x) {
  return __nvvm_f2ll_rz(terrace_device::away_from_half(x));
}
TERRACE_DEVICE_INLINE long long llround(double x) {
  return __nvvm_d2ll_rz(terrace_device::away_from_half(x));
}
TERRACE_DEVICE_INLINE float fdividef(float x, float y) {
  return x / y;
}

// C++ has the names without a suffix for float, too.
TERRACE_DEVICE_INLINE float ldexp(float x, int power) {
  return ldexpf(x, power);
}
TERRACE_DEVICE_INLINE float scalbn(float x, int power) {
  return scalbnf(x, power);
}
TERRACE_DEVICE_INLINE float frexp(float x, int* power) {
  return frexpf(x, power);
}
TERRACE_DEVICE_INLINE int ilogb(float x) {
  return ilogbf(x);
}
TERRACE_DEVICE_INLINE float logb(float x) {
  return logbf(x);
}
TERRACE_DEVICE_INLINE float modf(float x, float* whole) {
  return modff(x, whole);
}
TERRACE_DEVICE_INLINE float nextafter(float x, float to) {
  return nextafterf(x, to);
}
TERRACE_DEVICE_INLINE float remainder(float x, float y) {
  return remainderf(x, y);
}
TERRACE_DEVICE_INLINE float remquo(float x, float y, int* multiple) {
  return remquof(x, y, multiple);
}
TERRACE_DEVICE_INLINE long lrint(float x) {
  return lrintf(x);
}
TERRACE_DEVICE_INLINE long lround(float x) {
  return lroundf(x);
}
TERRACE_DEVICE_INLINE long long llrint(float x) {
  return llrintf(x);
}
TERRACE_DEVICE_INLINE long long llround(float x) {
  return llroundf(x);
}
