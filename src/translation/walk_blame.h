// Which tenant's walks wait for which tenant: in front of the MMU, for a place in a queue, for a walker, and for the
// way to memory. Where walkers have owners, a walk waits for those of its own tenant only: the others may take it, but
// owe it nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "stats/blame.h"
#include "translation/walk_scheduler.h"

namespace terrace {

class WalkBlame : public Blame {
 public:
  void enable(u32 tenants, u32 lanes, u32 memory_lanes, u32 walkers, const WalkScheduler& scheduler);
  /// Owners of walkers have changed, between cycles. Walkers count as idle: then `started` for each that is not.
  void divide(const WalkScheduler& scheduler, Cycle now);

  // Rooms: by lane, what has arrived in front of the MMU and what has been looked up; by group, walks in queues; by
  // lane of the memory, reads that have not left.
  Room in_front(u32 lane) const { return lane; }
  Room looked_up(u32 lane) const { return lanes_ + lane; }
  Room unsent(u32 lane) const { return 2 * lanes_ + groups() + lane; }

  /// In this tick so many requests can be taken in.
  void begin_intake(u32 rate, Cycle now) { intake_.reset(rate, now); }
  void taken_in(TenantId tenant, Cycle now) { intake_.take(tenant, now); }
  void wait_for_intake(u32 lane) { waits_for(in_front(lane), kIntake, intake_); }
  /// The first that was looked up finds no place; `full`: nor do more of the lane get as far as that.
  void wait_for_place(u32 lane, TenantId first, bool full);

  void queued(const Walk& walk, Cycle now);
  void left_queue(const Walk& walk, Cycle now);
  /// Schedulers do not show what waits in them: this tells of as many walks and as many cycles for each tenant.
  void visit_queued(Cycle now, u32 waiting, const Waiting& waits) const;
  void started(u32 walker, const Walk& walk, Cycle now);
  void ended(u32 walker, const Walk& walk, Cycle now);
  void read_sent(u32 lane, TenantId tenant, Cycle since, Cycle now);

 private:
  enum Cause : u32 { kIntake, kPlaces, kWalkers, kReads };

  Room in_queue(u32 group) const { return 2 * lanes_ + group; }
  u32 groups() const { return static_cast<u32>(queued_.size()); }
  /// Tenants that share all queues and walkers are one group; where walkers have owners each is its own.
  u32 group_of(TenantId tenant) const { return groups() == 1 ? 0 : index(tenant); }

  u32 lanes_ = 0;
  Holders intake_;
  std::vector<Holders> queued_, serving_;  // by group: places in queues, walkers
  std::vector<Holders> sent_;              // by lane of the memory: whose read left last
  std::vector<u32> group_of_walker_;
  struct InQueues {
    u64 walks = 0, since = 0;  // how many, and their cycles of arrival summed
  };
  std::vector<InQueues> in_queues_;  // by tenant
};

}  // namespace terrace
