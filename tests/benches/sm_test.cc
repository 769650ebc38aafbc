// An SM alone: blocks of scripted warps that start at stated cycles on one side, memory of a fixed latency on the other.
// SPDX-License-Identifier: MIT
#include "sm/sm.h"

#include <gtest/gtest.h>

#include <memory>

#include "benches/far_memory.h"
#include "benches/scripted.h"
#include "stats/stat_tree.h"
#include "timing/scripted_stream.h"

namespace terrace {
namespace {

constexpr u32 kLineBytes = 128, kLanes = 32, kTenants = 2;
constexpr Cycle kLink = 1, kNoc = 1, kMemory = 40;
constexpr Cycle kMissTrip = 1 + 2 * kNoc + kMemory;  // from issue to the answer: the queue, the crossbar, memory

/// A script whose instructions are written down as they issue.
class WatchedStream final : public ScriptedStream {
 public:
  struct Issue {
    u32 warp;  // of all warps that the stream has begun
    Cycle at;
    friend bool operator==(const Issue&, const Issue&) = default;
  };
  WatchedStream(std::vector<ScriptOp> script, u32 rounds) : ScriptedStream(std::move(script), rounds, kLanes) {}

  void execute(WarpRef warp, Cycle now, StoreLog& stores, Effect& effect) override {
    issues.push_back({index(warp), now});
    const bool jumps = view(warp).next().cls == InstClass::kControl;
    ScriptedStream::execute(warp, now, stores, effect);
    effect.polls = jumps && polls && index(warp) == 0;
  }
  void archive(Archive& a) override {
    ScriptedStream::archive(a);
    a(issues);
  }
  std::vector<Cycle> times() const {
    std::vector<Cycle> all;
    for (const Issue& issue : issues) all.push_back(issue.at);
    return all;
  }
  std::vector<Cycle> times(u32 warp) const {
    std::vector<Cycle> all;
    for (const Issue& issue : issues)
      if (issue.warp == warp) all.push_back(issue.at);
    return all;
  }
  std::vector<Issue> issues;
  bool polls = false;  // the jumps of warp 0 are those of a loop that polls
};

ScriptOp compute(std::vector<u16> reads, std::vector<u16> writes) {
  return {plain_inst(InstClass::kInteger, std::move(reads), std::move(writes))};
}
/// Every lane its word of one line of the buffer.
ScriptOp access(MemoryAction action, u64 line, std::vector<u16> writes = {}) {
  return {memory_inst(action, MemorySpace::kGlobal, 4, {}, std::move(writes)),
          [line](const ScriptPlace&, u32 lane) { return GuestMemory::kBase + line * kLineBytes + lane * 4; }};
}
/// It takes 32 cycles to leave: its lanes touch as many lines.
ScriptOp wide_access() {
  ScriptOp wide = access(MemoryAction::kLoad, 0, {1});
  wide.address = [](const ScriptPlace& place, u32 lane) {
    return GuestMemory::kBase + (place.warp * kLanes + lane) * kLineBytes;
  };
  return wide;
}
ScriptOp of_class(InstClass cls) {
  return {plain_inst(cls, {}, {})};
}

SmConfig one_scheduler() {
  SmConfig config;
  config.schedulers = 1;
  return config;
}

class SmBench {
 public:
  explicit SmBench(std::vector<ScriptOp> script, u32 warps = 1, const SmConfig& config = one_scheduler(),
                   u32 contexts = 0)
      : stream(script, 1),
        other(script, 1),
        streams_{&stream, &other},
        config_(config),
        spaces_({}, kLineBytes, 1, kTenants),
        truth_(kLineBytes, locate()),
        memory(scheduler, kNocConfig, kLineBytes, accesses_, truth_, locate(), kMemory),
        map_(kLineBytes, 1),
        starts_(scheduler, {.latency = kLink, .capacity = 8}),
        done_(scheduler, {.latency = kLink, .capacity = 1}),
        dispatcher_(scheduler, "dispatcher"),
        warps_(warps),
        unit(scheduler, config_, {}, no_tlb(), kNocConfig, kLineBytes, SmId{0},
             {{memory.requests, memory.replies, map_, accesses_, truth_, {TranslateAt::kNowhere, spaces_, {}}},
              starts_,
              done_,
              streams_,
              1,
              true,
              contexts}) {
    GuestMemory guest(PageSize::k4K);
    guest.allocate("buffer", 1 << 16);
    const auto changes = guest.take_page_changes();
    for (u32 i = 0; i < kTenants; ++i) spaces_.cover(TenantId(static_cast<u8>(i)), changes);
    Launch launch;
    launch.kernel = "script";
    launch.grid = {16, 1, 1};
    launch.block = {warps * kLanes, 1, 1};
    stream.begin_launch(launch);
    other.begin_launch(launch);
    const UnitId id = scheduler.add(unit, "sm");
    unit.connect(id);
    memory.connect(id);
    starts_.connect(dispatcher_.id(), id);
    done_.connect(id, dispatcher_.id());
    dispatcher_.always([this](Cycle now) { return done.take(done_, now); });
  }
  /// The dispatcher sends a block in that cycle.
  void start(Cycle at, u64 block, u32 launch = 1, u32 tenant = 0, std::shared_ptr<const BlockImage> image = nullptr,
             bool shares_sm = false) {
    dispatcher_.at(at, [=, this](Cycle now) {
      if (!starts_.can_push(now)) return false;
      starts_.push(now, {block, LaunchId{launch}, warps_, TenantId(static_cast<u8>(tenant)), image, shares_sm});
      return true;
    });
  }
  void run(Cycle until = 100'000) { scheduler.run(until); }
  StatTree statistics() {
    StatTree tree(kTenants);
    tree.add("sm", unit.stats);
    tree.add("memory", unit.load_store().stats);
    return tree;
  }
  void archive(Archive& a) {
    StatTree tree = statistics();
    a(scheduler, stream, other, accesses_, spaces_, truth_, memory, starts_, done_, dispatcher_, unit, done, tree);
  }
  /// Everything that began has ended.
  void finish() {
    run();
    unit.settle(scheduler.now());
    statistics().check_identities();
    EXPECT_TRUE(unit.idle()) << scheduler.explain();
    EXPECT_EQ(accesses_.live(), 0u);
  }

  Scheduler scheduler;
  WatchedStream stream, other;  // of the first and of the second tenant

 private:
  static constexpr NocConfig kNocConfig{.latency = kNoc, .flit_bytes = 256};
  static L1TlbConfig no_tlb() {
    L1TlbConfig config;
    config.hit_cycles = 0;
    return config;
  }
  std::function<PhysAddr(TenantId, VirtAddr)> locate() {
    return [this](TenantId tenant, VirtAddr va) { return spaces_.locate(tenant, va); };
  }
  std::vector<InstStream*> streams_;
  SmConfig config_;
  AccessPool accesses_;
  AddressSpaces spaces_;
  LineTruth truth_;

 public:
  FarMemory memory;

 private:
  BenchMap map_;
  Link<BlockStart> starts_;
  Link<BlockDone> done_;
  Scripted dispatcher_;
  u32 warps_;

 public:
  Sm unit;
  Inbox<BlockDone> done;
};

using Times = std::vector<Cycle>;

TEST(SmBench, AWarpIssuesWhenItsBlockArrivesAndTheDispatcherHearsOfItsEnd) {
  SmBench bench({compute({}, {1})});
  bench.start(10, 0);
  bench.finish();
  EXPECT_EQ(bench.stream.times(), (Times{11, 12})) << "the last one is its exit";
  EXPECT_EQ(bench.done.times(), Times{12 + kLink});
}

TEST(SmBench, ADependentInstructionWaitsForTheLatencyAndAnIndependentOneDoesNot) {
  SmBench bench({compute({}, {1}), compute({}, {2}), compute({1}, {3})});
  bench.start(0, 0);
  bench.finish();
  const u32 latency = one_scheduler().integer.latency;
  EXPECT_EQ(bench.stream.times(), (Times{1, 2, 1 + latency, 2 + latency}));
}

TEST(SmBench, AnInstructionThatWritesARegisterWaitsForTheLastWrite) {
  SmBench bench({compute({}, {1}), compute({}, {1})});
  bench.start(0, 0);
  bench.finish();
  EXPECT_EQ(bench.stream.times()[1], 1 + one_scheduler().integer.latency);
}

TEST(SmBench, EachSchedulerIssuesOnceACycleFromItsOwnWarps) {
  for (const u32 schedulers : {1u, 2u}) {
    SmConfig config = one_scheduler();
    config.schedulers = schedulers;
    SmBench bench({compute({}, {1}), compute({}, {2})}, 2, config);
    bench.start(0, 0);
    bench.finish();
    EXPECT_EQ(bench.stream.issues.back().at, 6 / schedulers) << "three instructions of two warps, from cycle 1 on";
  }
}

TEST(SmBench, AWarpThatPollsHoldsUpNobodyUntilItsNextBranch) {
  // Long enough that who issues while it can would hold up the other one.
  std::vector<ScriptOp> script(14, compute({}, {}));
  script.front() = of_class(InstClass::kControl);
  script.push_back(compute({}, {1}));
  script.push_back(compute({1}, {2}));
  SmBench alone(script);
  alone.start(0, 0);
  alone.finish();
  SmBench bench(script, 2);
  bench.stream.polls = true;
  bench.start(0, 0);
  bench.finish();
  Times expected = alone.stream.times(0);
  for (Cycle& at : expected) ++at;  // warp 0 is the older one until it has jumped
  EXPECT_EQ(bench.stream.times(1), expected);
}

TEST(SmBench, WhatReadsALoadIssuesWhenItsAnswerComes) {
  SmBench bench({access(MemoryAction::kLoad, 0, {1}), compute({}, {2}), compute({1}, {3})});
  bench.start(0, 0);
  bench.finish();
  EXPECT_EQ(bench.stream.times(), (Times{1, 2, 1 + kMissTrip, 2 + kMissTrip}));
}

TEST(SmBench, AStoreHoldsUpNothingButTheEndOfItsBlock) {
  SmBench bench({access(MemoryAction::kStore, 0), compute({}, {1})});
  bench.start(0, 0);
  bench.finish();
  EXPECT_EQ(bench.stream.times(), (Times{1, 2, 3}));
  EXPECT_EQ(bench.done.times(), Times{1 + kMissTrip + kLink});
}

TEST(SmBench, AFenceWaitsForStoresAndLoads) {
  for (const MemoryAction action : {MemoryAction::kStore, MemoryAction::kLoad}) {
    SmBench bench({access(action, 0, action == MemoryAction::kLoad ? std::vector<u16>{1} : std::vector<u16>{}),
                   of_class(InstClass::kFence)});
    bench.start(0, 0);
    bench.finish();
    EXPECT_EQ(bench.stream.times()[1], 1 + kMissTrip);
  }
}

TEST(SmBench, AWarpsNextAccessWaitsForItsAtomicAndArithmeticDoesNot) {
  SmBench bench({access(MemoryAction::kReduction, 0), compute({}, {1}), access(MemoryAction::kLoad, 1, {2})});
  bench.start(0, 0);
  bench.finish();
  EXPECT_EQ(bench.stream.times()[1], 2u);
  EXPECT_EQ(bench.stream.times()[2], 1 + kMissTrip);
}

ScriptOp tensor(u16 work, std::vector<u16> reads, std::vector<u16> writes) {
  ScriptOp op{plain_inst(InstClass::kTensor, std::move(reads), std::move(writes))};
  op.inst.tensor_work = work;
  return op;
}

TEST(SmBench, ATensorInstructionTakesItsPipelineAsLongAsItsWorkSays) {
  SmConfig config = one_scheduler();
  config.tensor = {.latency = 10, .macs = 256};
  // 2,048 multiply-accumulates take 8 cycles, 300 take 2; the result of the first is there after 10 + 7.
  SmBench bench({tensor(2048, {}, {1}), compute({}, {2}), tensor(300, {}, {3}), tensor(64, {}, {4}), compute({1}, {5})},
                1, config);
  bench.start(0, 0);
  bench.finish();
  EXPECT_EQ(bench.stream.times(), (Times{1, 2, 9, 11, 18, 19}));
  EXPECT_EQ(bench.unit.stats.tensor[TenantId{0}].value, 3u);
  EXPECT_EQ(bench.unit.stats.tensor_macs[TenantId{0}].value, 2048u + 300 + 64);
}

ScriptOp copy(u64 line) {
  return access(MemoryAction::kCopy, line);
}
ScriptOp of_copies(CopyOrder order, u8 groups = 0) {
  ScriptOp op = of_class(InstClass::kControl);
  op.inst.copy_order = order;
  op.inst.copy_groups = groups;
  return op;
}

TEST(SmBench, ACopyHoldsUpNothingButItsWaits) {
  SmBench bench({copy(0), compute({}, {1}), of_copies(CopyOrder::kCommit), of_copies(CopyOrder::kWaitGroups, 1),
                 of_copies(CopyOrder::kWaitGroups), compute({}, {2})});
  bench.start(0, 0);
  bench.finish();
  EXPECT_EQ(bench.stream.times(), (Times{1, 2, 3, 4, 1 + kMissTrip, 2 + kMissTrip, 3 + kMissTrip}));
  EXPECT_EQ(bench.unit.stats.async_copies[TenantId{0}].value, 1u);
  EXPECT_EQ(bench.unit.load_store().stats.lines[TenantId{0}].value, 1u);
}

TEST(SmBench, AWaitLetsTheYoungestGroupsBeUnderWay) {
  const ScriptOp commit = of_copies(CopyOrder::kCommit);
  // Copies issue in cycles 1, 3 and 5; the last is in no group.
  SmBench bench({copy(0), commit, copy(1), commit, copy(2), of_copies(CopyOrder::kWaitGroups, 1),
                 of_copies(CopyOrder::kWaitGroups, 0), of_copies(CopyOrder::kWaitAll)});
  bench.start(0, 0);
  bench.finish();
  EXPECT_EQ(bench.stream.times()[5], 1 + kMissTrip);
  EXPECT_EQ(bench.stream.times()[6], 3 + kMissTrip);
  EXPECT_EQ(bench.stream.times()[7], 5 + kMissTrip);
}

TEST(SmBench, ABlockEndsWhenItsCopiesHaveCome) {
  SmBench bench({copy(0)});
  bench.start(0, 0);
  bench.finish();
  EXPECT_EQ(bench.done.times(), Times{1 + kMissTrip + kLink});
}

TEST(SmBench, AnArrivalIsPerformedWhenTheCopiesBeforeItHaveCome) {
  ScriptOp arrival{memory_inst(MemoryAction::kReduction, MemorySpace::kShared, 8, {}, {}),
                   [](const ScriptPlace&, u32) { return 0; }};
  SmBench bench({copy(0), arrival, copy(1), of_copies(CopyOrder::kWaitAll)});
  bench.start(0, 0);
  bench.run(kMissTrip);
  EXPECT_EQ(bench.stream.atomic_lanes, 0u);
  bench.run(2 + kMissTrip);  // the first copy came in cycle 1 + kMissTrip, the second has not
  EXPECT_EQ(bench.stream.atomic_lanes, kLanes);
  bench.finish();
  EXPECT_EQ(bench.stream.times()[3], 3 + kMissTrip);
  EXPECT_EQ(bench.stream.atomic_lanes, kLanes);
}

TEST(SmBench, WithoutCopiesAnArrivalIsPerformedAtOnce) {
  ScriptOp arrival{memory_inst(MemoryAction::kReduction, MemorySpace::kShared, 8, {}, {}),
                   [](const ScriptPlace&, u32) { return 0; }};
  SmBench bench({arrival});
  bench.start(0, 0);
  bench.run(2);
  EXPECT_EQ(bench.stream.atomic_lanes, kLanes);
}

TEST(SmBench, ABarrierLetsEveryoneGoOneLatencyAfterTheLastArrival) {
  SmConfig config = one_scheduler();
  config.control.latency = 3;
  SmBench bench({of_class(InstClass::kBarrier), compute({}, {1})}, 2, config);
  bench.start(0, 0);
  bench.finish();
  // They arrive in cycles 1 and 2.
  EXPECT_EQ(bench.stream.times()[2], 2u + 3);
  EXPECT_EQ(bench.stream.times()[3], 2u + 4);
}

TEST(SmBench, AFullLoadStoreUnitHoldsBackAccessesAndNothingElse) {
  SmConfig config = one_scheduler();
  config.memory_queue = 1;
  SmBench bench({compute({}, {2}), wide_access()}, 2, config);
  bench.start(0, 0);
  bench.finish();
  // Computations in cycles 1 and 3 or so; the first access holds the queue until its last line has left.
  std::vector<Cycle> accesses;
  for (const FarMemory::Request& request : bench.memory.seen) accesses.push_back(request.at);
  ASSERT_EQ(accesses.size(), 2u * kLanes);
  EXPECT_GE(accesses[kLanes], accesses[kLanes - 1] + 1);
  EXPECT_EQ(bench.stream.issues.size(), 6u);
  const Cycle second_access = accesses[kLanes] - 1 - kNoc;
  EXPECT_EQ(second_access, accesses[kLanes - 1] - kNoc) << "it issues in the cycle in which the last line leaves";
}

TEST(SmBench, AnAccessThatFillsTheLoadStoreUnitHoldsBackTheOtherScheduler) {
  SmConfig config = one_scheduler();
  config.schedulers = 2;
  config.memory_queue = 1;
  SmBench bench({wide_access()}, 2, config);
  bench.start(0, 0);
  bench.finish();
  std::vector<Cycle> first(2, kNever);  // by warp
  for (const WatchedStream::Issue& issue : bench.stream.issues)
    first[issue.warp] = std::min(first[issue.warp], issue.at);
  EXPECT_EQ(first, (std::vector<Cycle>{1, bench.memory.seen[kLanes - 1].at - kNoc}))
      << "when the last line of the first access leaves";
}

TEST(SmBench, WhileTheDispatcherTakesNoWordEndedBlocksWait) {
  SmBench bench({compute({}, {1})});
  bench.done.open = 500;
  for (u64 block = 0; block < 3; ++block) bench.start(10, block);
  bench.finish();
  EXPECT_EQ(bench.done.seen.size(), 3u);
  EXPECT_EQ(bench.done.times()[0], 500u);
}

TEST(SmBench, ANewLaunchEmptiesTheL1AndAnotherBlockOfTheSameDoesNot) {
  SmBench bench({access(MemoryAction::kLoad, 0, {1})});
  bench.start(0, 0, 1);
  bench.start(200, 1, 1);
  bench.run(400);
  EXPECT_EQ(bench.memory.seen.size(), 1u);
  bench.start(400, 2, 2);
  bench.finish();
  EXPECT_EQ(bench.memory.seen.size(), 2u);
}

TEST(SmBench, ABlockOfAnOlderLaunchDoesNotEmptyTheL1) {
  SmBench bench({access(MemoryAction::kLoad, 0, {1})});
  bench.start(0, 0, 1);
  bench.start(200, 0, 2);
  bench.start(400, 1, 1);
  bench.start(600, 1, 2);
  bench.finish();
  EXPECT_EQ(bench.memory.seen.size(), 2u) << "each launch begins with an empty L1";
}

TEST(SmBench, WhatWasAskedForBeforeALaunchIsNotForItsLoads) {
  SmBench bench({access(MemoryAction::kLoad, 0, {1})});
  bench.start(0, 0, 1);
  bench.start(10, 0, 2);
  bench.finish();
  EXPECT_EQ(bench.memory.seen.size(), 2u) << "the first answer may be older than the second launch";
  EXPECT_EQ(bench.done.seen.size(), 2u);
  EXPECT_EQ(bench.done.seen[1].what.launch, LaunchId{2});
}

TEST(SmBench, AnotherTenantsBlockEmptiesTheL1) {
  SmBench bench({access(MemoryAction::kLoad, 0, {1})});
  bench.start(0, 0, 1, 0);
  bench.start(200, 0, 2, 1);
  bench.start(400, 1, 1, 0);
  bench.start(600, 1, 2, 1);  // neither launch is new to the SM any more
  bench.finish();
  EXPECT_EQ(bench.memory.seen.size(), 4u);
}

TEST(SmBench, BlocksOfTwoTenantsAtOnceAreAnErrorUnlessTheyShareTheSm) {
  for (const bool shared : {true, false}) {
    // No accesses: to change the root register while some are in flight is an error of its own.
    SmBench bench(std::vector<ScriptOp>(20, compute({}, {1})));
    bench.start(10, 0, 1, 0, nullptr, shared);
    bench.start(15, 0, 1, 1, nullptr, shared);  // the first still computes
    if (shared) {
      bench.finish();
      EXPECT_EQ(bench.stream.issues.size() + bench.other.issues.size(), 42u) << "20 computations and an exit of each";
    } else {
      EXPECT_THROW(bench.run(), ModelError);
    }
  }
}

TEST(SmBench, AnSmWithABlockDoesNotLoseItsPower) {
  SmBench bench({access(MemoryAction::kLoad, 1, {1}), compute({1}, {2})});
  bench.start(10, 0);
  bench.run(20);
  EXPECT_THROW(bench.unit.lose_power(), ModelError);
  bench.finish();
  EXPECT_NO_THROW(bench.unit.lose_power());
}

TEST(SmBench, HeldItIssuesNothingAndWhatIsUnderWayComesBack) {
  SmBench bench({access(MemoryAction::kLoad, 0, {1}), compute({}, {2}), compute({1}, {3})});
  bench.start(0, 0);
  bench.run(2);
  bench.unit.hold_issue(Sm::WhenDrained::kGoOn);
  EXPECT_FALSE(bench.unit.drained());
  bench.run(300);
  EXPECT_TRUE(bench.unit.drained());
  EXPECT_EQ(bench.stream.issues.size(), 1u);
  bench.unit.resume_issue(300);
  bench.finish();
  EXPECT_EQ(bench.stream.times()[1], 300u);
}

TEST(SmBench, HeldToStopTheRunItDoesSoWhenNothingIsUnderWay) {
  SmBench bench({access(MemoryAction::kLoad, 0, {1}), compute({1}, {2})});
  bench.start(0, 0);
  bench.run(2);
  bench.unit.hold_issue(Sm::WhenDrained::kStopRun);
  EXPECT_EQ(bench.scheduler.run(1000), Scheduler::End::kStopped);
  EXPECT_EQ(bench.scheduler.now() - 1, 1 + kMissTrip);
  bench.unit.resume_issue(bench.scheduler.now());
  bench.finish();
}

TEST(SmBench, BlocksThatLeaveUnfinishedGoOnWhereTheyWere) {
  SmBench bench({compute({}, {1}), compute({1}, {2}), compute({2}, {3})}, 2);
  bench.start(0, 4);
  bench.run(5);
  const std::size_t before = bench.stream.issues.size();
  bench.unit.hold_issue(Sm::WhenDrained::kGoOn);
  const auto blocks = bench.unit.take_blocks(5);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].block, 4u);
  EXPECT_EQ(blocks[0].launch, LaunchId{1});
  EXPECT_TRUE(bench.unit.idle());
  bench.unit.resume_issue(5);
  bench.start(50, 4, 1, 0, blocks[0].image);
  bench.finish();
  EXPECT_EQ(bench.stream.issues.size(), 8u) << "no instruction twice, none left out";
  EXPECT_EQ(bench.stream.times()[before], 51u);
  EXPECT_EQ(bench.done.seen.size(), 1u);
}

TEST(SmBench, ABlockThatGoesOnEmptiesTheL1) {
  SmBench bench({access(MemoryAction::kLoad, 0, {1}), compute({1}, {2}), access(MemoryAction::kLoad, 0, {3})});
  bench.start(0, 0);
  bench.run(1 + kMissTrip + 1);  // the load is back, the second one has not issued
  bench.unit.hold_issue(Sm::WhenDrained::kGoOn);
  const auto blocks = bench.unit.take_blocks(1 + kMissTrip + 1);
  bench.unit.resume_issue(1 + kMissTrip + 1);
  bench.start(200, 0, 1, 0, blocks.at(0).image);
  bench.finish();
  EXPECT_EQ(bench.memory.seen.size(), 2u);
}

TEST(SmBench, AnAbandonedTenantsWarpsEndWhereTheyStandAndTheirAnswersDrain) {
  SmBench bench({access(MemoryAction::kLoad, 0, {1}), compute({1}, {2})});
  bench.start(0, 0);
  bench.run(5);
  bench.unit.abandon(TenantId{0}, 5);
  bench.finish();
  EXPECT_EQ(bench.stream.times(), Times{1});
  EXPECT_EQ(bench.done.times(), Times{1 + kMissTrip + kLink});
}

TEST(SmBench, InTurnsATenantsWarpsWaitAsideAndGoOnWhereTheyWere) {
  SmBench bench({compute({}, {1}), compute({1}, {2}), compute({2}, {3})}, 1, one_scheduler(), kTenants);
  bench.start(0, 0, 1, 0);
  bench.run(3);
  bench.unit.hold_issue(Sm::WhenDrained::kGoOn);
  bench.unit.switch_to(TenantId{1}, 3, 20);
  bench.start(10, 0, 2, 1);
  bench.run(100);
  EXPECT_EQ(bench.stream.times(), Times{1});
  EXPECT_EQ(bench.other.times().at(0), 20u) << "not before the switch is over";
  EXPECT_EQ(bench.other.issues.size(), 4u);
  bench.unit.switch_to(TenantId{0}, 100, 110);
  bench.finish();
  EXPECT_EQ(bench.stream.times().at(1), 110u);
  EXPECT_EQ(bench.stream.issues.size(), 4u);
  EXPECT_EQ(bench.done.seen.size(), 2u);
}

TEST(SmBench, CyclesInWhichNobodyCouldIssueAreCounted) {
  SmBench bench({compute({}, {1}), compute({1}, {2})});
  bench.start(0, 0);
  bench.finish();
  const u32 latency = one_scheduler().integer.latency;
  EXPECT_EQ(bench.unit.stats.busy_cycles.value, 3u);
  EXPECT_EQ(bench.unit.stats.stall_cycles.value, latency - 1);
}

/// What is done to a bench before a cycle.
struct Deed {
  Cycle at;
  std::function<void(SmBench&)> deed;
};

/// It goes on from cycle `from` to cycle `until`.
void go_on(SmBench& bench, const std::vector<Deed>& deeds, Cycle from, Cycle until) {
  for (const Deed& each : deeds) {
    if (each.at < from || each.at >= until) continue;
    bench.run(each.at);
    each.deed(bench);
  }
  bench.run(until);
}

/// Saved before any cycle a bench goes on as if nothing had been.
void expect_checkpoints(const std::function<std::unique_ptr<SmBench>()>& begin, const std::vector<Deed>& deeds) {
  constexpr Cycle kLatest = 100'000;
  const auto undisturbed = begin();
  go_on(*undisturbed, deeds, 0, kLatest);
  undisturbed->finish();
  const std::string statistics = undisturbed->statistics().csv();
  const Cycle last = undisturbed->done.times().back();
  ASSERT_GT(last, 100u);
  for (Cycle at = 1; at < last; at += 5) {
    const auto first = begin(), second = begin();
    go_on(*first, deeds, 0, at);
    copy_state(*first, *second);
    go_on(*second, deeds, at, kLatest);
    second->finish();
    ASSERT_EQ(second->statistics().csv(), statistics) << "saved before cycle " << at;
    ASSERT_EQ(second->stream.issues, undisturbed->stream.issues) << "saved before cycle " << at;
    ASSERT_EQ(second->other.issues, undisturbed->other.issues) << "saved before cycle " << at;
    ASSERT_EQ(second->memory.times(), undisturbed->memory.times());
    ASSERT_EQ(second->done.times(), undisturbed->done.times());
    ASSERT_EQ(second->stream.atomic_lanes, undisturbed->stream.atomic_lanes);
    for (u8 i = 0; i < kTenants; ++i)
      ASSERT_EQ(second->unit.warps_seen(TenantId{i}), undisturbed->unit.warps_seen(TenantId{i}));
  }
}

/// Everything that warps wait for.
std::vector<ScriptOp> script_of_all_kinds() {
  ScriptOp wide = access(MemoryAction::kLoad, 0, {1});
  wide.address = [](const ScriptPlace& place, u32 lane) {
    return GuestMemory::kBase + (place.block * 2 + lane % 5) * kLineBytes;
  };
  const ScriptOp arrival{memory_inst(MemoryAction::kReduction, MemorySpace::kShared, 8, {}, {}),
                         [](const ScriptPlace&, u32) { return 0; }};
  const ScriptOp shared{memory_inst(MemoryAction::kLoad, MemorySpace::kShared, 4, {}, {3}),
                        [](const ScriptPlace&, u32 lane) { return lane * 8; }};
  return {wide,
          compute({}, {2}),
          copy(30),
          arrival,
          of_copies(CopyOrder::kCommit),
          shared,
          access(MemoryAction::kStore, 40),
          tensor(2048, {2}, {4}),
          compute({1, 3}, {5}),
          of_class(InstClass::kBarrier),
          access(MemoryAction::kAtomic, 40, {6}),
          copy(31),
          of_copies(CopyOrder::kCommit),
          of_copies(CopyOrder::kWaitGroups, 1),
          compute({4, 6}, {7}),
          of_class(InstClass::kFence),
          of_copies(CopyOrder::kWaitGroups),
          copy(32),
          of_copies(CopyOrder::kWaitAll)};
}

TEST(SmCheckpoint, SavedBeforeAnyCycleItGoesOnAsIfNothingHadBeen) {
  for (const std::string policy : {"gto", "lrr", "tenant_gto"}) {
    SmConfig config;
    config.memory_queue = 2;
    config.control.latency = 3;
    config.warp_scheduler.use = policy;
    const auto begin = [&] {
      auto bench = std::make_unique<SmBench>(script_of_all_kinds(), 3, config);
      bench->done.open = 250;
      for (u64 block = 0; block < 3; ++block) {
        bench->start(10 * block, block, 1, 0, nullptr, true);
        bench->start(15 * block, block, 1, 1, nullptr, true);
      }
      return bench;
    };
    expect_checkpoints(begin, {{60, [](SmBench& bench) { bench.unit.hold_issue(Sm::WhenDrained::kGoOn); }},
                               {140, [](SmBench& bench) { bench.unit.resume_issue(140); }},
                               {150, [](SmBench& bench) { bench.unit.begin_epoch(); }}});
  }
}

TEST(SmCheckpoint, LikewiseWhenTenantsTakeTurns) {
  const auto begin = [] {
    auto bench = std::make_unique<SmBench>(script_of_all_kinds(), 2, one_scheduler(), kTenants);
    for (u64 block = 0; block < 2; ++block) bench->start(5 * block, block, 1, 0);
    for (u64 block = 0; block < 2; ++block) bench->start(260, block, 1, 1);
    return bench;
  };
  const auto hold = [](SmBench& bench) { bench.unit.hold_issue(Sm::WhenDrained::kGoOn); };
  const auto turn = [](u32 tenant, Cycle now) {
    return [=](SmBench& bench) { bench.unit.switch_to(TenantId(static_cast<u8>(tenant)), now, now + 10); };
  };
  expect_checkpoints(
      begin, {{70, hold}, {250, turn(1, 250)}, {330, hold}, {500, turn(0, 500)}, {900, hold}, {1000, turn(1, 1000)}});
}

}  // namespace
}  // namespace terrace
