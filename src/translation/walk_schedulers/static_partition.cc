// Walkers divided equally among the tenants, who never lend them: a walker without work of its owner stays idle.
//
// Paper:  Improving GPU Multi-tenancy with Page Walk Stealing, HPCA 2021, §VII (static walkers).
// Slot:   WalkScheduler (translation/walk_scheduler.h).   Overlay: configs/designs/static_walkers.toml
// SPDX-License-Identifier: MIT
#include "translation/walk_scheduler.h"
#include "translation/walk_schedulers/owned_queues.h"

namespace terrace {
namespace {

class StaticPartitionWalkScheduler final : public WalkScheduler {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  StaticPartitionWalkScheduler(const Context& context, Params) : queues_(context) {}

  i32 place(const Walk& walk, const WalkerSet& idle, Cycle now) override {
    u32 into = queues_.idle_walker_of(walk.tenant, idle);
    if (into != OwnedQueues::kNone) {
      queues_.started(into, walk);
      ++stats.placed[walk.tenant];
      return static_cast<i32>(into);
    }
    if (!queues_.push(walk, now, into)) return kRefused;
    ++stats.placed[walk.tenant];
    return kQueued;
  }
  std::optional<Walk> next(u32 walker, Cycle now) override {
    const u32 queue = queues_.queue_for_owner(walker);
    if (queue == OwnedQueues::kNone) return std::nullopt;
    return queues_.pop(queue, now);
  }
  u32 waiting() const override { return queues_.waiting(); }
  bool may_serve(u32 walker, TenantId tenant) const override { return queues_.owner(walker) == tenant; }
  std::optional<TenantId> owner(u32 walker) const override { return queues_.owner(walker); }
  void divide_among(const std::vector<TenantId>& tenants) override { queues_.divide_among(tenants); }
  void archive(Archive& a) override { a(queues_); }

 private:
  OwnedQueues queues_;
};

REGISTER_POLICY(WalkScheduler, StaticPartitionWalkScheduler, "static_partition",
                .summary = "walkers belong to tenants and never serve another tenant", .paper = "HPCA 2021");

}  // namespace
}  // namespace terrace
