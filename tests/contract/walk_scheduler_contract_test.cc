// What every walk scheduler owes the MMU, with every walk order inside its queues, for one to five tenants.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "engine/rng.h"
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
  std::unique_ptr<WalkScheduler> make(const std::string& name) {
    const auto make_queue = [this](u32 entries, u32 queue) {
      return Registry<WalkOrder>::instance().make(
          std::get<1>(GetParam()), {.entries = entries, .queue = queue, .seed = 1, .walk_cache = &cache});
    };
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
  /// Gives the walker what the scheduler has for it.
  void finish(u32 walker) {
    busy.erase(walker);
    idle.insert(walker);
    if (const auto walk = scheduler->next(walker, 0)) start(walker, *walk);
  }
  void start(u32 walker, const Walk& walk) {
    ASSERT_TRUE(idle.contains(walker)) << "walker " << walker << " has a walk already";
    ASSERT_TRUE(accepted.contains(walk.key)) << "walk " << walk.key << " was never accepted";
    ASSERT_TRUE(served.insert(walk.key).second) << "walk " << walk.key << " is served twice";
    idle.erase(walker);
    busy.insert(walker);
    ++starts;
  }
  bool offer(const Walk& walk) {
    const u32 waiting = scheduler->waiting();
    const bool any_idle = !idle.empty();
    const i32 placed = scheduler->place(walk, idle, 0);
    if (placed == WalkScheduler::kRefused) {
      EXPECT_EQ(scheduler->waiting(), waiting) << "a refusal changes nothing";
      return false;
    }
    accepted.insert(walk.key);
    if (placed == WalkScheduler::kQueued) {
      EXPECT_EQ(scheduler->waiting(), waiting + 1);
      if (std::get<0>(GetParam()) == "shared") {
        EXPECT_FALSE(any_idle) << "an idle walker was passed over";
      }
    } else {
      start(static_cast<u32>(placed), walk);
    }
    return true;
  }

  SomeWalkCache cache;
  WalkerSet idle;
  std::set<u32> busy;
  std::set<u64> accepted, served;
  u64 made = 0, starts = 0;
  std::unique_ptr<WalkScheduler> scheduler;
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

TEST_P(EveryWalkScheduler, NoWalkerIsIdleWhileAWalkWaitsThatItMayTake) {
  Rng rng(4, "walks");
  for (u32 step = 0; step < 5'000; ++step) {
    offer(next_walk(rng));
    if (step % 3 == 0 && !busy.empty()) finish(*busy.rbegin());
    // One queue is everybody's; owners may keep theirs, and then say so in their own tests.
    if (std::get<0>(GetParam()) == "shared") {
      ASSERT_TRUE(scheduler->waiting() == 0 || idle.empty());
    }
  }
}

TEST_P(EveryWalkScheduler, NoWalkStarvesUnlessTheOrderIsRandom) {
  if (std::get<1>(GetParam()) == "random") return;  // allowed to: walk_orders/random.cc says so
  Rng rng(5, "walks");
  // A victim arrives behind full walkers; an endless stream of cheap walks of other instructions follows.
  while (!idle.empty()) offer(next_walk(rng));
  Walk victim = next_walk(rng);
  victim.inst = 1'000'000;
  ASSERT_TRUE(offer(victim));
  // Bounded by ageing, which is two million by default: a stream as long as that would prove nothing more than a
  // short one with a low threshold does (tests/papers/simt_test.cc); here everything that waited must leave.
  for (u32 i = 0; i < 200; ++i) {
    offer(next_walk(rng));
    finish(*busy.begin());
  }
  for (u32 i = 0; i < 2 * kEntries && !served.contains(victim.key); ++i) finish(*busy.begin());
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
