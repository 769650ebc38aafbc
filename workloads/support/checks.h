// Comparisons of results with a reference, for the checks of the workloads. Each says in one sentence what was compared
// and how far it agrees. No comparison passes on nothing: no values at all, or only zeros, is a failure.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include "engine/types.h"
#include "frontend/program.h"

namespace terrace {

/// Floating point against a reference in double. The error of a value is relative to the reference, or to `floor` where
/// the reference is smaller (sums that cancel).
class RelativeCheck {
 public:
  RelativeCheck(std::string_view what, double tolerance, double floor = 0)
      : what_(what), tolerance_(tolerance), floor_(floor) {}
  void compare(u64 index, double got, double want);
  CheckResult result() const;

 private:
  std::string what_;
  double tolerance_, floor_;
  double worst_ = 0, worst_got_ = 0, worst_want_ = 0;
  u64 worst_index_ = 0, compared_ = 0, nonzero_ = 0;
};

/// The error of the whole array: the L1 norm of the difference over the L1 norm of the reference.
class NormCheck {
 public:
  NormCheck(std::string_view what, double tolerance) : what_(what), tolerance_(tolerance) {}
  void compare(double got, double want);
  CheckResult result() const;

 private:
  std::string what_;
  double tolerance_;
  double difference_ = 0, norm_ = 0;
  u64 compared_ = 0, nonzero_ = 0;
};

/// Whole numbers, which must be equal.
class ExactCheck {
 public:
  explicit ExactCheck(std::string_view what) : what_(what) {}
  void compare(u64 index, i64 got, i64 want);
  CheckResult result() const;

 private:
  std::string what_;
  u64 compared_ = 0, nonzero_ = 0, wrong_ = 0, first_wrong_ = 0;
  i64 first_got_ = 0, first_want_ = 0;
};

/// Both must pass; the messages are joined.
CheckResult both(const CheckResult& first, const CheckResult& second);

}  // namespace terrace
