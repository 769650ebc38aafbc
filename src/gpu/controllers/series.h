// Keeps statistics over time (run.stats_every): by how much each grew in every interval, independent of epochs. It asks
// for no cycle of its own: a run stops between cycles at least every 2,048 anyhow, and a run that is watched stops where one
// that is not watched does. So an interval may end a little late; where each ended is kept.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <utility>

#include "engine/archive.h"
#include "gpu/controller.h"
#include "stats/summed_series.h"

namespace terrace {

class Series final : public Controller {
 public:
  /// `settle` closes the statistics of all units.
  Series(const StatTree& stats, Cycle every, std::function<void()> settle)
      : series_(stats, every), settle_(std::move(settle)) {}

  Cycle next(Cycle) const override { return kNever; }
  void act(Cycle now) override {
    if (now >= series_.due()) take(now);
  }
  void archive(Archive& a) override { a(series_); }

  /// What was kept, the interval that the end of the run cuts short included.
  Tree json(Cycle now) {
    if (now != 0) take(now);
    return series_.json();
  }

 private:
  void take(Cycle now) {
    settle_();
    series_.sample(now);
  }

  SummedSeries series_;
  std::function<void()> settle_;
};

}  // namespace terrace
