// The power of a run: for the result file and as a table. Average over the run, without its warm-up.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "stats/stat_tree.h"
#include "text/tree.h"

namespace terrace {

class PowerSummary {
 public:
  /// Empty when the machine has no power model.
  explicit PowerSummary(const StatTree& stats);

  bool empty() const { return picoseconds_ == 0; }
  /// {"watts", "joules", "seconds", "tenant_joules": [...], "nobody_joules", "components": {"sm_static": {"watts",
  /// "joules"}, ...}}
  Tree json() const;
  /// A line with the average, and a table by component.
  std::string text(const std::vector<std::string>& tenants) const;

 private:
  struct Line {
    std::string_view name, group;
    std::vector<u64> of_tenants;  // pJ; empty: nobody's
    u64 nobody = 0;
    u64 total() const;
  };
  double watts(u64 picojoules) const;
  u64 of(u32 tenant) const;
  u64 of_nobody() const;
  u64 total() const;

  u32 tenants_;
  u64 picoseconds_ = 0;
  std::vector<Line> lines_;  // one for each part
};

}  // namespace terrace
