// Statistics over time in a form that is small enough to keep for every run: how much each counter grew in each interval,
// summed over all units of a kind ("gpu.sm.*.warp_instructions{tenant=0}"). It is sampled between cycles and changes
// nothing that it samples. There are never more than kMostIntervals intervals: when they are full, each two neighbours become one.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "engine/types.h"
#include "stats/stat_tree.h"
#include "text/tree.h"

namespace terrace {

class Archive;

class SummedSeries {
 public:
  /// Chosen: more points than a chart on a wide screen has room for.
  static constexpr std::size_t kMostIntervals = 1024;

  SummedSeries(const StatTree& tree, Cycle every);

  /// When the next sample is due.
  Cycle due() const { return due_; }
  /// The interval ends before cycle `now`.
  void sample(Cycle now);

  std::size_t intervals() const { return ends_.size(); }
  /// {"every": N, "ends": [...], "series": {name: [...], ...}}. Series that never grew are left out. `every` is what was
  /// asked for, or what it became after neighbours were joined; the run's end cuts the last interval short.
  Tree json() const;

  void archive(Archive& a);

 private:
  void halve();

  const StatTree& tree_;
  Cycle every_, due_;
  std::vector<std::string> names_;
  std::vector<std::size_t> cells_;   // of a snapshot, those that are kept
  std::vector<std::size_t> series_;  // the series to which each of them belongs
  std::vector<u64> last_;            // of each series, at the end of the last interval
  std::vector<Cycle> ends_;
  std::vector<u64> records_;  // by interval, then by series
};

}  // namespace terrace
