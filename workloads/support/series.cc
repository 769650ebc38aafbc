// SPDX-License-Identifier: MIT
#include "support/series.h"

#include <cmath>

namespace terrace {
namespace {

// ln 2 in two parts: multiples of the first, which has 21 zeros at its end, are exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

}  // namespace

double series_exp(double x) {
  if (x < -745) return 0;  // below the least subnormal number
  if (x > 709) return HUGE_VAL;
  const double halvings = std::floor(x / kLn2High + 0.5);
  const double rest = (x - halvings * kLn2High) - halvings * kLn2Low;
  double sum = 1, term = 1;
  for (int n = 1; n < 18; ++n) {  // |rest| < 0.35: 0.35^18 / 18! < 1e-24
    term *= rest / n;
    sum += term;
  }
  return std::ldexp(sum, static_cast<int>(halvings));
}

double series_log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2;
    --exponent;
  }
  // log m = 2 artanh((m - 1) / (m + 1)); the argument is below 0.172.
  const double t = (mantissa - 1) / (mantissa + 1);
  double sum = 0, power = t;
  for (int n = 1; n < 27; n += 2) {
    sum += power / n;
    power *= t * t;
  }
  return 2 * sum + exponent * kLn2Low + exponent * kLn2High;
}

SinCos series_sin_cos(double angle) {
  SinCos result{0, 0};
  double term = 1;
  for (int n = 0; n < 80 && std::fabs(term) > 1e-20; ++n) {
    (n % 2 ? result.sin : result.cos) += n % 4 < 2 ? term : -term;
    term *= angle / (n + 1);
  }
  return result;
}

}  // namespace terrace
