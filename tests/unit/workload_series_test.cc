// The functions that inputs and references of the workloads use in place of libm's.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>

#include "support/black_scholes.h"
#include "support/series.h"

namespace terrace {
namespace {

TEST(Series, ExpAgreesWithTheMathLibrary) {
  for (double x = -700; x < 700; x += 0.37) EXPECT_NEAR(series_exp(x) / std::exp(x), 1, 1e-14) << x;
  EXPECT_EQ(series_exp(0), 1);
  EXPECT_EQ(series_exp(-800), 0);
}

TEST(Series, LogAgreesWithTheMathLibrary) {
  for (double x = 1e-9; x < 1e9; x *= 1.17)
    EXPECT_NEAR(series_log(x), std::log(x), 1e-14 * (1 + std::fabs(std::log(x))));
  EXPECT_EQ(series_log(1), 0);
}

TEST(Series, SineAndCosineAgreeWithTheMathLibrary) {
  for (double x = -7; x < 7; x += 0.013) {
    EXPECT_NEAR(series_sin_cos(x).sin, std::sin(x), 1e-13) << x;
    EXPECT_NEAR(series_sin_cos(x).cos, std::cos(x), 1e-13) << x;
  }
}

TEST(Series, BlackScholesKeepsCallsAndPutsInParity) {
  for (const double strike : {1.0, 20.0, 90.0}) {
    const OptionPrices prices = black_scholes(25, strike, 4, 0.06, 0.1);
    EXPECT_NEAR(prices.call - prices.put, 25 - strike * std::exp(-0.24), 1e-9);
    EXPECT_GE(prices.call, -1e-6);
  }
}

}  // namespace
}  // namespace terrace
