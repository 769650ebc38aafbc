// What is shown of an expression's values: over several seeds a mean with its interval, or a verdict on a comparison;
// over one seed the number itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sweep/expression.h"
#include "sweep/interval.h"

namespace terrace {

struct Estimate {
  Interval value;
  bool verdict = false;              // the value is 1 or 0: whether a comparison holds beyond its interval
  std::optional<bool> within_noise;  // empty: there is one seed, or no neutral value is given

  bool noise() const { return within_noise.value_or(false); }
};

struct Estimates {
  std::vector<std::string> labels;
  std::map<std::vector<std::string>, Estimate> rows;
  bool scalar() const { return labels.empty(); }
};

/// Takes the seeds of each value together, unless the seed is among the labels that are `shown`. `neutral` is the value
/// that means no difference.
Estimates estimates_of(const Values& values, std::span<const std::string> shown, std::optional<double> neutral);

/// For a cell: "12.3", "12.3 ± 1.4", "≈ 1.2 ± 2.0", "holds", "fails", "within noise".
std::string cell_text(const Estimate& estimate);
/// By itself, with all digits of a single run's number: "12.3 ± 1.4 (5 seeds)".
std::string claim_text(const Estimate& estimate);

/// What the signs in cells mean, a sentence each; nothing when there are none. `seeds` is how many there are at most.
std::vector<std::string> sign_notes(u64 seeds, bool any_noise);

}  // namespace terrace
