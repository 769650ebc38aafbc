// Statistics over time: at the end of each epoch, how much every counter grew in it. Records have one size, so a series
// is one block of numbers. It is sampled between cycles, outside units, and changes nothing it samples.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "engine/types.h"
#include "stats/stat_tree.h"

namespace terrace {

class EpochSeries {
 public:
  /// Only statistics whose names begin with one of the prefixes are kept; all of them when there is none.
  explicit EpochSeries(const StatTree& tree, std::vector<std::string> prefixes = {});

  void sample(Cycle now);

  std::size_t epochs() const { return ends_.size(); }
  /// One line per epoch, one column per statistic: cycle,gpu.mmu.walks{tenant=0},...
  std::string csv() const;

 private:
  const StatTree& tree_;
  std::vector<std::string> names_;
  std::vector<std::size_t> columns_;  // where they stand in a snapshot
  std::vector<u64> last_;
  std::vector<Cycle> ends_;
  std::vector<u64> records_;
};

}  // namespace terrace
