// What happens between cycles (launches, arrivals, turns, faults, epochs, limits) is done by controllers, one for each
// concern. A controller has state and statistics of its own and refers only to what it needs. The GPU composes them:
// its run loop asks each when it next wants to act, lets units run until then, and lets all act in a stated order.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/types.h"

namespace terrace {

class Archive;
class StatTree;

class Controller {
 public:
  virtual ~Controller() = default;

  /// The next cycle, after `now`, before which it must act; kNever when only what units do can give it cause. A unit
  /// that gives cause stops the run. Asked before each stretch of cycles. A cycle in which nobody ticks is not reached:
  /// a controller that must act then wakes a unit.
  virtual Cycle next(Cycle now) const = 0;
  /// Acts before cycle `now`. Called at the end of every stretch, whoever asked for it: with nothing to do it changes
  /// nothing.
  virtual void act(Cycle now) = 0;

  /// What changes while it runs, but for its statistics (engine/archive.h); `{}` when nothing does. What the next `act` sees must
  /// be the same in a run that was resumed.
  virtual void archive(Archive& a) = 0;

  /// Adds its statistics, when it has some.
  virtual void describe(StatTree&) {}
  /// Closes statistics that run over cycles.
  virtual void settle(Cycle /*now*/) {}
};

}  // namespace terrace
