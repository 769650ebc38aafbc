// SPDX-License-Identifier: MIT
#include "support/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace terrace {
namespace {

/// What every comparison refuses, or an empty string.
std::string nothing_compared(std::string_view what, u64 compared, u64 nonzero) {
  if (compared == 0) return fmt::format("{}: nothing to compare", what);
  if (nonzero == 0) return fmt::format("{}: all {} values are zero", what, compared);
  return {};
}

}  // namespace

void RelativeCheck::compare(u64 index, double got, double want) {
  ++compared_;
  if (got != 0) ++nonzero_;
  const double scale = std::max(std::fabs(want), floor_);
  double error = got == want ? 0 : std::fabs(got - want) / scale;
  if (std::isnan(error)) error = HUGE_VAL;  // NaN compares as smaller than anything: it must not hide
  if (error <= worst_ && compared_ > 1) return;
  worst_ = error;
  worst_index_ = index;
  worst_got_ = got;
  worst_want_ = want;
}

CheckResult RelativeCheck::result() const {
  if (auto refusal = nothing_compared(what_, compared_, nonzero_); !refusal.empty()) return {false, refusal};
  if (worst_ <= tolerance_) {
    return {true, fmt::format("{}: {} values, relative error at most {:.2g} (allowed {:.0e})", what_, compared_, worst_,
                              tolerance_)};
  }
  return {false, fmt::format("{}[{}] is {:.9g} and should be {:.9g} (relative error {:.2g}, allowed {:.0e})", what_,
                             worst_index_, worst_got_, worst_want_, worst_, tolerance_)};
}

void NormCheck::compare(double got, double want) {
  ++compared_;
  if (got != 0) ++nonzero_;
  difference_ += std::fabs(got - want);
  norm_ += std::fabs(want);
}

CheckResult NormCheck::result() const {
  if (auto refusal = nothing_compared(what_, compared_, nonzero_); !refusal.empty()) return {false, refusal};
  const double error = difference_ / norm_;
  return {error <= tolerance_, fmt::format("{}: {} values, error of the L1 norm {:.2g} (allowed {:.0e})", what_,
                                           compared_, error, tolerance_)};
}

void ExactCheck::compare(u64 index, i64 got, i64 want) {
  ++compared_;
  if (got != 0) ++nonzero_;
  if (got == want || wrong_++ > 0) return;
  first_wrong_ = index;
  first_got_ = got;
  first_want_ = want;
}

CheckResult ExactCheck::result() const {
  if (auto refusal = nothing_compared(what_, compared_, nonzero_); !refusal.empty()) return {false, refusal};
  if (wrong_ == 0) return {true, fmt::format("{}: {} values, all equal", what_, compared_)};
  return {false, fmt::format("{}[{}] is {} and should be {}; {} of {} values are wrong", what_, first_wrong_,
                             first_got_, first_want_, wrong_, compared_)};
}

CheckResult both(const CheckResult& first, const CheckResult& second) {
  return {first.passed && second.passed, first.message + "; " + second.message};
}

}  // namespace terrace
