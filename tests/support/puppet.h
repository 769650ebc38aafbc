// A unit that does what a test tells it.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "engine/unit.h"

namespace terrace {

class Puppet final : public Unit {
 public:
  std::function<Cycle(Cycle)> on_tick = [](Cycle) { return kNever; };
  std::function<void(Cycle)> on_commit = [](Cycle) {};
  Cycle tick(Cycle now) override {
    ticked.push_back(now);
    return on_tick(now);
  }
  void commit(Cycle now) override { on_commit(now); }
  void explain(std::ostream& out) const override {
    if (!waits_for.empty()) out << waits_for << '\n';
  }
  std::vector<Cycle> ticked;
  std::string waits_for;
};

}  // namespace terrace
