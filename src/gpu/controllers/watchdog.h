// A run that makes no progress ends with what every unit waits for: at once when nobody is due any more, and after
// run.livelock_cycles without an instruction.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "engine/archive.h"
#include "engine/scheduler.h"
#include "gpu/controller.h"
#include "gpu/tenant_table.h"
#include "tenancy/block_dispatcher.h"

namespace terrace {

class Watchdog final : public Controller {
 public:
  Watchdog(Cycle patience, const Scheduler& scheduler, const TenantTable& tenants, const BlockDispatcher& dispatcher)
      : patience_(patience), scheduler_(scheduler), tenants_(tenants), dispatcher_(dispatcher) {}

  Cycle next(Cycle) const override { return kNever; }
  /// Throws Deadlock.
  void act(Cycle now) override;
  void archive(Archive& a) override { a(last_issued_, last_issue_); }

 private:
  u64 total_issued() const;
  bool all_wait_for_an_arrival(Cycle now) const;
  [[noreturn]] void give_up(const std::string& why) const;

  const Cycle patience_;
  const Scheduler& scheduler_;
  const TenantTable& tenants_;
  const BlockDispatcher& dispatcher_;
  u64 last_issued_ = 0;
  Cycle last_issue_ = 0;
};

}  // namespace terrace
