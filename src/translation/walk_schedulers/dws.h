// What DWS and DWS++ have in common: a walker serves its owner's waiting walks first, and otherwise steals one of the
// tenant that has most waiting. See dws.cc and dws_pp.cc.
// SPDX-License-Identifier: MIT
#pragma once

#include "translation/walk_scheduler.h"
#include "translation/walk_schedulers/interleaving.h"
#include "translation/walk_schedulers/owned_queues.h"

namespace terrace {

struct DwsParams {
  bool steal_on_arrival = true;
  u32 steal_cycles = 2;  // DWS-A14: added latency of the logic, modelled by the paper but not printed
  void describe(Fields& v) {
    v("steal_on_arrival", steal_on_arrival,
      "an arriving walk may start at once on an idle walker of another tenant; false follows the paper to the letter "
      "(DWS-A3)");
    v("steal_cycles", steal_cycles, in(0, 255), "cycles to select a walk to steal");
  }
};

struct WalkStealStats {
  PerTenant<Counter> stolen, stolen_extra, stolen_on_arrival;
};

class StealingWalkScheduler : public WalkScheduler {
 public:
  StealingWalkScheduler(const Context& context, DwsParams params)
      : queues_(context), params_(params), walkers_(context.walkers) {}

  i32 place(const Walk& walk, const WalkerSet& idle, Cycle now) final {
    on_attempt(walk.tenant);
    u32 into = queues_.idle_walker_of(walk.tenant, idle);
    if (into == OwnedQueues::kNone && params_.steal_on_arrival) into = queues_.idle_walker_of_others(walk.tenant, idle);
    if (into != OwnedQueues::kNone) {
      const bool foreign = serve(into, walk, true);
      queues_.started(into, walk);
      steals.stolen_on_arrival[walk.tenant] += foreign;
    } else {
      if (!queues_.push(walk, now, into)) return kRefused;
      latest_order_ = walk.order;
      // The walk that is in service there may be another tenant's: this one waits for it (DWS-A11).
      interleaving_.interleaving[walk.tenant] += walkers_[into].serves != walk.tenant;
      into = OwnedQueues::kNone;
    }
    ++stats.placed[walk.tenant];
    return into == OwnedQueues::kNone ? kQueued : static_cast<i32>(into);
  }

  std::optional<Walk> next(u32 walker, Cycle now) final {
    const TenantId owner = queues_.owner(walker);
    const TenantId* rival = queues_.busiest_other(owner);
    const u32 own = queues_.queue_for_owner(walker);
    if (own != OwnedQueues::kNone && !(rival && steals_although_owner_waits(walker, *rival))) {
      const Walk walk = queues_.pop(own, now);
      // A walk of the owner's was never passed by one that its walker stole after it had begun to wait.
      SIM_CHECK(extra_ || walk.tenant != owner || walkers_[walker].stole_at < walk.order + 1,
                "walker {} stole a walk while one of its owner waited", walker);
      serve(walker, walk, false);
      return walk;
    }
    if (!rival) return std::nullopt;
    Walk walk = queues_.pop(queues_.longest_of(*rival), now);
    if (own == OwnedQueues::kNone) {
      ++steals.stolen[walk.tenant];
    } else {
      ++steals.stolen_extra[walk.tenant];
      interleaving_.interleaving[owner] += queues_.size(walker);  // every walk that waits here is overtaken (DWS-A11)
    }
    serve(walker, walk, true);
    walk.selection_cycles = static_cast<u8>(walk.selection_cycles + params_.steal_cycles);
    return walk;
  }
  u32 waiting() const final { return queues_.waiting(); }
  void describe(StatFields& v) final {
    WalkScheduler::describe(v);
    interleaving_.describe(v, stats.placed);
    v("stolen", steals.stolen, "walks", "queued walks stolen by a walker whose owner had no queued walks");
    v("stolen_extra", steals.stolen_extra, "walks",
      "queued walks stolen by a walker whose owner had queued walks (DWS++)");
    v("stolen_on_arrival", steals.stolen_on_arrival, "walks",
      "walks that started on arrival, on an idle walker of another tenant");
    v.ratio("stolen_share", sum(steals.stolen, steals.stolen_extra), sum(stats.placed), "of walks");
  }
  std::optional<TenantId> owner(u32 walker) const final { return queues_.owner(walker); }
  void divide_among(const std::vector<TenantId>& tenants) override {
    queues_.divide_among(tenants);
    for (Walker& walker : walkers_) walker.stole_at = 0;
  }
  void archive(Archive& a) override { a(queues_, walkers_, latest_order_); }

  WalkStealStats steals;

 protected:
  /// A walk asks for a place, whether or not it finds one.
  virtual void on_attempt(TenantId) {}
  virtual bool steals_although_owner_waits(u32 /*walker*/, TenantId /*rival*/) const { return false; }
  bool is_stolen(u32 walker) const { return walkers_[walker].is_stolen; }

  OwnedQueues queues_;
  bool extra_ = false;  // it may steal while its owner waits

 private:
  struct Walker {
    TenantId serves{};       // whose walk it has, or had last
    bool is_stolen = false;  // its last walk was not its owner's
    u64 stole_at = 0;        // one more than the newest waiting walk when it last stole
  };
  /// Returns whether the walk is foreign to the walker. One that was left in its queue when walkers were divided anew
  /// is, but it was not chosen over another.
  bool serve(u32 walker, const Walk& walk, bool chosen) {
    const bool foreign = queues_.owner(walker) != walk.tenant;
    walkers_[walker].serves = walk.tenant;
    walkers_[walker].is_stolen = foreign;
    if (foreign && chosen) walkers_[walker].stole_at = latest_order_ + 1;
    return foreign;
  }

  DwsParams params_;
  InterleavingStats interleaving_;
  std::vector<Walker> walkers_;
  u64 latest_order_ = 0;
};

}  // namespace terrace
