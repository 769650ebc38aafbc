// What a measurement says of a printed claim. The rules, for a person: docs/reproduce.md.
//
// A gain is a change in percentage points: of a ratio r it is 100 (r - 1).
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "claims/catalogue.h"
#include "sweep/interval.h"

namespace terrace {

enum class Finding : u8 { kHolds, kDirectionHolds, kDoesNotHold, kTooShort, kNotMeasured };
std::string_view finding_name(Finding finding);

/// A gain may differ from the printed one by a quarter of it, or by three points.
inline constexpr double kGainShare = 0.25, kGainPoints = 3;
/// An absolute value may differ by a quarter.
inline constexpr double kAbsoluteShare = 0.25;
/// What is printed as 0 may be so many points.
inline constexpr double kZeroPoints = 5;
/// What is larger is so by one percent; a direction, which orders two designs, needs as much.
inline constexpr double kOrderShare = 0.01, kDirectionPoints = 1;

/// Of a claim that is no ordering. `measured` is in the claim's unit: changes in percent with their sign.
Finding judge(const PrintedClaim& claim, const Interval& measured);

/// A value for each item of the order.
using OrderValues = std::map<std::string, double>;
/// Every item must have a value.
Finding judge_order(const ClaimOrder& order, const OrderValues& values);

/// The worst of several: a claim about each workload holds if it does for all of them.
Finding worst(Finding a, Finding b);

}  // namespace terrace
