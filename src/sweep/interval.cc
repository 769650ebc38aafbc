// SPDX-License-Identifier: MIT
#include "sweep/interval.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/check.h"

namespace terrace {

bool Interval::holds(double value) const {
  return known() && std::fabs(mean - value) <= half_width;
}

Interval interval_of(std::vector<double> values) {
  SIM_CHECK(!values.empty(), "an interval of nothing");
  const auto count = static_cast<double>(values.size());
  for (const double value : values)
    if (!std::isfinite(value)) return {value, 0, values.size()};
  std::sort(values.begin(), values.end());  // sums do not depend on the order of seeds
  if (values.front() == values.back()) return {values.front(), 0, values.size()};
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / count;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double standard_error = std::sqrt(squares / (count - 1) / count);
  return {mean, student_t(values.size() - 1) * standard_error, values.size()};
}

double student_t(u64 degrees) {
  // Roots of the regularised incomplete beta function, to nine digits; the first three decimals are those of every
  // printed table, such as the NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
  constexpr std::array<double, 20> kExact = {12.7062047, 4.30265273, 3.18244631, 2.77644511, 2.57058184,
                                             2.44691185, 2.36462425, 2.30600414, 2.26215716, 2.22813885,
                                             2.20098516, 2.17881283, 2.16036866, 2.14478669, 2.13144955,
                                             2.11990530, 2.10981558, 2.10092204, 2.09302405, 2.08596345};
  SIM_CHECK(degrees > 0, "an interval of one value");
  if (degrees <= kExact.size()) return kExact[degrees - 1];
  // Abramowitz and Stegun, 26.7.5; here it is exact to six decimals. x is the quantile of the normal distribution.
  constexpr double x = 1.959963984540054, x3 = x * x * x, x5 = x3 * x * x, x7 = x5 * x * x, x9 = x7 * x * x;
  const double n = static_cast<double>(degrees);
  return x + (x3 + x) / 4 / n + (5 * x5 + 16 * x3 + 3 * x) / 96 / (n * n) +
         (3 * x7 + 19 * x5 + 17 * x3 - 15 * x) / 384 / (n * n * n) +
         (79 * x9 + 776 * x7 + 1482 * x5 - 1920 * x3 - 945 * x) / 92160 / (n * n * n * n);
}

}  // namespace terrace
