// Which statistics of two results differ, and by how much.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "text/tree.h"

namespace terrace {

struct Difference {
  std::string name;
  std::string a, b;     // as written; "-" where the result does not have it
  double change = 0;    // (b - a) / |a|; infinite when a is zero or one side is missing
  std::string percent;  // "+12.5 %", "new", "gone"
};

struct ResultDiff {
  std::vector<Difference> config;  // in the order of the configuration
  std::vector<Difference> stats;   // the largest relative change first, then by name
};

/// `a` and `b` are results of terrace run. Host times and rates are not compared: they differ between any two runs.
ResultDiff diff_results(const Tree& a, const Tree& b);

std::string diff_text(const ResultDiff& diff, const std::string& name_a, const std::string& name_b);

}  // namespace terrace
