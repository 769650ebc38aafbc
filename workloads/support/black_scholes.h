// European options by the formula of Black and Scholes, in double.
// SPDX-License-Identifier: MIT
#pragma once

namespace terrace {

struct OptionPrices {
  double call, put;
};
OptionPrices black_scholes(double spot, double strike, double years, double rate, double volatility);

}  // namespace terrace
