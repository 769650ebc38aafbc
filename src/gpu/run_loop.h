// Runs units and controllers in turn: asks all controllers for their next cycle, lets units run until the earliest one, or until a
// unit stops them, and lets all controllers act, in their order. Such a stretch of cycles may be saved in its middle, and a
// machine that was restored there goes on in the same stretch.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

#include "engine/scheduler.h"
#include "gpu/controller.h"
#include "gpu/controllers/run_limits.h"

namespace terrace {

class RunLoop {
 public:
  explicit RunLoop(Scheduler& scheduler) : scheduler_(scheduler) {}

  /// Until `ends`, one of the controllers, has been reached. Before cycle `save_at` it calls `save`, which may archive the machine
  /// and says when next; after each stretch it calls `observe`.
  void run(const std::vector<Controller*>& controllers, const RunLimits& ends, Cycle save_at,
           const std::function<Cycle()>& save, const std::function<void()>& observe);
  void archive(Archive& a);

 private:
  Cycle now() const { return scheduler_.now(); }
  void run_units(Cycle until, const std::function<Cycle()>& save);

  Scheduler& scheduler_;
  Cycle stretch_ends_ = 0;  // when controllers act next, unless the run ends before or a unit stops it
  bool resumed_ = false;    // the run goes on in the middle of a stretch
  Cycle next_save_ = kNever;
};

}  // namespace terrace
