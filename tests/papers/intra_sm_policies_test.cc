// SMs that tenants share block by block (SMK), found in the manner of Warped-Slicer, and Maestro, which keeps the better
// of sharing and dividing.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "papers/scripted_machine.h"
#include "tenancy/intra_sm.h"

namespace terrace {
namespace {

using Counts = std::vector<u32>;
using Curves = std::vector<std::vector<u64>>;
constexpr SmRoom kWhole{.warps = 48, .blocks = 8, .registers = 32768, .shared_bytes = 49152};

SmRoom block(u64 warps, u64 registers = 0, u64 shared = 0) {
  return {warps, 1, registers, shared};
}

TEST(DivideSm, TheOneWithTheLeastPartOfItsBestIpcGetsTheNextBlock) {
  // Both grow evenly: four each.
  const std::vector<u64> line{0, 10, 20, 30, 40, 50, 60, 70, 80};
  EXPECT_EQ(divide_sm(kWhole, {block(1), block(1)}, {line, line}), (Counts{4, 4}));
  // The second has all it can get with two; the first gets the rest.
  EXPECT_EQ(divide_sm(kWhole, {block(1), block(1)}, {line, {0, 50, 99, 99, 99, 99, 99, 99, 99}}), (Counts{6, 2}));
}

TEST(DivideSm, BlocksThatGainNothingAreNotGivenAlone) {
  // Two blocks do no better than one, and three do.
  const Curves curves{{0, 11, 11, 30}, {0, 10, 20, 30}};
  EXPECT_EQ(divide_sm({.warps = 4, .blocks = 8}, {block(1), block(1)}, curves), (Counts{1, 3}))
      << "two more of the first do not fit beside what the second has by then";
  EXPECT_EQ(divide_sm({.warps = 6, .blocks = 8}, {block(1), block(1)}, curves), (Counts{3, 3}));
  // Fewer do better: it keeps one.
  EXPECT_EQ(divide_sm(kWhole, {block(1), block(1)}, {{0, 30, 20, 10}, {0, 10, 20, 30}}), (Counts{1, 3}));
}

TEST(DivideSm, EveryResourceLimits) {
  const Curves curves{{0, 1, 2, 3, 4, 5, 6, 7, 8}, {0, 1, 2, 3, 4, 5, 6, 7, 8}};
  EXPECT_EQ(divide_sm(kWhole, {block(16), block(8)}, curves), (Counts{2, 2}));
  EXPECT_EQ(divide_sm(kWhole, {block(1, 8192), block(1, 16384)}, curves), (Counts{2, 1}));
  EXPECT_EQ(divide_sm(kWhole, {block(1, 0, 16384), block(1, 0, 16384)}, curves), (Counts{2, 1}));
  EXPECT_EQ(divide_sm(kWhole, {block(40), block(16)}, curves), Counts{}) << "one of each does not fit";
}

PaperTenant tenant(std::vector<u64> by_blocks) {
  PaperTenant result;
  result.kilo_ipc_of_sm = [=](u32 blocks) { return by_blocks[std::min<size_t>(blocks, by_blocks.size() - 1)]; };
  result.block = block(6);
  return result;
}
const std::vector<u64> kGrows{0, 100, 200, 300, 400, 500, 600, 700, 800};
const std::vector<u64> kSaturates{0, 300, 600, 600, 600, 600, 600, 600, 600};

TEST(IntraSm, ProfilesOneToEightBlocksOnSmsOfTheTenantsOwn) {
  PaperMachine paper(std::make_unique<IntraSm>(PaperMachine::context(2), IntraSm::Params{}),
                     {tenant(kGrows), tenant(kSaturates)});
  paper.arrive({0, 1});
  paper.run_until(10'000);
  for (const u32 id : {0u, 1u}) {
    const std::vector<u32> its = paper.plan.owned(TenantId(id));
    ASSERT_EQ(its.size(), 12u);
    for (u32 i = 0; i < 12; ++i) EXPECT_EQ(paper.plan.sms[its[i]].quotas[id], 1 + i % 8);
  }
  paper.run_until(100'000);
  EXPECT_TRUE(paper.said("warp instructions on an SM, by blocks: 2000 4000 6000 8000 10000 12000 14000 16000"));
  for (const SmUse& use : paper.plan.sms) {
    EXPECT_TRUE(use.shared());
    EXPECT_EQ(use.quotas[0], 6);
    EXPECT_EQ(use.quotas[1], 2);
  }
  EXPECT_FALSE(paper.policy->searching());
}

TEST(IntraSm, BlockCountsThatWereNotTriedLieBetweenThoseThatWere) {
  // Eight tenants have three SMs each: 1, 4 and 8 blocks.
  std::vector<PaperTenant> eight(8, tenant(kGrows));
  PaperMachine paper(std::make_unique<IntraSm>(PaperMachine::context(8), IntraSm::Params{}), eight);
  paper.arrive({0, 1, 2, 3, 4, 5, 6, 7});
  paper.run_until(10'000);
  const std::vector<u32> its = paper.plan.owned(TenantId(0));
  ASSERT_EQ(its.size(), 3u);
  EXPECT_EQ(paper.plan.sms[its[0]].quotas[0], 1);
  EXPECT_EQ(paper.plan.sms[its[1]].quotas[0], 4);
  EXPECT_EQ(paper.plan.sms[its[2]].quotas[0], 8);
  paper.run_until(100'000);
  EXPECT_TRUE(paper.said("by blocks: 2000 4000 6000 8000 10000 12000 14000 16000"));
  for (u32 id = 0; id < 8; ++id) EXPECT_EQ(paper.plan.sms[0].quotas[id], 1) << "48 warps hold one block of each";
}

TEST(IntraSm, WithoutRoomForABlockOfEachSharesAreEven) {
  PaperTenant large = tenant(kGrows);
  large.block = block(40);
  PaperMachine paper(std::make_unique<IntraSm>(PaperMachine::context(2), IntraSm::Params{}), {large, large});
  paper.arrive({0, 1});
  paper.run_until(100'000);
  EXPECT_EQ(paper.plan.owned(TenantId(0)).size(), 12u);
  EXPECT_EQ(paper.plan.sms[0].quotas[0], 0) << "and it may fill them";
}

TEST(IntraSm, KernelsThatTakeTurnsFasterThanWindowsAreProfiledOnce) {
  PaperMachine paper(std::make_unique<IntraSm>(PaperMachine::context(2), IntraSm::Params{}),
                     {tenant(kGrows), tenant(kSaturates)});
  paper.arrive({0, 1});
  for (bool large = true; paper.now < 500'000; large = !large) {
    paper.run_until(paper.now + 7'000);
    paper.launch(0, block(large ? 12 : 6));
  }
  paper.run_until(paper.now + 1);
  EXPECT_FALSE(paper.policy->searching());
  EXPECT_TRUE(paper.plan.sms[0].shared());
  const auto windows = std::count_if(paper.log.begin(), paper.log.end(),
                                     [](const SmDecision& each) { return each.text.starts_with("profile with"); });
  EXPECT_EQ(windows, 2) << "one, with a line for each tenant: it began with one kernel and ended with the other";
}

TEST(IntraSm, AKernelWithOtherBlocksIsProfiledWhenItComes) {
  PaperMachine paper(std::make_unique<IntraSm>(PaperMachine::context(2), IntraSm::Params{}),
                     {tenant(kGrows), tenant(kSaturates)});
  paper.arrive({0, 1});
  paper.run_until(100'000);
  EXPECT_EQ(paper.plan.sms[0].quotas[0], 6);
  paper.launch(0, block(24));
  paper.run_until(110'000);
  EXPECT_EQ(paper.plan.owned(TenantId(0)).size(), 12u) << "SMs of its own again";
  paper.run_until(200'000);
  EXPECT_EQ(paper.plan.sms[0].quotas[0], 1) << "two would leave no room for the other";
  paper.launch(0, block(6));
  paper.run_until(200'001);
  EXPECT_EQ(paper.plan.sms[0].quotas[0], 6) << "known, and at once";
}

std::unique_ptr<SmPartitioner> maestro(u32 tenants) {
  return Registry<SmPartitioner>::instance().make("maestro", PaperMachine::context(tenants));
}

TEST(Maestro, KeepsWhatDoesBetter) {
  for (const bool better : {true, false}) {
    PaperTenant one = tenant(kGrows), other = tenant(kSaturates);
    // Alone, a tenant may have all eight places of an SM.
    if (!better) one.kilo_ipc_of_sm = [](u32 blocks) -> u64 { return blocks == 8 ? 5'000 : 10 * blocks; };
    PaperMachine paper(maestro(2), {one, other});
    paper.arrive({0, 1});
    paper.run_until(2'000'000);
    EXPECT_FALSE(paper.policy->searching());
    EXPECT_EQ(paper.said("SMs stay shared"), better);
    EXPECT_EQ(paper.plan.sms[0].shared(), better);
    if (better) continue;
    EXPECT_EQ(paper.running(0), 12u) << "as they were before";
  }
}

TEST(Maestro, MeasuresBothWaysForOneWindow) {
  PaperMachine paper(maestro(2), {tenant(kGrows), tenant(kSaturates)});
  paper.arrive({0, 1});
  paper.run_until(2'000'000);
  // Even shares, measured up to cycle 40,001; the profile of blocks; sharing. The last decision changes nothing.
  std::vector<Cycle> times;
  for (const auto& [at, plan] : paper.changes) times.push_back(at);
  EXPECT_EQ(times, (std::vector<Cycle>{0, 40'002, 80'003}));
  EXPECT_EQ(paper.log.back().at, 120'004u);
}

}  // namespace
}  // namespace terrace
