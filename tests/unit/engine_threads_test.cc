// Units that tick at once on several threads: nothing about them may show it.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/link.h"
#include "engine/pool.h"
#include "engine/rng.h"
#include "engine/scheduler.h"
#include "support/puppet.h"

namespace terrace {
namespace {

/// Every cycle is shared, however few units are due.
Scheduler::Options threads(u32 count, bool sleep = true) {
  return {.sleep = sleep, .threads = count, .share_from = 1};
}

TEST(TickThreads, EachUnitTicksWhenItIsDueOnTheThreadItWasGiven) {
  Scheduler scheduler(threads(3));
  std::vector<Puppet> units(7);
  std::vector<std::vector<std::thread::id>> on(units.size());
  for (u32 i = 0; i < units.size(); ++i) {
    scheduler.place(scheduler.add(units[i], "unit"), i);
    units[i].on_tick = [&, i](Cycle now) {
      on[i].push_back(std::this_thread::get_id());
      return now < 50 ? now + 1 + i : kNever;
    };
  }
  EXPECT_EQ(scheduler.run(kNever), Scheduler::End::kIdle);
  u64 ticks = 0;
  for (u32 i = 0; i < units.size(); ++i) {
    std::vector<Cycle> expected;
    for (Cycle at = 0; expected.empty() || expected.back() < 50; at += 1 + i) expected.push_back(at);
    EXPECT_EQ(units[i].ticked, expected) << i;
    for (const auto id : on[i]) EXPECT_EQ(id, on[i % 3].front());
    ticks += expected.size();
  }
  EXPECT_NE(on[0].front(), on[1].front());
  EXPECT_EQ(on[0].front(), std::this_thread::get_id());
  EXPECT_EQ(scheduler.ticks(), ticks);
}

TEST(TickThreads, AUnitOnAnotherThreadCanStopTheRun) {
  Scheduler scheduler(threads(2));
  Puppet first, second;
  first.on_tick = [](Cycle now) { return now + 1; };
  second.on_tick = [&](Cycle now) {
    if (now == 3) scheduler.stop();
    return now + 1;
  };
  scheduler.add(first, "first");
  scheduler.place(scheduler.add(second, "second"), 1);
  EXPECT_EQ(scheduler.run(kNever), Scheduler::End::kStopped);
  EXPECT_EQ(first.ticked.back(), 3u);
  EXPECT_EQ(scheduler.run(6), Scheduler::End::kLimit);
  EXPECT_EQ(first.ticked.back(), 5u);
}

TEST(TickThreads, WhatAUnitThrowsComesOutOfTheRun) {
  for (const u32 share_from : {1u, 100u}) {
    Scheduler scheduler({.threads = 2, .share_from = share_from});
    Puppet first, second;
    second.on_tick = [](Cycle now) -> Cycle {
      if (now == 2) throw std::runtime_error("broken");
      return now + 1;
    };
    scheduler.add(first, "first");
    scheduler.place(scheduler.add(second, "second"), 1);
    EXPECT_THROW(scheduler.run(kNever), std::runtime_error);
    EXPECT_EQ(tick_thread, 0u);
  }
}

TEST(TickThreads, CommitsRunAfterAllTicksInTheOrderOfAddition) {
  Scheduler scheduler(threads(4));
  std::vector<Puppet> units(9);
  std::vector<UnitId> ids;
  std::string log;
  for (u32 i = 0; i < units.size(); ++i) ids.push_back(scheduler.add(units[i], "unit"));
  for (u32 i = 0; i < units.size(); ++i) {
    scheduler.place(ids[i], 8 - i);
    units[i].on_tick = [&, i](Cycle) {
      scheduler.defer(ids[i]);
      return kNever;
    };
    units[i].on_commit = [&, i](Cycle) { log += std::to_string(i); };
  }
  scheduler.run(kNever);
  EXPECT_EQ(log, "012345678");
}

TEST(TickThreads, AWakeUpFarAheadOrBetweenRunsReachesAnotherThread) {
  Scheduler scheduler(threads(2));
  Puppet first, second;
  const UnitId other = (scheduler.add(first, "first"), scheduler.add(second, "second"));
  scheduler.place(other, 1);
  first.on_tick = [&](Cycle now) {
    if (now == 0) scheduler.wake(other, 100'000);
    return kNever;
  };
  scheduler.run(50);
  scheduler.wake(other, 70);
  EXPECT_FALSE(scheduler.idle());
  EXPECT_EQ(scheduler.run(kNever), Scheduler::End::kIdle);
  EXPECT_EQ(second.ticked, (std::vector<Cycle>{0, 70, 100'000}));
  EXPECT_TRUE(scheduler.idle());
}

/// Pairs of units at both ends of links of all kinds, who push and pop as random numbers tell them. What arrived when. The
/// links mark in one word that they have messages.
std::string traffic(Scheduler::Options options) {
  struct Pair {
    Pair(Scheduler& scheduler, LinkShape shape, u64 seed)
        : link(scheduler, shape), push(seed, "push"), pop(seed, "pop") {}
    Puppet producer, consumer;
    Link<u32> link;
    Rng push, pop;
    u32 sent = 0;
    std::string log;
  };
  Scheduler scheduler(options);
  std::vector<std::unique_ptr<Pair>> pairs;
  u64 filled = 0;
  std::atomic<u32> unmarked{0};
  for (u32 i = 0; i < 12; ++i) {
    const LinkShape shape{.rate = 1 + i % 3, .latency = 1 + i % 5, .capacity = i % 4 == 0 ? 1u : 0u};
    Pair& pair = *pairs.emplace_back(std::make_unique<Pair>(scheduler, shape, i));
    const UnitId producer = scheduler.add(pair.producer, "producer"),
                 consumer = scheduler.add(pair.consumer, "consumer");
    scheduler.place(producer, i);
    scheduler.place(consumer, i + 1);
    pair.link.connect(producer, consumer);
    pair.link.mark_in(filled, u64{1} << i);
    // A producer that is refused sleeps until the link wakes it; one that pauses says when it goes on. How often it is
    // asked must not matter, so its pauses depend on what it has sent.
    pair.producer.on_tick = [&pair, until = Cycle{0}](Cycle now) mutable -> Cycle {
      if (now < until) return until;
      while (pair.sent < 400 && pair.link.can_push(now)) {
        pair.link.push(now, pair.sent++);
        if (pair.push.below(4) == 0) return until = now + 1 + pair.push.below(9);
      }
      return kNever;
    };
    pair.consumer.on_tick = [&pair, &filled, &unmarked, i, until = Cycle{0}](Cycle now) mutable -> Cycle {
      if (now < until) return until;
      while (pair.link.front(now) != nullptr) {
        unmarked += (std::atomic_ref(filled).load() >> i & 1) == 0;
        pair.log += fmt::format("{}@{} ", pair.link.pop(now), now);
        if (pair.pop.below(3) == 0) return until = now + 1 + pair.pop.below(7);
      }
      return kNever;
    };
  }
  EXPECT_EQ(scheduler.run(kNever), Scheduler::End::kIdle);
  EXPECT_EQ(unmarked, 0u) << "a link with a message has its bit set";
  EXPECT_EQ(filled, 0u) << "and an empty one has not";
  std::string all;
  for (const auto& pair : pairs) {
    EXPECT_EQ(pair->sent, 400u);
    all += pair->log + "\n";
  }
  return all;
}

TEST(TickThreads, LinksCarryTheSameOnAnyNumberOfThreads) {
  const std::string alone = traffic({});
  for (const u32 count : {2u, 3u, 5u}) {
    EXPECT_EQ(traffic(threads(count)), alone) << count << " threads";
    EXPECT_EQ(traffic(threads(count, false)), alone) << count << " threads, awake";
    EXPECT_EQ(traffic({.threads = count, .share_from = 4}), alone) << count << " threads, sharing some cycles";
  }
}

TEST(SharedPool, ThreadsMakeAndFreeObjectsOfTheirOwn) {
  struct Thing {
    u64 mark = 0;
  };
  SharedPool<Thing> pool;
  constexpr u32 kThreads = 4, kHeld = 3'000;
  std::vector<std::vector<Handle<Thing>>> held(kThreads);
  std::vector<std::thread> working;
  for (u32 i = 0; i < kThreads; ++i) {
    working.emplace_back([&, i] {
      tick_thread = i;
      for (u32 round = 0; round < 20; ++round) {
        for (u32 n = 0; n < kHeld; ++n) {
          held[i].push_back(pool.make());
          EXPECT_EQ(pool[held[i].back()].mark, 0u);
          pool[held[i].back()].mark = u64{i} << 32 | n;
        }
        if (round == 19) return;
        for (u32 n = 0; n < kHeld; ++n) EXPECT_EQ(pool[held[i][n]].mark, u64{i} << 32 | n);
        for (const auto handle : held[i]) pool.free(handle);
        held[i].clear();
      }
    });
  }
  for (std::thread& one : working) one.join();
  EXPECT_EQ(pool.live(), kThreads * kHeld);
  for (u32 i = 0; i < kThreads; ++i) {
    for (u32 n = 0; n < kHeld; ++n) EXPECT_EQ(pool[held[i][n]].mark, u64{i} << 32 | n);
  }
}

}  // namespace
}  // namespace terrace
