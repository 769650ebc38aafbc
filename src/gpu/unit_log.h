// The events of one unit in a range of cycles, as the user asks for them: --log UNIT@FROM:TO.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>

#include "engine/archive.h"
#include "engine/scheduler.h"
#include "engine/unit.h"

namespace terrace {

class UnitLog {
 public:
  /// Before the run. What is no such range, or names no unit, is the user's error.
  void keep(const std::string& spec, Scheduler& units);
  /// What was kept; after the run.
  std::string take() { return std::exchange(log_.text, {}); }
  void archive(Archive& a) { a(log_.text); }

 private:
  EventLog log_;
};

}  // namespace terrace
