// How sure a mean over seeds is: its 95 % confidence interval by Student's t, the only place where one is computed.
// Runs that differ by their seed alone are taken as independent and normally distributed.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "engine/types.h"

namespace terrace {

/// A mean with the half-width of its interval.
struct Interval {
  double mean = 0;
  double half_width = 0;
  u64 count = 1;  // one value says nothing about its spread: then there is no interval

  bool known() const { return count > 1; }
  /// Whether the value may be the true mean for all that is known.
  bool holds(double value) const;
};

/// Of one value or more. It does not depend on their order.
Interval interval_of(std::vector<double> values);

/// Which multiple of the standard error is the half-width: 97.5 % of Student's distribution with that many degrees of
/// freedom lie below it.
double student_t(u64 degrees);

}  // namespace terrace
