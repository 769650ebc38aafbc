// Walkers and the queues in front of them, as the walk scheduler orders them, and who holds both. Where walkers have
// owners, a walk waits for those of its own tenant only: the others may take it, but owe it nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "blame/blame.h"
#include "translation/walk_scheduler.h"

namespace terrace {

class WalkQueues : public WaitBook {
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
  Resource& entries(TenantId tenant) { return entries_[group_of(tenant)]; }
  /// Books are kept from now on.
  void keep(Blame& blame);

  void archive(Archive& a) { a(*scheduler_, idle_, busy_, serves_, entries_, serving_, queued_); }

 private:
  /// Tenants that share all queues and walkers are one group; where walkers have owners each is its own.
  u32 group_of(TenantId tenant) const { return entries_.size() == 1 ? 0 : index(tenant); }
  u32 group_of_walker(u32 walker) const;
  void count_walkers();
  void enter_late(Cycle) override {}
  void visit(Cycle now, const Waiting& waits) const override;

  std::unique_ptr<WalkScheduler> scheduler_;
  WalkerSet idle_;
  u32 busy_ = 0;
  std::vector<TenantId> serves_;             // by walker, unless it is idle
  std::vector<Resource> entries_, serving_;  // by group
  std::vector<Blame::Group> waiting_;        // likewise: walks in queues
  // Schedulers do not show what waits in them. By tenant: how many, and their cycles of arrival summed.
  struct Queued {
    u64 walks = 0, since = 0;
  };
  std::vector<Queued> queued_;
};

}  // namespace terrace
