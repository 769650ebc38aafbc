// The block dispatcher alone: SMs that take blocks and give them back at stated cycles.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <memory>

#include "benches/scripted.h"
#include "engine/check.h"
#include "stats/stat_tree.h"
#include "tenancy/block_dispatcher.h"

namespace terrace {
namespace {

constexpr TenantId kOne{0}, kTwo{1};
constexpr LaunchId kFirst{1}, kSecond{2};
constexpr u32 kWidth = 32;

LaunchShape shape(u64 blocks, u32 warps = 1, u32 registers = 8, u32 shared_bytes = 0, LaunchId launch = kFirst) {
  return {"kernel", blocks, warps * kWidth, warps, registers, shared_bytes, 64, launch};
}

class DispatcherBench {
 public:
  struct Options {
    u32 sms = 2;
    SmRoom room{.warps = 8, .blocks = 8, .registers = 65536, .shared_bytes = 65536};
    std::vector<std::vector<u32>> sms_of_tenant = {{0, 1}, {}};
    bool take_turns = false;
    ContextMover mover = {};
    u32 blocks_per_kcycle = 0;
  };
  DispatcherBench() : DispatcherBench(Options{}) {}
  explicit DispatcherBench(const Options& options) : blocks(options.sms) {
    std::vector<BlockDispatcher::SmPort> ports;
    for (u32 i = 0; i < options.sms; ++i) {
      starts_.push_back(std::make_unique<Link<BlockStart>>(scheduler, LinkShape{}));
      done_.push_back(std::make_unique<Link<BlockDone>>(scheduler, LinkShape{}));
      ports.push_back({starts_[i].get(), done_[i].get()});
    }
    unit = std::make_unique<BlockDispatcher>(scheduler, options.room, kWidth, ports, options.sms_of_tenant,
                                             options.take_turns, options.mover, options.blocks_per_kcycle);
    const UnitId id = scheduler.add(*unit, "dispatcher");
    unit->connect(id);
    for (u32 i = 0; i < options.sms; ++i) {
      sms_.push_back(std::make_unique<Scripted>(scheduler, "sm"));
      starts_[i]->connect(id, sms_[i]->id());
      done_[i]->connect(sms_[i]->id(), id);
      sms_[i]->always([this, i](Cycle now) { return blocks[i].take(*starts_[i], now); });
    }
    scheduler.run(1);
  }
  /// The SM gives back one block of the launch.
  void give_back(Cycle at, u32 sm, TenantId tenant = kOne, LaunchId launch = kFirst) {
    sms_[sm]->at(at, [=, this](Cycle now) {
      if (!done_[sm]->can_push(now)) return false;
      done_[sm]->push(now, {tenant, launch});
      return true;
    });
  }
  void run(Cycle until = 10'000) {
    while (scheduler.run(until) == Scheduler::End::kStopped) stops.push_back(scheduler.now() - 1);
  }
  std::vector<LaunchId> finished() {
    std::vector<LaunchId> all;
    for (const BlockDispatcher::Ended& ended : unit->take_finished()) all.push_back(ended.launch);
    return all;
  }
  std::vector<u64> numbers(u32 sm) const {
    std::vector<u64> all;
    for (const auto& arrival : blocks[sm].seen) all.push_back(arrival.what.block);
    return all;
  }

  Scheduler scheduler;
  std::unique_ptr<BlockDispatcher> unit;
  std::vector<Inbox<BlockStart>> blocks;  // by SM
  std::vector<Cycle> stops;               // cycles in which the run was stopped

 private:
  std::vector<std::unique_ptr<Link<BlockStart>>> starts_;
  std::vector<std::unique_ptr<Link<BlockDone>>> done_;
  std::vector<std::unique_ptr<Scripted>> sms_;
};

using Numbers = std::vector<u64>;
using Times = std::vector<Cycle>;
using Launches = std::vector<LaunchId>;

TEST(DispatcherBench, BlocksLeaveInOrderOnePerSmAndCycle) {
  DispatcherBench bench;
  bench.unit->launch(kOne, shape(5), 10);
  bench.run();
  EXPECT_EQ(bench.numbers(0), (Numbers{0, 2, 4}));
  EXPECT_EQ(bench.numbers(1), (Numbers{1, 3}));
  EXPECT_EQ(bench.blocks[0].times(), (Times{11, 12, 13}));
}

TEST(DispatcherBench, AMachineMayLimitHowFastBlocksLeaveAndServesSmsAround) {
  DispatcherBench bench({.blocks_per_kcycle = 400});
  bench.unit->launch(kOne, shape(5), 10);
  bench.run();
  EXPECT_EQ(bench.numbers(0), (Numbers{0, 2, 4}));
  EXPECT_EQ(bench.numbers(1), (Numbers{1, 3}));
  EXPECT_EQ(bench.blocks[0].times(), (Times{11, 16, 21}));
  EXPECT_EQ(bench.blocks[1].times(), (Times{13, 18})) << "two in five cycles";
}

TEST(DispatcherBench, OfALimitedMachineTenantsTakeTurns) {
  DispatcherBench bench({.sms_of_tenant = {{0}, {1}}, .blocks_per_kcycle = 1000});
  bench.unit->launch(kOne, shape(3), 10);
  bench.unit->launch(kTwo, shape(3), 10);
  bench.run();
  EXPECT_EQ(bench.blocks[0].times(), (Times{11, 13, 15}));
  EXPECT_EQ(bench.blocks[1].times(), (Times{12, 14, 16}));
}

TEST(DispatcherBench, ALimitSavesNothingUpWhileNoBlockCanLeave) {
  DispatcherBench bench({.sms = 1,
                         .room = {.warps = 4, .blocks = 1, .registers = 65536},
                         .sms_of_tenant = {{0}},
                         .blocks_per_kcycle = 100});
  bench.unit->launch(kOne, shape(3), 10);
  bench.give_back(100, 0);
  bench.give_back(103, 0);
  bench.run();
  EXPECT_EQ(bench.blocks[0].times(), (Times{11, 102, 112}));
}

struct Limit {
  const char* what;
  SmRoom room;
};
class DispatcherRoom : public testing::TestWithParam<Limit> {};

TEST_P(DispatcherRoom, ABlockWithoutRoomWaitsUntilOneComesBack) {
  DispatcherBench bench({.sms = 1, .room = GetParam().room, .sms_of_tenant = {{0}}});
  bench.unit->launch(kOne, shape(3, 2, 16, 1000), 10);
  bench.give_back(100, 0);
  bench.run();
  EXPECT_EQ(bench.blocks[0].times(), (Times{11, 12, 102})) << "back in cycle 101, and the next one leaves at once";
}

INSTANTIATE_TEST_SUITE_P(Of, DispatcherRoom,
                         testing::Values(Limit{"warps", {5, 8, 65536, 65536}}, Limit{"blocks", {64, 2, 65536, 65536}},
                                         Limit{"registers", {64, 8, 2 * 16 * 2 * kWidth, 65536}},
                                         Limit{"shared", {64, 8, 65536, 2999}}),
                         [](const auto& tested) { return tested.param.what; });

TEST(DispatcherBench, ABlockThatFitsOnNoSmIsTheUsersError) {
  DispatcherBench bench;
  EXPECT_THROW(bench.unit->launch(kOne, shape(1, 9), 10), InputError);
}

TEST(DispatcherBench, ATenantsBlocksGoToItsOwnSms) {
  DispatcherBench bench({.sms_of_tenant = {{1}, {0}}});
  bench.unit->launch(kOne, shape(2), 10);
  bench.unit->launch(kTwo, shape(1), 10);
  bench.run();
  EXPECT_EQ(bench.numbers(1), (Numbers{0, 1}));
  ASSERT_EQ(bench.numbers(0), Numbers{0});
  EXPECT_EQ(bench.blocks[0].seen[0].what.tenant, kTwo);
}

TEST(DispatcherBench, AnSmThatTakesNoBlockHoldsUpNoOther) {
  DispatcherBench bench;
  bench.blocks[0].open = 200;
  bench.unit->launch(kOne, shape(8), 10);
  bench.run();
  // Two of its blocks lie on the link; the others find room elsewhere.
  EXPECT_EQ(bench.numbers(0), (Numbers{0, 2}));
  EXPECT_EQ(bench.numbers(1), (Numbers{1, 3, 4, 5, 6, 7}));
}

TEST(DispatcherBench, ALaunchEndsWithItsLastBlockAndStopsTheRun) {
  DispatcherBench bench;
  bench.unit->launch(kOne, shape(2), 10);
  bench.give_back(100, 0);
  bench.give_back(200, 1);
  bench.run();
  EXPECT_EQ(bench.stops, Times{201});
  EXPECT_EQ(bench.finished(), Launches{kFirst});
  EXPECT_FALSE(bench.unit->running(kOne));
}

TEST(DispatcherBench, OfLaunchesInFlightTheOldestSendsFirstAndTheNextGetsTheRoomThatIsLeft) {
  DispatcherBench bench({.sms = 1, .room = {.warps = 4, .blocks = 4, .registers = 65536}, .sms_of_tenant = {{0}}});
  bench.unit->launch(kOne, shape(3), 10);
  bench.unit->launch(kOne, shape(3, 1, 8, 0, kSecond), 10);
  bench.give_back(100, 0);
  bench.give_back(200, 0, kOne, kSecond);
  bench.run();
  EXPECT_EQ(bench.numbers(0), (Numbers{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(bench.blocks[0].times(), (Times{11, 12, 13, 14, 102, 202}));
  Launches launches;
  for (const auto& block : bench.blocks[0].seen) launches.push_back(block.what.launch);
  EXPECT_EQ(launches, (Launches{kFirst, kFirst, kFirst, kSecond, kSecond, kSecond}));
}

TEST(DispatcherBench, ALaunchDoesNotOvertakeAnOlderOneWhoseBlocksAreTooLarge) {
  DispatcherBench bench({.sms = 1, .sms_of_tenant = {{0}}});
  bench.unit->launch(kOne, shape(2, 5), 10);
  bench.unit->launch(kOne, shape(1, 1, 8, 0, kSecond), 10);
  bench.give_back(100, 0);
  bench.run();
  EXPECT_EQ(bench.blocks[0].times(), (Times{11, 102, 103})) << "three warps have had no work until then";
}

TEST(DispatcherBench, LaunchesInFlightEndEachWithItsOwnLastBlock) {
  DispatcherBench bench;
  bench.unit->launch(kOne, shape(1), 10);
  bench.unit->launch(kOne, shape(1, 2, 8, 0, kSecond), 10);
  bench.give_back(100, 0, kOne, kSecond);
  bench.run(150);
  EXPECT_EQ(bench.finished(), Launches{kSecond});
  EXPECT_TRUE(bench.unit->running(kOne));
  bench.give_back(200, 0);
  bench.run();
  EXPECT_EQ(bench.finished(), Launches{kFirst});
  EXPECT_FALSE(bench.unit->running(kOne));
}

TEST(DispatcherBench, UnfinishedBlocksOfAnOlderLaunchGoFirst) {
  DispatcherBench bench({.sms = 1, .room = {.warps = 2, .blocks = 2, .registers = 65536}, .sms_of_tenant = {{0}}});
  bench.unit->launch(kOne, shape(1), 10);
  bench.unit->launch(kOne, shape(2, 1, 16, 0, kSecond), 10);
  bench.run(50);
  const auto image = std::make_shared<const BlockImage>();
  EXPECT_EQ(bench.unit->context_bytes(kOne, kSecond), 2 * bench.unit->context_bytes(kOne, kFirst));
  bench.unit->take_back(0, {{0, kFirst, kOne, image}, {0, kSecond, kOne, image}}, 50);
  bench.run();
  Launches launches;
  for (const auto& block : bench.blocks[0].seen) launches.push_back(block.what.launch);
  EXPECT_EQ(launches, (Launches{kFirst, kSecond, kFirst, kSecond}));
  EXPECT_EQ(bench.numbers(0), (Numbers{0, 0, 0, 0}));
}

TEST(DispatcherBench, ACancelEndsAllLaunchesOfItsTenant) {
  DispatcherBench bench({.sms = 1, .room = {.warps = 1, .blocks = 1, .registers = 65536}, .sms_of_tenant = {{0}}});
  bench.unit->launch(kOne, shape(5), 10);
  bench.unit->launch(kOne, shape(5, 1, 8, 0, kSecond), 10);
  bench.run(50);
  bench.unit->cancel(kOne);
  EXPECT_EQ(bench.finished(), Launches{kSecond}) << "nothing of it is under way";
  bench.give_back(100, 0);
  bench.run();
  EXPECT_EQ(bench.finished(), Launches{kFirst});
}

TEST(DispatcherBench, AfterACancelNoBlockLeavesAndTheLaunchEndsWithThoseUnderWay) {
  DispatcherBench bench({.sms = 1, .room = {.warps = 1, .blocks = 1, .registers = 65536}, .sms_of_tenant = {{0}}});
  bench.unit->launch(kOne, shape(5), 10);
  bench.run(50);
  bench.unit->cancel(kOne);
  EXPECT_TRUE(bench.unit->running(kOne));
  bench.give_back(100, 0);
  bench.run();
  EXPECT_EQ(bench.numbers(0), Numbers{0});
  EXPECT_EQ(bench.finished(), Launches{kFirst});
}

TEST(DispatcherBench, AnSmThatChangesHandsGetsItsFirstBlockWhenAllOthersAreBack) {
  DispatcherBench bench({.sms = 1, .sms_of_tenant = {{0}, {}}});
  bench.unit->launch(kOne, shape(2), 10);
  bench.run(50);
  bench.unit->launch(kTwo, shape(1), 50);
  bench.unit->assign({SmUse{kTwo}}, 50);
  bench.give_back(100, 0);
  bench.give_back(200, 0);
  bench.run();
  EXPECT_EQ(bench.blocks[0].times(), (Times{11, 12, 202}));
  EXPECT_EQ(bench.blocks[0].seen[2].what.tenant, kTwo);
}

/// The registers of a block of shape() take this many cycles to memory.
constexpr Cycle kContextCycles = 30;
const ContextMover kMover(kWidth * 8 * 4, kContextCycles);

TEST(DispatcherBench, UnfinishedBlocksGoBeforeThoseThatHaveNotBegunAndBringTheirImage) {
  DispatcherBench bench(
      {.sms = 1, .room = {.warps = 1, .blocks = 1, .registers = 65536}, .sms_of_tenant = {{0}}, .mover = kMover});
  bench.unit->launch(kOne, shape(3), 10);
  bench.run(50);
  const auto image = std::make_shared<const BlockImage>();
  EXPECT_EQ(bench.unit->take_back(0, {{0, kFirst, kOne, image}}, 50), 50 + kContextCycles);
  bench.give_back(150, 0);
  bench.run();
  EXPECT_EQ(bench.numbers(0), (Numbers{0, 0, 1}));
  EXPECT_EQ(bench.blocks[0].times(), (Times{11, 51 + 2 * kContextCycles, 152}))
      << "the SM is closed until its registers have left, and the block goes on when they are back";
  EXPECT_EQ(bench.unit->saved_bytes(kOne), bench.unit->context_bytes(kOne, kFirst));
  EXPECT_EQ(bench.unit->restored_bytes(kOne), bench.unit->context_bytes(kOne, kFirst));
  EXPECT_EQ(bench.blocks[0].seen[1].what.image, image);
  EXPECT_EQ(bench.blocks[0].seen[2].what.image, nullptr);
}

TEST(DispatcherBench, InTurnsOnlyTheTenantWhoseTurnItIsSends) {
  DispatcherBench bench({.sms = 1, .sms_of_tenant = {{0}, {0}}, .take_turns = true});
  bench.unit->launch(kOne, shape(1), 10);
  bench.unit->launch(kTwo, shape(1), 10);
  bench.run(50);
  EXPECT_EQ(bench.numbers(0), Numbers{}) << "nobody's turn";
  bench.unit->give_turn(kTwo, 60);
  bench.run(100);
  ASSERT_EQ(bench.blocks[0].times(), Times{61});
  EXPECT_EQ(bench.blocks[0].seen[0].what.tenant, kTwo);
  bench.unit->end_turn();
  bench.unit->give_turn(kOne, 120);
  bench.run();
  EXPECT_EQ(bench.blocks[0].times(), (Times{61, 121})) << "although the other's block is still there";
}

TEST(DispatcherBench, WhoHoldsAnSmIsKnownUntilItsLastBlockIsBack) {
  DispatcherBench bench({.sms = 1, .sms_of_tenant = {{0}, {}}});
  EXPECT_TRUE(bench.unit->empty(0));
  bench.unit->launch(kOne, shape(1), 10);
  bench.run(11);
  EXPECT_EQ(bench.unit->held(0, kOne), 1u) << "on its way";
  EXPECT_EQ(bench.unit->held(0, kTwo), 0u);
  bench.give_back(50, 0);
  bench.run();
  EXPECT_EQ(bench.unit->held(0, kOne), 0u);
  EXPECT_TRUE(bench.unit->empty(0));
}

TEST(DispatcherBench, ContextsShareThePathToMemory) {
  DispatcherBench bench({.sms = 2, .sms_of_tenant = {{0, 1}}, .mover = kMover});
  bench.unit->launch(kOne, shape(2), 10);
  bench.run(50);
  const auto image = std::make_shared<const BlockImage>();
  EXPECT_EQ(bench.unit->take_back(0, {{0, kFirst, kOne, image}}, 50), 50 + kContextCycles);
  EXPECT_EQ(bench.unit->take_back(1, {{1, kFirst, kOne, image}}, 50), 50 + 2 * kContextCycles);
  bench.run();
  ASSERT_EQ(bench.blocks[0].seen.size(), 3u) << "the SM that is open first has room for both";
  EXPECT_EQ(bench.blocks[0].times()[1], 51 + 3 * kContextCycles);
  EXPECT_EQ(bench.blocks[0].times()[2], 51 + 4 * kContextCycles);
}

TEST(DispatcherBench, ABlockThatIsNotYetBackIsGoneWithItsTenant) {
  DispatcherBench bench({.sms = 1, .sms_of_tenant = {{0}}, .mover = kMover});
  bench.unit->launch(kOne, shape(1), 10);
  bench.run(50);
  bench.unit->take_back(0, {{0, kFirst, kOne, std::make_shared<const BlockImage>()}}, 50);
  bench.run(100);
  EXPECT_TRUE(bench.unit->restores(0));
  bench.unit->cancel(kOne);
  EXPECT_FALSE(bench.unit->restores(0));
  EXPECT_TRUE(bench.unit->empty(0));
  EXPECT_EQ(bench.finished(), Launches{kFirst});
  bench.run();
  EXPECT_EQ(bench.numbers(0), Numbers{0}) << "nothing comes any more";
}

TEST(DispatcherBench, OnASharedSmEachTenantHasItsQuota) {
  DispatcherBench bench({.sms = 1, .sms_of_tenant = {{0}, {}}});
  SmUse use;
  use.quotas[0] = 2;
  use.quotas[1] = 3;
  bench.unit->assign({use}, 1);
  bench.unit->launch(kOne, shape(9), 10);
  bench.unit->launch(kTwo, shape(9), 10);
  bench.run(50);
  EXPECT_EQ(bench.unit->held(0, kOne), 2u);
  EXPECT_EQ(bench.unit->held(0, kTwo), 3u);
  for (const auto& block : bench.blocks[0].seen) EXPECT_TRUE(block.what.shares_sm);
  bench.give_back(60, 0, kTwo);
  bench.run(100);
  EXPECT_EQ(bench.blocks[0].seen.size(), 6u);
  EXPECT_EQ(bench.blocks[0].seen.back().what.tenant, kTwo) << "the place is its own";
}

TEST(DispatcherBench, AnOwnerMayHaveAQuotaToo) {
  DispatcherBench bench({.sms = 1, .sms_of_tenant = {{0}}});
  SmUse use{kOne};
  use.quotas[0] = 3;
  bench.unit->assign({use}, 1);
  bench.unit->launch(kOne, shape(9), 10);
  bench.run(50);
  EXPECT_EQ(bench.unit->held(0, kOne), 3u);
  EXPECT_FALSE(bench.blocks[0].seen[0].what.shares_sm);
}

TEST(DispatcherBench, AWatchedSmStopsTheRunWhenABlockIsBack) {
  DispatcherBench bench({.sms = 1, .sms_of_tenant = {{0}}});
  bench.unit->launch(kOne, shape(3), 10);
  bench.unit->watch(0, true);
  bench.give_back(60, 0);
  bench.run(100);
  EXPECT_EQ(bench.stops, Times{61});
}

TEST(DispatcherBench, ABlocksContextIsItsRegistersAndItsSharedMemory) {
  DispatcherBench bench;
  bench.unit->launch(kOne, shape(1, 2, 16, 1000), 10);
  EXPECT_EQ(bench.unit->context_bytes(kOne, kFirst), 2u * kWidth * 16 * 4 + 1000);
}

}  // namespace
}  // namespace terrace
