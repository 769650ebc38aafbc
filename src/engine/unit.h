// A piece of hardware with a clock.
// SPDX-License-Identifier: MIT
#pragma once

#include <iosfwd>

#include "engine/types.h"

namespace terrace {

class Unit {
 public:
  virtual ~Unit() = default;

  /// Does the work of cycle `now` and returns when the unit itself wants to run again, or kNever. It may be called in
  /// any cycle: a tick with nothing to do changes nothing. It may touch other units only through links and bulletins.
  virtual Cycle tick(Cycle now) = 0;

  /// Runs after every unit's tick of the cycle, for units that asked for it with Scheduler::defer: functional stores
  /// become visible here. Called in the order in which the units were added.
  virtual void commit(Cycle /*now*/) {}

  /// Why am I waiting? One line for each thing, for the report of a deadlock; nothing when idle.
  virtual void explain(std::ostream&) const = 0;
};

}  // namespace terrace
