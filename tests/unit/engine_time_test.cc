// Time: clock domains, the scheduler and links.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <vector>

#include "engine/clock.h"
#include "engine/funnel.h"
#include "engine/link.h"
#include "engine/rng.h"
#include "engine/scheduler.h"
#include "support/puppet.h"

namespace terrace {
namespace {

TEST(Clock, ConvertsExactlyBothWaysForAwkwardRatios) {
  for (const auto& [own, core] : {std::pair<u64, u64>{1, 1}, {1674, 1020}, {2700, 1137}, {7, 1000}, {1000, 7}}) {
    const ClockDomain clock(own, core);
    for (u64 local = 0; local < 5000; ++local) {
      const Cycle first = clock.core(local);
      // A slow own clock: its cycle has begun at `first` and not before. A fast one may begin several cycles at once.
      ASSERT_GE(clock.local(first), local);
      if (first > 0) {
        ASSERT_LT(clock.local(first - 1), local) << own << "/" << core;
      }
    }
  }
}

TEST(Clock, DoesNotDriftOrOverflowAfterATrillionCycles) {
  const ClockDomain clock(1674, 1020);
  const u64 periods = 1'000'000'000'000;
  EXPECT_EQ(clock.local(170 * periods), 279 * periods);  // 1674 / 1020 = 279 / 170
}

TEST(Clock, DividesAsWideNumbersDoAtEveryMagnitude) {
  __extension__ using Wide = unsigned __int128;
  Rng rng(7, "clock");
  for (const auto& [own, core] : {std::pair<u64, u64>{1, 1},
                                  {1, 3},
                                  {4, 1},
                                  {1674, 1020},
                                  {999'983, 1'000'003},
                                  {u64{1} << 40 | 1, (u64{1} << 33) + 1}}) {
    const ClockDomain clock(own, core);
    for (u32 i = 0; i < 20'000; ++i) {
      const u64 cycle = rng.next() >> (16 + i % 48);
      const u64 sharp = cycle / core * core;  // where quotients step
      for (const u64 at : {cycle, sharp, sharp + 1, sharp == 0 ? 0 : sharp - 1}) {
        ASSERT_EQ(clock.local(at), static_cast<u64>(Wide{at} * own / core)) << own << "/" << core << " at " << at;
        ASSERT_EQ(clock.core(at), static_cast<u64>((Wide{at} * core + own - 1) / own))
            << own << "/" << core << " " << at;
      }
    }
  }
}

TEST(Scheduler, TicksEveryUnitInTheFirstCycleAndThenOnlyWhoIsDue) {
  Scheduler scheduler;
  Puppet busy, idle;
  busy.on_tick = [](Cycle now) { return now < 20 ? now + 7 : kNever; };
  scheduler.add(busy, "busy");
  scheduler.add(idle, "idle");
  EXPECT_EQ(scheduler.run(kNever), Scheduler::End::kIdle);
  EXPECT_EQ(busy.ticked, (std::vector<Cycle>{0, 7, 14, 21}));
  EXPECT_EQ(idle.ticked, (std::vector<Cycle>{0}));
}

TEST(Scheduler, FindsWakesAtEveryDistanceAcrossTheWheelAndBeyondIt) {
  for (const Cycle distance : {1, 2, 63, 64, 65, 127, 4032, 4095, 4096, 4097, 8191, 8192, 1'000'000}) {
    for (const Cycle start : {0, 1, 62, 63, 64, 4000, 4095}) {
      Scheduler scheduler;
      Puppet unit;
      unit.on_tick = [&](Cycle now) {
        return now == 0 && start > 0 ? start : now == start ? start + distance : kNever;
      };
      scheduler.add(unit, "unit");
      scheduler.run(kNever);
      ASSERT_EQ(unit.ticked.back(), start + distance) << start << " + " << distance;
    }
  }
}

TEST(Scheduler, AgreesWithAPlainCalendarOnRandomWakes) {
  Scheduler scheduler;
  std::vector<Puppet> units(70);  // more than one word of the bitset
  std::vector<std::vector<Cycle>> expected(units.size());
  Rng rng(7, "test");
  for (u32 i = 0; i < units.size(); ++i) {
    scheduler.add(units[i], "unit");
    expected[i].push_back(0);
    for (u32 n = 0; n < 50; ++n) expected[i].push_back(expected[i].back() + 1 + rng.below(n % 5 == 0 ? 9000 : 40));
    units[i].on_tick = [&, i](Cycle) {
      const size_t done = units[i].ticked.size();
      return done < expected[i].size() ? expected[i][done] : kNever;
    };
  }
  EXPECT_EQ(scheduler.run(kNever), Scheduler::End::kIdle);
  for (u32 i = 0; i < units.size(); ++i) EXPECT_EQ(units[i].ticked, expected[i]);
}

TEST(Scheduler, StopsAtALimitAndGoesOnFromThere) {
  Scheduler scheduler;
  Puppet unit;
  unit.on_tick = [](Cycle now) { return now + 10; };
  scheduler.add(unit, "unit");
  EXPECT_EQ(scheduler.run(25), Scheduler::End::kLimit);
  EXPECT_EQ(scheduler.now(), 25u);
  EXPECT_EQ(unit.ticked.back(), 20u);
  scheduler.run(31);
  EXPECT_EQ(unit.ticked.back(), 30u);
}

TEST(Scheduler, ACycleThatIsOverDoesNotComeBack) {
  Scheduler scheduler;
  Puppet first, second;
  UnitId early{};
  early = scheduler.add(first, "first");
  scheduler.add(second, "second");
  second.on_tick = [&](Cycle now) {
    if (now == 3) scheduler.wake(early, now);  // against the rules: it has ticked, or could have
    return now < 9 ? now + 1 : kNever;
  };
  scheduler.run(20);
  EXPECT_EQ(first.ticked, (std::vector<Cycle>{0}));
  EXPECT_EQ(second.ticked, (std::vector<Cycle>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(Scheduler, AUnitCanStopTheRunAfterTheCycleIsComplete) {
  Scheduler scheduler;
  Puppet first, second;
  first.on_tick = [&](Cycle now) {
    if (now == 3) scheduler.stop();
    return now + 1;
  };
  second.on_tick = [](Cycle now) { return now + 1; };
  scheduler.add(first, "first");
  scheduler.add(second, "second");
  EXPECT_EQ(scheduler.run(kNever), Scheduler::End::kStopped);
  EXPECT_EQ(second.ticked.back(), 3u);
}

TEST(Scheduler, CommitsRunAfterAllTicksInTheOrderOfAddition) {
  Scheduler::Options options;
  options.permute_seed = 5;
  Scheduler scheduler(options);
  std::vector<Puppet> units(5);
  std::vector<UnitId> ids;
  std::string log;
  for (u32 i = 0; i < units.size(); ++i) ids.push_back(scheduler.add(units[i], "unit"));
  for (u32 i = 0; i < units.size(); ++i) {
    units[i].on_tick = [&, i](Cycle) {
      scheduler.defer(ids[i]);
      log += 't';
      return kNever;
    };
    units[i].on_commit = [&, i](Cycle) { log += std::to_string(i); };
  }
  scheduler.run(kNever);
  EXPECT_EQ(log, "ttttt01234");
}

TEST(Scheduler, ExplainsWhatEachUnitWaitsFor) {
  Scheduler scheduler;
  Puppet one, two, idle;
  one.waits_for = "a reply";
  two.waits_for = "a place\nand a token";
  scheduler.add(one, "sm0");
  scheduler.add(idle, "sm1");
  scheduler.add(two, "mmu");
  EXPECT_EQ(scheduler.explain(), "  sm0: a reply\n  mmu: a place\n  mmu: and a token\n");
}

struct Wire {
  explicit Wire(LinkShape shape) : link(scheduler, shape) {
    link.connect(scheduler.add(producer, "producer"), scheduler.add(consumer, "consumer"));
  }
  Scheduler scheduler;
  Puppet producer, consumer;
  Link<int> link;
};

TEST(Link, AMessageArrivesAfterItsLatencyAndNotBefore) {
  Wire wire({.rate = 1, .latency = 3});
  wire.producer.on_tick = [&](Cycle now) {
    if (now == 0) wire.link.push(now, 42);
    return kNever;
  };
  wire.consumer.on_tick = [&](Cycle now) {
    EXPECT_EQ(wire.link.front(now) != nullptr, now == 3);
    if (wire.link.front(now)) {
      EXPECT_EQ(wire.link.pop(now), 42);
    }
    return now < 3 ? now + 1 : kNever;
  };
  wire.scheduler.run(kNever);
  EXPECT_EQ(wire.consumer.ticked.back(), 3u);
}

TEST(Link, WakesASleepingConsumerWhenTheMessageArrives) {
  Wire wire({.rate = 1, .latency = 5});
  wire.producer.on_tick = [&](Cycle now) {
    if (now == 0) wire.link.push(now, 1);
    return kNever;
  };
  wire.scheduler.run(kNever);
  EXPECT_EQ(wire.consumer.ticked, (std::vector<Cycle>{0, 5}));
}

/// Pushes whenever it may, pops whenever it can, and returns the cycles in which messages arrived. The producer ticks in every
/// cycle, or when the link wakes it.
std::vector<Cycle> arrivals(LinkShape shape, u64 permute_seed, Cycle until, bool every_cycle = false) {
  Scheduler::Options options;
  options.permute_seed = permute_seed;
  Scheduler scheduler(options);
  Puppet producer, consumer;
  Link<int> link(scheduler, shape);
  link.connect(scheduler.add(producer, "producer"), scheduler.add(consumer, "consumer"));
  std::vector<Cycle> arrived;
  producer.on_tick = [&](Cycle now) {
    while (link.can_push(now)) link.push(now, 0);
    return every_cycle ? now + 1 : kNever;
  };
  consumer.on_tick = [&](Cycle now) {
    while (link.front(now)) {
      link.pop(now);
      arrived.push_back(now);
    }
    return kNever;
  };
  scheduler.run(until);
  return arrived;
}

TEST(Link, OfDefaultCapacityRunsAtFullRate) {
  for (const u32 rate : {1u, 2u, 4u}) {
    for (const u32 latency : {1u, 2u, 7u}) {
      const auto arrived = arrivals({.rate = rate, .latency = latency}, 0, 1000);
      EXPECT_EQ(arrived.size(), (1000 - latency) * rate) << "rate " << rate << ", latency " << latency;
    }
  }
}

TEST(Link, WithOnePlaceCarriesAMessageEveryLatencyPlusOneCyclesWhoeverTicksFirst) {
  for (const u64 permute : {0, 1, 2, 3}) {
    for (const bool every_cycle : {false, true}) {
      const auto arrived = arrivals({.rate = 1, .latency = 2, .capacity = 1}, permute, 100, every_cycle);
      ASSERT_GE(arrived.size(), 3u);
      for (size_t i = 0; i < arrived.size(); ++i) ASSERT_EQ(arrived[i], 2 + 3 * i) << "permutation " << permute;
    }
  }
}

TEST(Funnel, AgreesWithALinkPerProducerUnderAnyOrderOfTicks) {
  // Seventy producers push what they may, in bursts; the consumer takes one message a cycle, round-robin. With places
  // for only two messages an input, everything pushes back.
  const auto run = [](Scheduler::Options options) {
    Scheduler scheduler(options);
    std::vector<Puppet> producers(70);
    Puppet consumer;
    Funnel<u32> funnel(scheduler, 70, 3, 2);
    funnel.connect_consumer(scheduler.add(consumer, "consumer"));
    std::vector<u32> sent(producers.size(), 0);
    for (u32 i = 0; i < producers.size(); ++i) {
      const UnitId id = scheduler.add(producers[i], "producer");
      scheduler.place(id, i);
      funnel.connect_producer(i, id);
      producers[i].on_tick = [&, i](Cycle now) -> Cycle {
        if (sent[i] == 1 + i % 7 || !funnel.can_push(i, now)) return kNever;
        funnel.push(i, now, i * 100 + sent[i]++);
        return now + 1;
      };
    }
    std::string log;
    u32 pointer = 0;
    consumer.on_tick = [&](Cycle now) {
      funnel.absorb(now);
      const u32 input = funnel.next_ready(pointer);
      if (input == funnel.kNoInput) return kNever;
      log += std::to_string(now) + ":" + std::to_string(funnel.pop(input, now)) + " ";
      pointer = (input + 1) % funnel.inputs();
      return now + 1;
    };
    scheduler.run(kNever);
    return log;
  };
  const std::string straight = run({});
  EXPECT_EQ(straight.substr(0, 15), "3:0 4:100 5:200");
  for (const u64 seed : {1, 2, 3}) {
    EXPECT_EQ(straight, run({.permute_seed = seed}));
    EXPECT_EQ(straight, run({.sleep = false, .permute_seed = seed}));
  }
  for (const u32 threads : {2u, 4u}) EXPECT_EQ(straight, run({.threads = threads, .share_from = 1}));
}

TEST(Rng, StreamsAreNamedAndRepeatable) {
  Rng a(1, "mmu"), again(1, "mmu"), other(1, "sm0"), seed(2, "mmu");
  const u64 first = a.next();
  EXPECT_EQ(first, again.next());
  EXPECT_NE(first, other.next());
  EXPECT_NE(first, seed.next());
}

TEST(Rng, BelowIsUniformWithinFourSigma) {
  Rng rng(3, "test");
  u32 counts[10] = {};
  for (u32 i = 0; i < 100'000; ++i) ++counts[rng.below(10)];
  // Binomial with n = 100,000 and p = 0.1: sigma = 95.
  for (const u32 count : counts) EXPECT_NEAR(count, 10'000, 380);
}

}  // namespace
}  // namespace terrace
