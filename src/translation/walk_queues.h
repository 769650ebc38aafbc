// Walkers and the queues in front of them, as the walk scheduler orders them.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "blame/served_queues.h"
#include "translation/walk_scheduler.h"

namespace terrace {

class WalkQueues {
 public:
  WalkQueues(std::unique_ptr<WalkScheduler> scheduler, u32 walkers);

  /// What the scheduler answers (walk_scheduler.h). A walker that it names is started by the caller.
  i32 place(const Walk& walk, Cycle now);
  /// The next walk of an idle walker, out of a queue; the caller starts it.
  std::optional<Walk> next(u32 walker, Cycle now);
  void start(u32 walker, TenantId tenant);
  void end(u32 walker);
  /// Who shares the walkers from now on.
  void divide_among(const std::vector<TenantId>& tenants);

  u32 walkers() const { return static_cast<u32>(serves_.size()); }
  bool is_idle(u32 walker) const { return idle_.contains(walker); }
  u32 busy() const { return busy_; }
  u32 waiting() const { return scheduler_->waiting(); }
  WalkScheduler& scheduler() const { return *scheduler_; }

  /// Entries of the queues that a walk of this tenant may use.
  Resource& entries(TenantId tenant) { return waits_.entries(tenant); }
  /// From now on: who waits for whom.
  void keep(Blame& blame);

  void archive(Archive& a) { a(*scheduler_, idle_, busy_, serves_, waits_); }

 private:
  ServedQueues::Servers servers() const;

  std::unique_ptr<WalkScheduler> scheduler_;
  WalkerSet idle_;
  u32 busy_ = 0;
  std::vector<TenantId> serves_;  // by walker, unless it is idle
  ServedQueues waits_;
};

}  // namespace terrace
