// What every walk scheduler owes the MMU, with every walk order inside its queues, for one to five tenants.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <tuple>
#include <vector>

#include "config/assign.h"
#include "engine/rng.h"
#include "support/part_state.h"
#include "translation/walk_scheduler.h"

namespace terrace {
namespace {

using Combination = std::tuple<std::string, std::string, u32>;  // scheduler, order, tenants

/// Says something different for every walk, so that scores differ.
class SomeWalkCache final : public WalkCacheView {
 public:
  u32 score(const Walk& walk) override { return 1 + static_cast<u32>(walk.page * 7 % 4); }
};

class EveryWalkScheduler : public ::testing::TestWithParam<Combination> {
 protected:
  static constexpr u32 kWalkers = 7, kEntries = 60;

  EveryWalkScheduler() : idle(kWalkers), scheduler(make(std::get<0>(GetParam()))) {
    for (u32 i = 0; i < kWalkers; ++i) idle.insert(i);
  }
  u32 tenants() const { return std::get<2>(GetParam()); }
  /// Bounds that are long by default are set short, so that they are reached.
  std::unique_ptr<WalkOrder> make_order(u32 entries, u32 queue) {
    Policy<WalkOrder> policy(std::get<1>(GetParam()));
    struct Holder {
      Policy<WalkOrder>& policy;
      void describe(Fields& v) { v.policy("order", policy, ""); }
    } holder{policy};
    if (policy.use == "simt_aware") assign(holder, split_assignment("order.simt_aware.ageing_threshold=40", "test"));
    return policy.make({.entries = entries, .queue = queue, .seed = 1, .walk_cache = &cache});
  }
  std::unique_ptr<WalkScheduler> make(const std::string& name) {
    const auto make_queue = [this](u32 entries, u32 queue) { return make_order(entries, queue); };
    return Registry<WalkScheduler>::instance().make(
        name, {.walkers = kWalkers, .queue_entries = kEntries, .tenants = tenants(), .make_queue = make_queue});
  }
  Walk next_walk(Rng& rng) {
    const auto tenant = static_cast<TenantId>(rng.below(tenants()));
    return {.key = ++made,
            .page = made,
            .order = made,
            .arrived = 0,
            .inst = static_cast<u32>(rng.below(12)),
            .tenant = tenant};
  }
  void finish(u32 walker) {
    busy.erase(walker);
    idle.insert(walker);
    serve(walker);
  }
  /// Gives the walker what the scheduler has for it.
  void serve(u32 walker) {
    const auto walk = scheduler->next(walker, now);
    if (twin) {
      const auto its = twin->next(walker, now);
      ASSERT_EQ(its.has_value(), walk.has_value()) << "the twin gives out a walk, or none";
      if (walk) {
        const auto all = [](const Walk& w) {
          return std::tuple(w.key, w.page, w.order, w.arrived, w.inst, w.tenant, w.scored, w.selection_cycles);
        };
        ASSERT_EQ(all(*its), all(*walk)) << "the twin gives out another walk";
      }
    }
    if (!walk) return;
    --waiting_of[index(walk->tenant)];
    start(walker, *walk);
  }
  /// Some idle walker could serve a walk that waits.
  bool passed_over() const {
    for (u32 walker = 0; walker < kWalkers; ++walker) {
      for (u32 tenant = 0; idle.contains(walker) && tenant < tenants(); ++tenant) {
        if (waiting_of[tenant] > 0 && scheduler->may_serve(walker, static_cast<TenantId>(tenant))) return true;
      }
    }
    return false;
  }
  void start(u32 walker, const Walk& walk) {
    ASSERT_TRUE(idle.contains(walker)) << "walker " << walker << " has a walk already";
    ASSERT_TRUE(accepted.contains(walk.key)) << "walk " << walk.key << " was never accepted";
    ASSERT_TRUE(served.insert(walk.key).second) << "walk " << walk.key << " is served twice";
    idle.erase(walker);
    busy.insert(walker);
  }
  bool offer(const Walk& walk) {
    const u32 waiting = scheduler->waiting();
    const i32 placed = scheduler->place(walk, idle, now);
    if (twin) {
      EXPECT_EQ(twin->place(walk, idle, now), placed) << "the twin places a walk elsewhere";
    }
    if (placed == WalkScheduler::kRefused) {
      EXPECT_EQ(scheduler->waiting(), waiting) << "a refusal changes nothing";
      return false;
    }
    accepted.insert(walk.key);
    if (placed == WalkScheduler::kQueued) {
      EXPECT_EQ(scheduler->waiting(), waiting + 1);
      ++waiting_of[index(walk.tenant)];
    } else {
      EXPECT_TRUE(scheduler->may_serve(static_cast<u32>(placed), walk.tenant));
      start(static_cast<u32>(placed), walk);
    }
    return true;
  }

  SomeWalkCache cache;
  WalkerSet idle;
  std::set<u32> busy;
  std::set<u64> accepted, served;
  std::array<u32, kMaxTenants> waiting_of{};
  u64 made = 0;
  Cycle now = 0;
  std::unique_ptr<WalkScheduler> scheduler, twin;  // the twin, if there is one, gets the same calls
};

TEST_P(EveryWalkScheduler, ServesEveryAcceptedWalkExactlyOnce) {
  Rng rng(3, "walks");
  for (u32 step = 0; step < 20'000; ++step) {
    // More arrivals than ends at first, then fewer: queues fill and empty again.
    const bool arrives = rng.below(10) < (step / 2'000 % 2 == 0 ? 7u : 3u);
    if (arrives) {
      offer(next_walk(rng));
    } else if (!busy.empty()) {
      finish(*std::next(busy.begin(), static_cast<long>(rng.below(busy.size()))));
    }
    if (HasFatalFailure()) return;
  }
  while (!busy.empty()) finish(*busy.begin());
  EXPECT_EQ(scheduler->waiting(), 0u);
  EXPECT_EQ(served, accepted);
}

TEST_P(EveryWalkScheduler, NoWalkerIsIdleWhileAWalkWaitsThatItMayServe) {
  Rng rng(4, "walks");
  for (u32 step = 0; step < 5'000; ++step) {
    offer(next_walk(rng));
    ASSERT_FALSE(passed_over()) << "after an arrival";
    if (step % 3 != 0 || busy.empty()) continue;
    finish(*busy.rbegin());
    ASSERT_FALSE(passed_over()) << "after an end";
  }
}

TEST_P(EveryWalkScheduler, NoWalkWaitsLongerThanItsOrderSays) {
  const u64 bound = make_order(kEntries, 0)->most_passed();
  if (bound == WalkOrder::kUnbounded) GTEST_SKIP() << "this order says that it may starve a walk";
  Rng rng(5, "walks");
  while (!idle.empty()) offer(next_walk(rng));
  Walk victim = next_walk(rng);
  victim.inst = 1'000'000;  // an instruction of its own, which no other walk helps along
  victim.page = 3;          // and a dear one
  ASSERT_TRUE(offer(victim));
  // Others keep coming for as long as the victim may wait: its queue gives out that many younger walks, and those that
  // were there before; with a queue for each walker every other walker may be busy meanwhile.
  const u64 most = (bound + kEntries) * kWalkers * 2;
  for (u64 i = 0; i < most && !served.contains(victim.key); ++i) {
    offer(next_walk(rng));
    offer(next_walk(rng));
    finish(*std::next(busy.begin(), static_cast<long>(rng.below(busy.size()))));
  }
  EXPECT_TRUE(served.contains(victim.key));
}

TEST_P(EveryWalkScheduler, DependsOnNothingButItsCalls) {
  const auto other = make(std::get<0>(GetParam()));
  Rng rng(6, "walks");
  WalkerSet none(kWalkers);
  for (u32 i = 0; i < 500; ++i) {
    const Walk walk = next_walk(rng);
    ASSERT_EQ(scheduler->place(walk, none, i), other->place(walk, none, i));
    if (i % 3 != 0) continue;
    const auto mine = scheduler->next(i % kWalkers, i), theirs = other->next(i % kWalkers, i);
    ASSERT_EQ(mine.has_value(), theirs.has_value());
    if (mine) {
      ASSERT_EQ(mine->key, theirs->key);
    }
  }
}

TEST_P(EveryWalkScheduler, AFreshOneThatGetsItsStateGoesOnAlike) {
  constexpr u32 kSteps = 12'000, kDivision = 1'500, kTwin = 350;
  Rng rng(8, "walks");
  std::vector<TenantId> present;
  for (u32 i = 0; i < tenants(); ++i) present.push_back(TenantId(i));
  for (u32 step = 0; step < kSteps; ++step) {
    now += rng.below(4);
    if (step % kDivision == kDivision - 1) {  // tenants leave or come back
      present.clear();
      for (u32 i = 0; i < tenants(); ++i) {
        if (rng.below(2) == 0) present.push_back(TenantId(i));
      }
      if (present.empty()) present.push_back(TenantId(rng.below(tenants())));
      for (WalkScheduler* each : {scheduler.get(), twin.get()}) each->divide_among(present);
      for (u32 walker = 0; walker < kWalkers; ++walker) {
        if (idle.contains(walker)) serve(walker);
      }
    }
    if (step % kTwin == 0) {
      ASSERT_NO_FATAL_FAILURE(renew_twin(*scheduler, twin, make(std::get<0>(GetParam()))));
      for (u32 walker = 0; walker < kWalkers; ++walker) ASSERT_EQ(twin->owner(walker), scheduler->owner(walker));
    }
    // Queues fill and empty again, and the tenants' shares of the walks change.
    if (rng.below(10) < (step / 1'000 % 2 == 0 ? 6u : 4u)) {
      Walk walk = next_walk(rng);
      walk.tenant = present[rng.below(3) == 0 ? rng.below(present.size()) : step / 700 % present.size()];
      walk.arrived = now;
      offer(walk);
    } else if (!busy.empty()) {
      finish(*std::next(busy.begin(), static_cast<long>(rng.below(busy.size()))));
    }
    if (HasFailure()) return;
  }
}

std::vector<Combination> combinations() {
  std::vector<Combination> all;
  for (const std::string& scheduler : Registry<WalkScheduler>::instance().names()) {
    for (const std::string& order : Registry<WalkOrder>::instance().names()) {
      for (u32 tenants = 1; tenants <= 5; ++tenants) all.emplace_back(scheduler, order, tenants);
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, EveryWalkScheduler, ::testing::ValuesIn(combinations()), [](const auto& each) {
  return std::get<0>(each.param) + "_" + std::get<1>(each.param) + "_" + std::to_string(std::get<2>(each.param));
});

}  // namespace
}  // namespace terrace
