// Intervals of means over seeds, against values computed by hand and the distribution's closed form.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>

#include "report/estimate.h"
#include "sweep/interval.h"

namespace terrace {
namespace {

/// How much of Student's distribution lies between -t and t: Abramowitz and Stegun, 26.7.3 and 26.7.4.
double student_within(double t, u64 degrees) {
  const double theta = std::atan(t / std::sqrt(static_cast<double>(degrees)));
  const double cosine = std::cos(theta);
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1, sum = degrees == 1 ? 0 : term;
  for (u64 k = odd ? 3 : 2; k + 1 < degrees; k += 2) {
    term *= cosine * cosine * static_cast<double>(k - 1) / static_cast<double>(k);
    sum += term;
  }
  sum *= std::sin(theta);
  return odd ? 2 / M_PI * (theta + sum) : sum;
}

TEST(Interval, HoldsNinetyFivePercentOfStudentsDistributionForEveryNumberOfSeeds) {
  for (u64 degrees = 1; degrees < 200; ++degrees)
    EXPECT_NEAR(student_within(student_t(degrees), degrees), 0.95, 2e-8) << degrees;
  EXPECT_NEAR(student_t(4), 2.776, 5e-4) << "as printed";
  EXPECT_NEAR(student_t(1'000'000), 1.96, 5e-3) << "nearly normal";
}

TEST(Interval, IsWhatAHandComputes) {
  // Deviations -2 to 2: variance 10 / 4, standard error sqrt(2.5 / 5).
  const Interval five = interval_of({1, 2, 3, 4, 5});
  EXPECT_DOUBLE_EQ(five.mean, 3);
  EXPECT_NEAR(five.half_width, 2.77644511 * std::sqrt(0.5), 1e-9);
  EXPECT_EQ(five.count, 5u);
  // Deviations of 1: variance 2, standard error 1.
  EXPECT_DOUBLE_EQ(interval_of({12, 10}).half_width, student_t(1));
}

TEST(Interval, DoesNotDependOnTheOrderOfSeeds) {
  const Interval one = interval_of({0.1, 0.7, 1e9, 0.3}), other = interval_of({1e9, 0.3, 0.1, 0.7});
  EXPECT_EQ(one.mean, other.mean);
  EXPECT_EQ(one.half_width, other.half_width);
}

TEST(Interval, OfOneSeedSaysNothing) {
  const Interval one = interval_of({7});
  EXPECT_FALSE(one.known());
  EXPECT_FALSE(one.holds(7));
  EXPECT_EQ(one.mean, 7);
}

TEST(Interval, HoldsItsEndsAndNothingBeyond) {
  const Interval interval{10, 2, 5};
  EXPECT_TRUE(interval.holds(8));
  EXPECT_TRUE(interval.holds(12));
  EXPECT_FALSE(interval.holds(7.999));
  EXPECT_FALSE(interval.holds(12.001));
}

TEST(Interval, OfWhatIsNoNumberIsNone) {
  EXPECT_FALSE(interval_of({NAN, 1, 2}).holds(1));
  EXPECT_FALSE(interval_of({1, INFINITY}).holds(1));
}

Estimate estimate(double mean, double half_width, std::optional<bool> within_noise = {}) {
  return {{mean, half_width, 5}, false, within_noise};
}

TEST(Estimate, IsShownToTwoDigitsOfItsInterval) {
  EXPECT_EQ(cell_text(estimate(12.3456, 1.42)), "12.3 ± 1.4");
  EXPECT_EQ(cell_text(estimate(12.3456, 0.0142)), "12.346 ± 0.014");
  EXPECT_EQ(cell_text(estimate(123456.7, 1420.4)), "123457 ± 1420");
  EXPECT_EQ(cell_text(estimate(12.5, 9.96)), "12 ± 10");
  EXPECT_EQ(cell_text(estimate(3, 0)), "3 ± 0");
  EXPECT_EQ(claim_text(estimate(12.3456, 1.42)), "12.3 ± 1.4 (5 seeds)");
}

TEST(Estimate, WithinNoiseHasASign) {
  EXPECT_EQ(cell_text(estimate(1.234, 2.02, true)), "≈ 1.2 ± 2.0");
  EXPECT_EQ(cell_text(estimate(1.234, 1.02, false)), "1.2 ± 1.0");
  EXPECT_EQ(claim_text(estimate(1.234, 2.02, true)), "≈ 1.2 ± 2.0 (5 seeds)");
}

TEST(Estimate, OfOneSeedIsTheNumberItself) {
  const Estimate one{interval_of({1.0 / 3}), false, {}};
  EXPECT_EQ(cell_text(one), "0.333");
  EXPECT_EQ(claim_text(one), "0.3333333333333333");
  EXPECT_TRUE(sign_notes(1, false).empty());
}

}  // namespace
}  // namespace terrace
