// A piece of hardware with a clock.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <iosfwd>
#include <string>
#include <utility>

#include "engine/types.h"

namespace terrace {

/// The events of one unit in a range of cycles (--log).
struct EventLog {
  Cycle from = 0, to = kNever;
  std::string text;
};

class Unit {
 public:
  virtual ~Unit() = default;

  /// Does the work of cycle `now`. Returns the cycle in which the unit wants to tick again, or kNever. It may be called
  /// in any cycle: a tick with nothing to do changes nothing. It affects other units only through links.
  virtual Cycle tick(Cycle now) = 0;

  /// Runs after every unit's tick of the cycle, for units that asked for it with Scheduler::defer: functional stores
  /// become visible here. Called in the order in which the units were added.
  virtual void commit(Cycle /*now*/) {}
  /// Whether commits of such units may run at once, on several threads. They do so behind those of all others.
  virtual bool commits_apart() const { return false; }

  /// Why am I waiting? One line for each thing, for the report of a deadlock; nothing when idle.
  virtual void explain(std::ostream&) const = 0;

  /// Writes this unit's events there from now on; null ends it.
  void log_to(EventLog* log) { log_ = log; }

 protected:
  /// One line of the log; costs a branch when logging is off.
  template <class... Args>
  void event(Cycle now, fmt::format_string<Args...> format, Args&&... args) {
    if (log_ != nullptr) [[unlikely]]
      write_event(now, format, std::forward<Args>(args)...);
  }
  /// For events that cost something before they are written.
  bool is_logged() const { return log_ != nullptr; }

 private:
  template <class... Args>
  [[gnu::cold, gnu::noinline]] void write_event(Cycle now, fmt::format_string<Args...> format, Args&&... args) {
    if (now < log_->from || now >= log_->to) return;
    log_->text += fmt::format("{:>10}  ", now) + fmt::format(format, std::forward<Args>(args)...) + '\n';
  }

  EventLog* log_ = nullptr;
};

}  // namespace terrace
