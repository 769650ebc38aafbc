// The gamma function, its logarithm, and the scaled complement of the error function. Those of float are computed in double. Part of
// terrace_device.h, for clang.
// SPDX-License-Identifier: MIT
#pragma once

#include "error_functions.h"
#include "parts.h"

namespace terrace_device {

/// The sum in two parts of two numbers, neither of which need be the larger.
TERRACE_DEVICE_INLINE Pair<double> exact_sum(double x, double y) {
  const double sum = x + y, part = sum - x;
  return {sum, (x - (sum - part)) + (y - part)};
}
TERRACE_DEVICE_INLINE Pair<double> plus(Pair<double> x, double y) {
  const Pair<double> sum = exact_sum(x.high, y);
  const double low = sum.low + x.low, high = sum.high + low;
  return {high, (sum.high - high) + low};
}

/// ln Gamma of 10 and above: Stirling's series, whose next term is below 3e-17.
TERRACE_DEVICE_INLINE Pair<double> stirling(double x) {
  constexpr double kHalfLog2Pi = 0x1.d67f1c864beb5p-1, kHalfLog2PiRest = -0x1.65b5a1b7ff5dfp-55;
  const Pair<double> log = log_pair(x);
  const double half_less = x - 0.5, lost = (x - half_less) - 0.5;
  Pair<double> sum = {product(log.high, half_less), 0};
  sum.low = multiply_add(log.high, half_less, -sum.high) + log.low * half_less + log.high * lost;
  sum = plus(sum, -x);
  sum = plus(sum, kHalfLog2Pi);
  const double inverse = 1 / x;
  sum.low += kHalfLog2PiRest + inverse * polynomial(inverse * inverse, 1.0 / 156, -691.0 / 360360, 1.0 / 1188,
                                                    -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12);
  return sum;
}
/// ln Gamma(2 + z) for z from -3/4 to 1/2: the series of ln Gamma(1 + z) + ln(1 + z), whose factors are (zeta(k) - 1) / k, to 2e-18.
TERRACE_DEVICE_INLINE double log_gamma_near_2(double z) {
  return z * polynomial(z, 9.5736303878385558e-14, -1.9664756310966165e-13, 4.0422005252894401e-13,
                        -8.3153858414202848e-13, 1.7119917905596179e-12, -3.5277424765759151e-12,
                        7.2759744802390797e-12, -1.5021384080754142e-11, 3.1044247747322273e-11, -6.4229645638381e-11,
                        1.3304764374244489e-10, -2.7595228851242331e-10, 5.731367241678862e-10, -1.1921401405860912e-9,
                        2.4836745438024783e-9, -5.1834750419700467e-9, 1.0838659214896954e-8, -2.2711094608943165e-8,
                        4.7698101693639806e-8, -1.00432248239681e-7, 2.1207184805554666e-7, -4.492469198764566e-7,
                        9.5514121304074198e-7, -2.0392157538013662e-6, 4.3748667899074878e-6, -9.4394882752683959e-6,
                        2.0507212775670692e-5, -4.4926236738133142e-5, 9.9457512781808534e-5, -0.00022315475845357938,
                        0.00050966952474304242, -0.001192753911703261, 0.0028905103307415233, -0.0073855510286739853,
                        0.020580808427784548, -0.067352301053198095, 0.32246703342411322, 0.42278433509846714);
}
/// Of a number above 0 and below infinity.
__device__ inline __attribute__((nodebug)) double log_gamma_above_0(double x) {
  if (x >= 10) {
    if (x > 1e300) return x * (natural_log(x) - 1);  // nothing else is large enough to see
    const Pair<double> sum = stirling(x);
    return sum.high + sum.low;
  }
  if (x < 0.5) return (log_gamma_near_2(x) - log_1_plus(x)) - natural_log(x);
  if (x < 1.25) return log_gamma_near_2(x - 1) - log_1_plus(x - 1);
  double factors = 1;
  while (x > 2.5) {
    x -= 1;
    factors *= x;
  }
  return log_gamma_near_2(x - 2) + natural_log(factors);
}
__device__ inline __attribute__((nodebug)) double log_gamma(double x) {
  if (!(magnitude(x) < infinity<double>())) return x * x;
  if (x > 0) return log_gamma_above_0(x);
  if (floor_of(x) == x) return infinity<double>();
  const double size = -x;
  if (size < 0x1p-60) return -natural_log(size);
  constexpr double kPi = 2 * Real<double>::kHalfPi;
  return natural_log(kPi / (size * magnitude(sine_of_half_turns(x)))) - log_gamma_above_0(size);
}

/// Gamma of a number above 0, times 2^shift. Below 10 it is divided down from there.
__device__ inline __attribute__((nodebug)) double gamma_above_0(double x, int shift) {
  if (x < 0x1p-60) return scale(1 / x, shift);
  Pair<double> factors = {1, 0};
  Pair<double> at = {x, 0};
  while (at.high < 10) {
    const double high = product(factors.high, at.high);
    factors = {high, multiply_add(factors.high, at.high, -high) + factors.high * at.low + factors.low * at.high};
    at = plus(at, 1.0);
  }
  const Pair<double> log = stirling(at.high);
  // The slope of ln Gamma, as far as what the shifted number lacks needs it.
  const double value = exp_scaled(log.high, log.low + at.low * natural_log(at.high), shift);
  if (factors.high == 1) return value;  // infinite, maybe
  const double quotient = value / factors.high;
  return quotient - quotient * (factors.low / factors.high);
}
__device__ inline __attribute__((nodebug)) double gamma(double x) {
  if (x != x) return x;
  if (x == 0) return with_sign(infinity<double>(), x);
  if (x > 0) return x > 172 ? infinity<double>() : gamma_above_0(x, 0);
  if (floor_of(x) == x) return not_a_number<double>();  // minus infinity, too
  if (x > -0x1p-60) return 1 / x;
  const double size = -x;
  if (size > 190) return with_sign(0.0, sine_of_half_turns(x));  // smaller than any number
  constexpr int kShift = -400;
  constexpr double kPi = 2 * Real<double>::kHalfPi;
  const double value = kPi / (size * sine_of_half_turns(size) * gamma_above_0(size, size > 100 ? kShift : 0));
  return -(size > 100 ? load_exponent(value, kShift) : value);
}

/// e^(x^2) erfc(x).
__device__ inline __attribute__((nodebug)) double scaled_error_complement(double x) {
  if (x != x) return x;
  if (x < 0) {
    if (x < -27) return infinity<double>();
    const double square = product(x, x);
    return exp_scaled(square, multiply_add(x, x, -square), 1) - scaled_complement(-x);
  }
  if (x < 20) return scaled_complement(x);
  constexpr double kInverseRootPi = 0x1.20dd750429b6dp-1;
  const double inverse = 1 / x, half = 0.5 * inverse * inverse;
  return kInverseRootPi * inverse *
         polynomial(half, 2027025.0, -135135.0, 10395.0, -945.0, 105.0, -15.0, 3.0, -1.0, 1.0);
}

}  // namespace terrace_device

#define TERRACE_DEVICE_OF_DOUBLE(name, function)             \
  TERRACE_DEVICE_INLINE double name(double x) {              \
    return terrace_device::function(x);                      \
  }                                                          \
  TERRACE_DEVICE_INLINE float name##f(float x) {             \
    return static_cast<float>(terrace_device::function(x));  \
  }                                                          \
  TERRACE_DEVICE_INLINE float name(float x) {                \
    return name##f(x);                                       \
  }                                                          \
  TERRACE_DEVICE_INLINE double name(int x) {                 \
    return terrace_device::function(static_cast<double>(x)); \
  }
TERRACE_DEVICE_OF_DOUBLE(lgamma, log_gamma)
TERRACE_DEVICE_OF_DOUBLE(tgamma, gamma)
TERRACE_DEVICE_OF_DOUBLE(erfcx, scaled_error_complement)
#undef TERRACE_DEVICE_OF_DOUBLE
