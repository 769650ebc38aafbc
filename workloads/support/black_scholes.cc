// SPDX-License-Identifier: MIT
#include "support/black_scholes.h"

#include <cmath>

#include "support/series.h"

namespace terrace {
namespace {

/// The five-term polynomial of the CUDA SDK's program, good to 1e-7.
double cumulative_normal(double d) {
  const double k = 1 / (1 + 0.2316419 * std::fabs(d));
  const double tail = 0.398942280401432678 * series_exp(-0.5 * d * d) * k *
                      (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
  return d > 0 ? 1 - tail : tail;
}

}  // namespace

OptionPrices black_scholes(double spot, double strike, double years, double rate, double volatility) {
  const double spread = volatility * std::sqrt(years);
  const double d1 = (series_log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread;
  const double n1 = cumulative_normal(d1), n2 = cumulative_normal(d1 - spread);
  const double discounted = strike * series_exp(-rate * years);
  return {spot * n1 - discounted * n2, discounted * (1 - n2) - spot * (1 - n1)};
}

}  // namespace terrace
