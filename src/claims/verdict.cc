// SPDX-License-Identifier: MIT
#include "claims/verdict.h"

#include <algorithm>
#include <cmath>

#include "engine/check.h"

namespace terrace {

namespace {

/// Decimal numbers such as 3.3 - 0.3 are not exact: what misses a limit by no more than this is at it.
constexpr double kRounding = 1e-9;

bool at_most(double a, double b) {
  return a <= b + kRounding * std::max({1.0, std::fabs(a), std::fabs(b)});
}

bool near(double measured, double printed, double share, double points) {
  return at_most(std::fabs(measured - printed), std::max(share * std::fabs(printed), points));
}

double tolerance(double printed, double share, double points) {
  return std::max(share * std::fabs(printed), points);
}

/// One-sided bounds, as they are written. `size` is the change in the claim's direction.
bool bound_holds(ClaimBound bound, double size, double limit) {
  switch (bound) {
    case ClaimBound::kAbove:
      return size > limit;
    case ClaimBound::kAtLeast:
      return at_most(limit, size);
    case ClaimBound::kBelow:
      return size < limit;
    case ClaimBound::kAtMost:
      return at_most(size, limit);
    default:
      SIM_CHECK(false, "a bound is not one-sided");
  }
}

bool one_sided(ClaimBound bound) {
  return bound == ClaimBound::kAbove || bound == ClaimBound::kAtLeast || bound == ClaimBound::kBelow ||
         bound == ClaimBound::kAtMost;
}

/// The first design lies on the claimed side of the second one, by more than the margin and beyond the noise.
bool right_side(const PrintedClaim& claim, double gain, double half_width) {
  if (claim.direction == ClaimDirection::kEqual) return false;
  const double size = claim.direction == ClaimDirection::kDecrease ? -gain : gain;
  return at_most(kDirectionPoints, size) && size > half_width;
}

/// Percent changes and ratios.
Finding judge_gain(const PrintedClaim& claim, const Interval& measured) {
  const bool ratio = claim.unit == ClaimUnit::kRatio;
  const auto gain_of = [&](double value) { return ratio ? 100 * (value - 1) : value; };
  const double gain = gain_of(measured.mean), half = ratio ? 100 * measured.half_width : measured.half_width;
  bool holds = false;
  if (one_sided(claim.bound)) {
    const double size = ratio                                          ? measured.mean
                        : claim.direction == ClaimDirection::kDecrease ? -gain
                        : claim.direction == ClaimDirection::kEqual    ? std::fabs(gain)
                                                                       : gain;
    holds = bound_holds(claim.bound, size, claim.value);
  } else if (claim.bound == ClaimBound::kRange) {
    const double low = gain_of(claim.value), high = gain_of(claim.high);
    holds = at_most(low - tolerance(low, kGainShare, kGainPoints), gain) &&
            at_most(gain, high + tolerance(high, kGainShare, kGainPoints));
  } else {
    const double printed = ratio ? gain_of(claim.value) : claim.signed_value();
    holds = printed == 0 ? at_most(std::fabs(gain), kZeroPoints) : near(gain, printed, kGainShare, kGainPoints);
  }
  if (holds) return Finding::kHolds;
  return right_side(claim, gain, half) ? Finding::kDirectionHolds : Finding::kDoesNotHold;
}

Finding judge_absolute(const PrintedClaim& claim, double measured) {
  bool holds = false;
  if (one_sided(claim.bound)) {
    holds = bound_holds(claim.bound, measured, claim.value);
  } else if (claim.bound == ClaimBound::kRange) {
    holds =
        at_most(claim.value * (1 - kAbsoluteShare), measured) && at_most(measured, claim.high * (1 + kAbsoluteShare));
  } else if (claim.bound == ClaimBound::kExact) {
    holds = near(measured, claim.value, 0, 0);
  } else {
    holds =
        claim.value == 0 ? at_most(std::fabs(measured), kZeroPoints) : near(measured, claim.value, kAbsoluteShare, 0);
  }
  if (holds) return Finding::kHolds;
  // Further on the claimed side than printed.
  const bool beyond = !one_sided(claim.bound) &&
                      ((claim.direction == ClaimDirection::kIncrease && measured > std::max(claim.value, claim.high)) ||
                       (claim.direction == ClaimDirection::kDecrease && measured < claim.value));
  return beyond ? Finding::kDirectionHolds : Finding::kDoesNotHold;
}

}  // namespace

std::string_view finding_name(Finding finding) {
  switch (finding) {
    case Finding::kHolds:
      return "holds";
    case Finding::kDirectionHolds:
      return "direction holds";
    case Finding::kDoesNotHold:
      return "does not hold";
    case Finding::kTooShort:
      return "too short";
    case Finding::kNotMeasured:
      return "not measured";
  }
  SIM_CHECK(false, "a finding has no name");
}

Finding worst(Finding a, Finding b) {
  return std::max(a, b);
}

Finding judge(const PrintedClaim& claim, const Interval& measured) {
  SIM_CHECK(claim.order.empty(), "{} is an ordering", claim.id);
  if (!std::isfinite(measured.mean)) return Finding::kDoesNotHold;
  const bool gain = claim.unit == ClaimUnit::kPercentChange || claim.unit == ClaimUnit::kRatio;
  return gain ? judge_gain(claim, measured) : judge_absolute(claim, measured.mean);
}

Finding judge_order(const ClaimOrder& order, const OrderValues& values) {
  bool with_margin = true, without = true;
  for (std::size_t i = 0; i + 1 < order.groups.size(); ++i)
    for (const std::string& upper : order.groups[i])
      for (const std::string& lower : order.groups[i + 1]) {
        const double a = values.at(upper), b = values.at(lower), margin = kOrderShare * std::fabs(b);
        // What is claimed to be at least as large may be smaller by the margin.
        with_margin &= order.strict[i] ? at_most(b + margin, a) : at_most(b - margin, a);
        without &= order.strict[i] ? a > b : at_most(b - margin, a);
      }
  return with_margin ? Finding::kHolds : without ? Finding::kDirectionHolds : Finding::kDoesNotHold;
}

}  // namespace terrace
