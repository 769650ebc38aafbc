// SPDX-License-Identifier: MIT
#include "translation/walk_queues.h"

#include "engine/check.h"

namespace terrace {

WalkQueues::WalkQueues(std::unique_ptr<WalkScheduler> scheduler, u32 walkers)
    : scheduler_(std::move(scheduler)), idle_(walkers), serves_(walkers) {
  for (u32 i = 0; i < walkers; ++i) idle_.insert(i);
}

i32 WalkQueues::place(const Walk& walk, Cycle now) {
  const i32 walker = scheduler_->place(walk, idle_, now);
  if (walker == WalkScheduler::kQueued) waits_.enter(walk.tenant, walk.arrived);
  return walker;
}

std::optional<Walk> WalkQueues::next(u32 walker, Cycle now) {
  const std::optional<Walk> walk = scheduler_->next(walker, now);
  if (walk) waits_.leave(walk->tenant, walk->arrived);
  return walk;
}

void WalkQueues::start(u32 walker, TenantId tenant) {
  SIM_DCHECK(is_idle(walker), "walker {} was given a walk while it has one", walker);
  idle_.erase(walker);
  ++busy_;
  serves_[walker] = tenant;
  if (waits_.counted()) [[unlikely]]
    waits_.begin(scheduler_->owner(walker), tenant);
}

void WalkQueues::end(u32 walker) {
  idle_.insert(walker);
  --busy_;
  if (waits_.counted()) [[unlikely]]
    waits_.end(scheduler_->owner(walker), serves_[walker]);
}

void WalkQueues::divide_among(const std::vector<TenantId>& tenants) {
  scheduler_->divide_among(tenants);
  waits_.divide(servers());
}

ServedQueues::Servers WalkQueues::servers() const {
  return {.count = walkers(),
          .owner = [this](u32 walker) { return scheduler_->owner(walker); },
          .serves = [this](u32 walker) { return is_idle(walker) ? std::nullopt : std::optional(serves_[walker]); }};
}

void WalkQueues::keep(Blame& blame) {
  waits_.keep(blame, {"places", "requests wait for an entry in a walk queue; holders: queued walks"},
              {"walkers", "walks wait for a walker; holders: walks in service"}, servers(),
              [this] { return waiting(); });
}

}  // namespace terrace
