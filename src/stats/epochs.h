// Statistics over time: at the end of each epoch, how much every counter grew in it. Records have one size, so a series
// is one block of numbers. It is sampled between cycles, outside units, and changes nothing it samples.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/types.h"
#include "stats/stat_tree.h"

namespace terrace {

class Archive;

class EpochSeries {
 public:
  /// Only statistics whose names begin with one of the prefixes are kept; all of them when there is none.
  explicit EpochSeries(const StatTree& tree, std::vector<std::string> prefixes = {});

  void sample(Cycle now);

  std::size_t epochs() const { return ends_.size(); }
  /// One line per epoch, one column per statistic: cycle,gpu.mmu.walks{tenant=0},... Ratios of derived statistics, such
  /// as watts, come behind them: of what grew in the epoch. `notes` gives the words of a last column: what happened from
  /// one cycle to another.
  using Notes = std::function<std::string(Cycle from, Cycle to)>;
  std::string csv(const Notes& notes = {}) const;

  void archive(Archive& a);

 private:
  const StatTree& tree_;
  std::vector<std::string> names_;
  std::vector<std::size_t> columns_;  // where they stand in a snapshot
  std::vector<u64> last_;
  std::vector<Cycle> ends_;
  std::vector<u64> records_;
  struct Ratio {
    StatRatio of;
    u64 above = 0, below = 0;  // when the last epoch ended
    std::vector<double> records = {};
  };
  std::vector<Ratio> ratios_;
};

}  // namespace terrace
