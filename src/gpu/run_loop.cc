// SPDX-License-Identifier: MIT
#include "gpu/run_loop.h"

#include <algorithm>
#include <utility>

#include "engine/archive.h"
#include "engine/check.h"

namespace terrace {

void RunLoop::run(const std::vector<Controller*>& controllers, const RunLimits& ends, Cycle save_at,
                  const std::function<Cycle()>& save, const std::function<void()>& observe) {
  next_save_ = save_at;
  // Often enough for an interrupt to be noticed and a limit of instructions to hold within a few percent.
  constexpr Cycle kStretch = 2048;
  if (!resumed_)
    for (Controller* controller : controllers) controller->act(now());
  while (!ends.reached()) {
    if (!std::exchange(resumed_, false)) {
      stretch_ends_ = now() + kStretch;
      // But for `ends`: a run that is resumed may have another end, and acts in the same cycles as one that always had it.
      for (const Controller* controller : controllers)
        if (controller != &ends) stretch_ends_ = std::min(stretch_ends_, controller->next(now()));
    }
    run_units(std::min(stretch_ends_, ends.next(now())), save);
    for (Controller* controller : controllers) controller->act(now());
    observe();
  }
}

/// Saves on the way. Controllers do not act then, so that they act when they would have acted.
void RunLoop::run_units(Cycle until, const std::function<Cycle()>& save) {
  while (next_save_ <= until) {
    if (next_save_ > now() && scheduler_.run(next_save_) != Scheduler::End::kLimit) return;
    next_save_ = save();
    SIM_CHECK(next_save_ > now(), "a run is saved twice in cycle {}", now());
  }
  if (now() < until) scheduler_.run(until);
}

void RunLoop::archive(Archive& a) {
  a(stretch_ends_);
  if (a.restores()) resumed_ = true;
}

}  // namespace terrace
