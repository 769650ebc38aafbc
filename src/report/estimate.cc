// SPDX-License-Identifier: MIT
#include "report/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace terrace {

namespace {

/// About four significant digits.
std::string number_text(double value) {
  const double size = std::fabs(value);
  constexpr double kExact = 9e15;  // whole numbers below are exact in a double
  if (size < kExact && value == static_cast<double>(static_cast<i64>(value)))
    return fmt::format("{}", static_cast<i64>(value));
  return size >= 1000 ? fmt::format("{:.0f}", value)
         : size >= 10 ? fmt::format("{:.1f}", value)
                      : fmt::format("{:.3f}", value);
}

/// Two digits of the half-width that are not leading zeros, and the mean as far as that.
std::string interval_text(const Interval& interval) {
  if (!(interval.half_width > 0)) return number_text(interval.mean) + " ± 0";
  constexpr int kMostDecimals = 6;
  int decimals = 0;
  for (double half = interval.half_width; half < 9.95 && decimals < kMostDecimals; half *= 10) ++decimals;
  return fmt::format("{:.{}f} ± {:.{}f}", interval.mean, decimals, interval.half_width, decimals);
}

const char* verdict_text(const Estimate& estimate) {
  return estimate.noise() ? "within noise" : estimate.value.mean != 0 ? "holds" : "fails";
}

}  // namespace

Estimates estimates_of(const Values& values, std::span<const std::string> shown, std::optional<double> neutral) {
  const bool apart = std::find(shown.begin(), shown.end(), kSeedLabel) != shown.end();
  const GroupedValues groups = group_over(apart ? "" : kSeedLabel, values);
  Estimates estimates{groups.labels, {}};
  for (const auto& [key, numbers] : groups.rows) {
    Estimate& estimate = estimates.rows[key];
    estimate.value = interval_of(numbers);
    if (const auto verdict = values.verdicts.find(key); verdict != values.verdicts.end()) {
      estimate.verdict = true;
      estimate.value.count = verdict->second.seeds;
      estimate.within_noise = verdict->second.within_noise;
    } else if (neutral && estimate.value.known()) {
      estimate.within_noise = estimate.value.holds(*neutral);
    }
  }
  return estimates;
}

std::string cell_text(const Estimate& estimate) {
  if (estimate.verdict) return verdict_text(estimate);
  if (!estimate.value.known()) return number_text(estimate.value.mean);
  return (estimate.noise() ? "≈ " : "") + interval_text(estimate.value);
}

std::string claim_text(const Estimate& estimate) {
  if (!estimate.value.known()) return fmt::format("{}", estimate.value.mean);
  return fmt::format("{} ({} seeds)", cell_text(estimate), estimate.value.count);
}

std::vector<std::string> sign_notes(u64 seeds, bool any_noise) {
  std::vector<std::string> notes;
  if (seeds > 1) notes.push_back(fmt::format("±: half of the 95 % interval of the mean over {} seeds.", seeds));
  if (any_noise) notes.push_back("≈: within noise; the interval holds the value that means no difference.");
  return notes;
}

}  // namespace terrace
