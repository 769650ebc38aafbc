// SPDX-License-Identifier: MIT
#include "translation/walk_queues.h"

#include "engine/check.h"

namespace terrace {

WalkQueues::WalkQueues(std::unique_ptr<WalkScheduler> scheduler, u32 walkers)
    : scheduler_(std::move(scheduler)), idle_(walkers), serves_(walkers), entries_(1) {
  for (u32 i = 0; i < walkers; ++i) idle_.insert(i);
}

i32 WalkQueues::place(const Walk& walk, Cycle now) {
  const i32 walker = scheduler_->place(walk, idle_, now);
  if (counted() && walker == WalkScheduler::kQueued) [[unlikely]] {
    entries(walk.tenant).add(walk.tenant);
    Queued& its = queued_[index(walk.tenant)];
    ++its.walks;
    its.since += walk.arrived;
    blame_->enter(waiting_[group_of(walk.tenant)], walk.tenant, walk.arrived);
  }
  return walker;
}

std::optional<Walk> WalkQueues::next(u32 walker, Cycle now) {
  const std::optional<Walk> walk = scheduler_->next(walker, now);
  if (counted() && walk) [[unlikely]] {
    entries(walk->tenant).remove(walk->tenant);
    Queued& its = queued_[index(walk->tenant)];
    --its.walks;
    its.since -= walk->arrived;
    blame_->leave(waiting_[group_of(walk->tenant)], walk->tenant, walk->arrived);
  }
  return walk;
}

void WalkQueues::start(u32 walker, TenantId tenant) {
  SIM_DCHECK(is_idle(walker), "walker {} was given a walk while it has one", walker);
  idle_.erase(walker);
  ++busy_;
  serves_[walker] = tenant;
  if (counted()) [[unlikely]]
    serving_[group_of_walker(walker)].take(tenant);
}

void WalkQueues::end(u32 walker) {
  idle_.insert(walker);
  --busy_;
  if (counted()) [[unlikely]]
    serving_[group_of_walker(walker)].give_back(serves_[walker]);
}

void WalkQueues::divide_among(const std::vector<TenantId>& tenants) {
  scheduler_->divide_among(tenants);
  if (counted()) count_walkers();
}

void WalkQueues::keep(Blame& blame) {
  blame_ = &blame;
  blame.keep(*this);
  const u32 groups = scheduler_->owner(0) ? blame.tenants() : 1;
  entries_.resize(groups);
  serving_.resize(groups);
  queued_.resize(blame.tenants());
  for (Resource& entries : entries_)
    blame.count(entries, "places", "requests wait for an entry in a walk queue; holders: queued walks");
  for (Resource& serving : serving_) {
    blame.count(serving, "walkers", "walks wait for a walker; holders: walks in service");
    waiting_.push_back(blame.add_group(serving));
  }
  count_walkers();
}

u32 WalkQueues::group_of_walker(u32 walker) const {
  const std::optional<TenantId> owner = scheduler_->owner(walker);
  return owner ? group_of(*owner) : 0;
}

void WalkQueues::count_walkers() {
  std::vector<u32> walkers(serving_.size(), 0);
  for (u32 i = 0; i < this->walkers(); ++i) ++walkers[group_of_walker(i)];
  for (u32 i = 0; i < serving_.size(); ++i) serving_[i].reset(walkers[i]);
  for (u32 i = 0; i < this->walkers(); ++i) {
    if (!is_idle(i)) serving_[group_of_walker(i)].take(serves_[i]);
  }
}

/// As many walks and as many cycles for each tenant as there are.
void WalkQueues::visit(Cycle now, const Waiting& waits) const {
  u64 all = 0;
  for (u32 tenant = 0; tenant < queued_.size(); ++tenant) {
    const u64 walks = queued_[tenant].walks, cycles = walks * now - queued_[tenant].since;
    SIM_CHECK(walks > 0 || cycles == 0, "no walk of tenant {} is queued, and yet {} cycles of waiting", tenant, cycles);
    for (u64 i = 0; i < walks; ++i) waits(TenantId(tenant), i == 0 ? now - cycles : now);
    all += walks;
  }
  SIM_CHECK(all == waiting(), "{} walks are said to be queued, and {} are", all, waiting());
}

}  // namespace terrace
