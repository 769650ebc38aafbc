// SPDX-License-Identifier: MIT
#include "translation/walk_blame.h"

#include "engine/check.h"

namespace terrace {

void WalkBlame::enable(u32 tenants, u32 lanes, u32 memory_lanes, u32 walkers, const WalkScheduler& scheduler) {
  lanes_ = lanes;
  const u32 groups = scheduler.owner(0) ? tenants : 1;
  Blame::enable(tenants,
                {{"intake", "requests wait to be accepted; holders: requests accepted in the same cycle"},
                 {"places", "requests wait for an entry in a walk queue; holders: queued walks"},
                 {"walkers", "walks wait for a walker; holders: walks in service"},
                 {"reads", "page-table reads wait to leave the MMU; holder: the read that left last"}},
                2 * lanes + groups + memory_lanes);
  intake_ = holders();
  queued_.assign(groups, holders());
  serving_.assign(groups, holders());
  sent_.assign(memory_lanes, holders());
  in_queues_.assign(tenants, {});
  group_of_walker_.resize(walkers);
  for (u32 i = 0; i < lanes; ++i) {
    wait_for_intake(i);
    waits_for(looked_up(i), kPlaces, queued_[0]);
  }
  for (u32 i = 0; i < groups; ++i) waits_for(in_queue(i), kWalkers, serving_[i]);
  for (u32 i = 0; i < memory_lanes; ++i) waits_for(unsent(i), kReads, sent_[i]);
  divide(scheduler, 0);
}

void WalkBlame::divide(const WalkScheduler& scheduler, Cycle now) {
  std::vector<u32> walkers(groups(), 0);
  for (u32 i = 0; i < group_of_walker_.size(); ++i) {
    const std::optional<TenantId> owner = scheduler.owner(i);
    ++walkers[group_of_walker_[i] = owner ? group_of(*owner) : 0];
  }
  for (u32 i = 0; i < groups(); ++i) serving_[i].reset(walkers[i], now);
}

void WalkBlame::wait_for_place(u32 lane, TenantId first, bool full) {
  Holders& holding = queued_[group_of(first)];
  waits_for(looked_up(lane), kPlaces, holding);
  if (full)
    waits_for(in_front(lane), kPlaces, holding);
  else
    wait_for_intake(lane);
}

void WalkBlame::queued(const Walk& walk, Cycle now) {
  if (!on()) return;
  queued_[group_of(walk.tenant)].add(walk.tenant, now);
  InQueues& its = in_queues_[index(walk.tenant)];
  ++its.walks;
  its.since += walk.arrived;
  arrive(in_queue(group_of(walk.tenant)), walk.tenant);
}

void WalkBlame::left_queue(const Walk& walk, Cycle now) {
  if (!on()) return;
  queued_[group_of(walk.tenant)].remove(walk.tenant, now);
  InQueues& its = in_queues_[index(walk.tenant)];
  --its.walks;
  its.since -= walk.arrived;
  depart(in_queue(group_of(walk.tenant)), walk.tenant, walk.arrived);
}

void WalkBlame::visit_queued(Cycle now, u32 waiting, const Waiting& waits) const {
  u64 all = 0;
  for (u32 tenant = 0; tenant < in_queues_.size(); ++tenant) {
    const u64 walks = in_queues_[tenant].walks, cycles = walks * now - in_queues_[tenant].since;
    SIM_CHECK(walks > 0 || cycles == 0, "no walk of tenant {} is queued, and yet {} cycles of waiting", tenant, cycles);
    for (u64 i = 0; i < walks; ++i) waits(TenantId(tenant), i == 0 ? now - cycles : now);
    all += walks;
  }
  SIM_CHECK(all == waiting, "{} walks are said to be queued, and {} are", all, waiting);
}

void WalkBlame::started(u32 walker, const Walk& walk, Cycle now) {
  if (!on()) return;
  serving_[group_of_walker_[walker]].take(walk.tenant, now);
}

void WalkBlame::ended(u32 walker, const Walk& walk, Cycle now) {
  if (!on()) return;
  serving_[group_of_walker_[walker]].give_back(walk.tenant, now);
}

void WalkBlame::read_sent(u32 lane, TenantId tenant, Cycle since, Cycle now) {
  if (!on()) return;
  leave(unsent(lane), tenant, since);
  sent_[lane].only(tenant, now);
}

}  // namespace terrace
