// What a measurement says of a printed claim: every rule at its edges.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "claims/verdict.h"

namespace terrace {
namespace {

PrintedClaim change(double value, ClaimDirection direction, ClaimBound bound = ClaimBound::kApprox) {
  PrintedClaim claim;
  claim.id = "x";
  claim.unit = ClaimUnit::kPercentChange;
  claim.value = claim.high = value;
  claim.direction = direction;
  claim.bound = bound;
  return claim;
}

PrintedClaim of_unit(ClaimUnit unit, double value, ClaimBound bound = ClaimBound::kApprox,
                     ClaimDirection direction = ClaimDirection::kEqual) {
  PrintedClaim claim = change(value, direction, bound);
  claim.unit = unit;
  return claim;
}

Finding judged(const PrintedClaim& claim, double measured, double half_width = 0) {
  return judge(claim, {measured, half_width, half_width > 0 ? u64{5} : u64{1}});
}

constexpr auto kUp = ClaimDirection::kIncrease, kDown = ClaimDirection::kDecrease, kSame = ClaimDirection::kEqual;

TEST(ClaimVerdict, AGainHoldsWithinAQuarterOfThePrintedOne) {
  const PrintedClaim claim = change(40, kUp);
  EXPECT_EQ(judged(claim, 40), Finding::kHolds);
  EXPECT_EQ(judged(claim, 30), Finding::kHolds);
  EXPECT_EQ(judged(claim, 50), Finding::kHolds);
  EXPECT_EQ(judged(claim, 29.9), Finding::kDirectionHolds);
  EXPECT_EQ(judged(claim, 50.1), Finding::kDirectionHolds);
}

TEST(ClaimVerdict, ASmallGainHoldsWithinThreePoints) {
  const PrintedClaim claim = change(5.3, kUp);
  EXPECT_EQ(judged(claim, 2.3), Finding::kHolds);
  EXPECT_EQ(judged(claim, 8.3), Finding::kHolds);
  EXPECT_EQ(judged(claim, 2.2), Finding::kDirectionHolds);
  EXPECT_EQ(judged(claim, 8.4), Finding::kDirectionHolds);
}

TEST(ClaimVerdict, ADirectionNeedsOnePointOnThePrintedSide) {
  const PrintedClaim claim = change(40, kUp);
  EXPECT_EQ(judged(claim, 1), Finding::kDirectionHolds);
  EXPECT_EQ(judged(claim, 0.9), Finding::kDoesNotHold);
  EXPECT_EQ(judged(claim, -40), Finding::kDoesNotHold);
}

TEST(ClaimVerdict, ADirectionWithinNoiseDoesNotHold) {
  const PrintedClaim claim = change(40, kUp);
  EXPECT_EQ(judged(claim, 4, 3.9), Finding::kDirectionHolds);
  EXPECT_EQ(judged(claim, 4, 4.0), Finding::kDoesNotHold);
}

TEST(ClaimVerdict, ADecreaseIsMeasuredAsANegativeChange) {
  const PrintedClaim claim = change(20, kDown);
  EXPECT_EQ(judged(claim, -20), Finding::kHolds);
  EXPECT_EQ(judged(claim, -15), Finding::kHolds);
  EXPECT_EQ(judged(claim, -14.9), Finding::kDirectionHolds);
  EXPECT_EQ(judged(claim, -1), Finding::kDirectionHolds);
  EXPECT_EQ(judged(claim, 20), Finding::kDoesNotHold);
}

TEST(ClaimVerdict, APrintedZeroHoldsWithinFivePointsAndHasNoDirection) {
  const PrintedClaim claim = change(0, kSame);
  EXPECT_EQ(judged(claim, 5), Finding::kHolds);
  EXPECT_EQ(judged(claim, -5), Finding::kHolds);
  EXPECT_EQ(judged(claim, 5.1), Finding::kDoesNotHold);
  EXPECT_EQ(judged(claim, -5.1), Finding::kDoesNotHold);
}

TEST(ClaimVerdict, ARatioIsJudgedByItsGain) {
  const PrintedClaim claim = of_unit(ClaimUnit::kRatio, 1.4, ClaimBound::kApprox, kUp);
  EXPECT_EQ(judged(claim, 1.3), Finding::kHolds);
  EXPECT_EQ(judged(claim, 1.5), Finding::kHolds);
  EXPECT_EQ(judged(claim, 1.29), Finding::kDirectionHolds);
  EXPECT_EQ(judged(claim, 1.01), Finding::kDirectionHolds);
  EXPECT_EQ(judged(claim, 1.005), Finding::kDoesNotHold);
  const PrintedClaim share = of_unit(ClaimUnit::kRatio, 0.6, ClaimBound::kApprox, kDown);
  EXPECT_EQ(judged(share, 0.7), Finding::kHolds);
  EXPECT_EQ(judged(share, 0.71), Finding::kDirectionHolds);
  EXPECT_EQ(judged(share, 1.0), Finding::kDoesNotHold);
}

TEST(ClaimVerdict, AnAbsoluteValueHoldsWithinAQuarter) {
  const PrintedClaim claim = of_unit(ClaimUnit::kAbsolute, 60);
  EXPECT_EQ(judged(claim, 45), Finding::kHolds);
  EXPECT_EQ(judged(claim, 75), Finding::kHolds);
  EXPECT_EQ(judged(claim, 44.9), Finding::kDoesNotHold);
  EXPECT_EQ(judged(claim, 75.1), Finding::kDoesNotHold);
}

TEST(ClaimVerdict, AnAbsoluteValueBeyondThePrintedOneKeepsTheDirection) {
  const PrintedClaim fewer = of_unit(ClaimUnit::kAbsolute, 0.2, ClaimBound::kApprox, kDown);
  EXPECT_EQ(judged(fewer, 0.1), Finding::kDirectionHolds);
  EXPECT_EQ(judged(fewer, 0.3), Finding::kDoesNotHold);
}

TEST(ClaimVerdict, AnAbsoluteZeroHoldsWithinFive) {
  const PrintedClaim claim = of_unit(ClaimUnit::kAbsolute, 0);
  EXPECT_EQ(judged(claim, 5), Finding::kHolds);
  EXPECT_EQ(judged(claim, 5.1), Finding::kDoesNotHold);
}

TEST(ClaimVerdict, OneSidedBoundsAreTakenAsWritten) {
  const PrintedClaim above = of_unit(ClaimUnit::kAbsolute, 20, ClaimBound::kAbove, kUp);
  EXPECT_EQ(judged(above, 20.01), Finding::kHolds);
  EXPECT_EQ(judged(above, 20), Finding::kDoesNotHold);
  const PrintedClaim at_least = of_unit(ClaimUnit::kAbsolute, 10, ClaimBound::kAtLeast, kUp);
  EXPECT_EQ(judged(at_least, 10), Finding::kHolds);
  EXPECT_EQ(judged(at_least, 9), Finding::kDoesNotHold);
  const PrintedClaim below = of_unit(ClaimUnit::kAbsolute, 0.3, ClaimBound::kBelow, kDown);
  EXPECT_EQ(judged(below, 0.29), Finding::kHolds);
  EXPECT_EQ(judged(below, 0.3), Finding::kDoesNotHold);
  const PrintedClaim at_most = of_unit(ClaimUnit::kAbsolute, 1, ClaimBound::kAtMost, kDown);
  EXPECT_EQ(judged(at_most, 1), Finding::kHolds);
  EXPECT_EQ(judged(at_most, 1.1), Finding::kDoesNotHold);
}

TEST(ClaimVerdict, ABoundOnAChangeLooksInItsDirection) {
  const PrintedClaim loss = change(2.1, kDown, ClaimBound::kAtMost);  // loses at most 2.1 %
  EXPECT_EQ(judged(loss, -2.1), Finding::kHolds);
  EXPECT_EQ(judged(loss, 30), Finding::kHolds);
  EXPECT_EQ(judged(loss, -2.2), Finding::kDirectionHolds);
  const PrintedClaim falls = change(50, kDown, ClaimBound::kAbove);
  EXPECT_EQ(judged(falls, -51), Finding::kHolds);
  EXPECT_EQ(judged(falls, -50), Finding::kDirectionHolds);
  EXPECT_EQ(judged(falls, 51), Finding::kDoesNotHold);
  const PrintedClaim either = change(1, kSame, ClaimBound::kBelow);
  EXPECT_EQ(judged(either, -0.9), Finding::kHolds);
  EXPECT_EQ(judged(either, 1), Finding::kDoesNotHold);
  EXPECT_EQ(judged(either, -1.1), Finding::kDoesNotHold);
}

TEST(ClaimVerdict, ABoundOnARatioIsTakenAsWritten) {
  const PrintedClaim claim = of_unit(ClaimUnit::kRatio, 2.1, ClaimBound::kAbove, kUp);
  EXPECT_EQ(judged(claim, 2.11), Finding::kHolds);
  EXPECT_EQ(judged(claim, 2.1), Finding::kDirectionHolds);
  EXPECT_EQ(judged(claim, 1.0), Finding::kDoesNotHold);
}

TEST(ClaimVerdict, ARangeIsAsWideAtItsEndsAsAValueWouldBe) {
  PrintedClaim claim = of_unit(ClaimUnit::kAbsolute, 40, ClaimBound::kRange);
  claim.high = 60;
  EXPECT_EQ(judged(claim, 30), Finding::kHolds);
  EXPECT_EQ(judged(claim, 75), Finding::kHolds);
  EXPECT_EQ(judged(claim, 29.9), Finding::kDoesNotHold);
  EXPECT_EQ(judged(claim, 75.1), Finding::kDoesNotHold);
  PrintedClaim times = of_unit(ClaimUnit::kRatio, 2, ClaimBound::kRange, kUp);
  times.high = 3;
  EXPECT_EQ(judged(times, 1.75), Finding::kHolds);
  EXPECT_EQ(judged(times, 3.5), Finding::kHolds);
  EXPECT_EQ(judged(times, 1.7), Finding::kDirectionHolds);
}

TEST(ClaimVerdict, AnExactValueMustBeMet) {
  const PrintedClaim claim = of_unit(ClaimUnit::kAbsolute, 100, ClaimBound::kExact);
  EXPECT_EQ(judged(claim, 100), Finding::kHolds);
  EXPECT_EQ(judged(claim, 99.9), Finding::kDoesNotHold);
}

TEST(ClaimVerdict, WhatIsNoNumberDoesNotHold) {
  EXPECT_EQ(judged(change(0, kSame), std::numeric_limits<double>::quiet_NaN()), Finding::kDoesNotHold);
  EXPECT_EQ(judged(change(1, kUp, ClaimBound::kAbove), std::numeric_limits<double>::infinity()), Finding::kDoesNotHold);
}

TEST(ClaimVerdict, AnOrderNeedsAMarginOfOnePercent) {
  const ClaimOrder order = parse_order("a>b");
  EXPECT_EQ(judge_order(order, {{"a", 1.01}, {"b", 1}}), Finding::kHolds);
  EXPECT_EQ(judge_order(order, {{"a", 1.009}, {"b", 1}}), Finding::kDirectionHolds);
  EXPECT_EQ(judge_order(order, {{"a", 1}, {"b", 1}}), Finding::kDoesNotHold);
  EXPECT_EQ(judge_order(order, {{"a", 0.9}, {"b", 1}}), Finding::kDoesNotHold);
}

TEST(ClaimVerdict, AtLeastAsLargeMayBeSmallerByTheMargin) {
  const ClaimOrder order = parse_order("a>=b");
  EXPECT_EQ(judge_order(order, {{"a", 0.99}, {"b", 1}}), Finding::kHolds);
  EXPECT_EQ(judge_order(order, {{"a", 0.98}, {"b", 1}}), Finding::kDoesNotHold);
}

TEST(ClaimVerdict, ItemsJoinedByACommaAreNotOrderedAmongThemselves) {
  const ClaimOrder order = parse_order("a>b,c>d");
  EXPECT_EQ(judge_order(order, {{"a", 9}, {"b", 4}, {"c", 6}, {"d", 1}}), Finding::kHolds);
  EXPECT_EQ(judge_order(order, {{"a", 9}, {"b", 6}, {"c", 4}, {"d", 1}}), Finding::kHolds);
  EXPECT_EQ(judge_order(order, {{"a", 5}, {"b", 4}, {"c", 6}, {"d", 1}}), Finding::kDoesNotHold);
  EXPECT_EQ(judge_order(order, {{"a", 9}, {"b", 4}, {"c", 6}, {"d", 5}}), Finding::kDoesNotHold);
}

TEST(ClaimVerdict, AnOrderIsReadWithItsSigns) {
  const ClaimOrder order = parse_order("a>b,c>=d");
  EXPECT_EQ(order.groups, (std::vector<std::vector<std::string>>{{"a"}, {"b", "c"}, {"d"}}));
  EXPECT_EQ(order.strict, (std::vector<bool>{true, false}));
  for (const char* bad : {"", "a", "a>", ">a", "a,,b>c", "a>>b"}) EXPECT_TRUE(parse_order(bad).empty()) << bad;
}

TEST(ClaimVerdict, AClaimAboutEachHoldsIfAllDo) {
  EXPECT_EQ(worst(Finding::kHolds, Finding::kDirectionHolds), Finding::kDirectionHolds);
  EXPECT_EQ(worst(Finding::kDoesNotHold, Finding::kDirectionHolds), Finding::kDoesNotHold);
}

}  // namespace
}  // namespace terrace
