// Statistics leave out the first cycles of a run (run.warmup).
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <utility>

#include "gpu/controller.h"
#include "stats/stat_tree.h"

namespace terrace {

class Warmup final : public Controller {
 public:
  /// `settle` closes the statistics of all units.
  Warmup(Cycle cycles, StatTree& stats, std::function<void()> settle)
      : cycles_(cycles), stats_(stats), settle_(std::move(settle)) {}

  Cycle next(Cycle now) const override { return now < cycles_ ? cycles_ : kNever; }
  void act(Cycle now) override {
    if (cycles_ == 0 || now != cycles_) return;
    settle_();
    stats_.mark_start();
  }
  void archive(Archive&) override {}

 private:
  const Cycle cycles_;
  StatTree& stats_;
  std::function<void()> settle_;
};

}  // namespace terrace
