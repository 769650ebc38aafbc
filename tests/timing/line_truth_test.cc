// The observer of dev builds (wire/line_truth.h) has nothing to say about a machine without mistakes, however hard
// lines are fought for, and finds each mistake that is planted, wherever its seed lets it begin.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "timing/crowd.h"

namespace terrace {
namespace {

TEST(LineTruth, AMachineUnderPressureIsNotAccused) {
  for (u64 seed = 0; seed < 6; ++seed) {
    GpuConfig config = crowded_gpu();
    if (seed % 2 == 1) config.mmu.walk_path.use = "memory";
    if (seed >= 3) config.l2.partial_stores = L2Config::PartialStores::kFetch;
    if (seed % 3 == 2) config.dram.write_entries = config.dram.write_high = 2, config.dram.write_low = 1;
    ScriptedTenants run(config, {crowd(seed, 2), crowd(seed + 100, 2)});
    ASSERT_NO_THROW(run.gpu().run({.relaunch = false})) << seed;
    run.gpu().stats().check_identities(!run.gpu().quiet());
  }
}

TEST(LineTruth, LaunchesOnSeveralStreamsAreNotAccused) {
  for (u64 seed = 0; seed < 6; ++seed) {
    ScriptedTenant several = crowd(seed, 7);
    several.streams = 2 + static_cast<u32>(seed) % 2;
    several.blocks = 3;  // small enough to run beside each other
    ScriptedTenants run(crowded_gpu(), {several, crowd(seed + 100, 2)});
    ASSERT_NO_THROW(run.gpu().run({.relaunch = false})) << seed;
    run.gpu().stats().check_identities(!run.gpu().quiet());
  }
}

TEST(LineTruth, PagesMayMoveBetweenLaunches) {
  ScriptedTenants run(crowded_gpu(), {crowd(1, 3)});
  run.program(0).between_launches = [&] { move_buffer(*run.gpu().tenants()[0].memory); };
  EXPECT_NO_THROW(run.gpu().run({}));
}

TEST(LineTruth, APageMayNotMoveWhileItsTenantRuns) {
  // A host that breaks its word: the first tenant's next launch finds the change while one on its other stream runs.
  ScriptedTenant several = crowd(1, 7);
  several.streams = 2;
  ScriptedTenants run(crowded_gpu(), {several, crowd(2, 2)});
  bool moved = false;
  run.program(1).between_launches = [&] {
    moved = true;
    move_buffer(*run.gpu().tenants()[0].memory);
  };
  EXPECT_THROW(run.gpu().run({}), ModelError);
  EXPECT_TRUE(moved);
}

#ifdef TERRACE_DCHECK  // only dev builds can err

/// What the observer says to a run with a mistake that spares the first `spared` occasions.
std::string accusation(const GpuConfig& config, Mistake mistake, u32 spared, std::vector<ScriptedTenant> tenants,
                       bool pages_move = false) {
  ScriptedTenants run(config, tenants);
  run.gpu().plant(mistake, spared);
  if (pages_move) run.program(0).between_launches = [&] { move_buffer(*run.gpu().tenants()[0].memory); };
  try {
    run.gpu().run({});
  } catch (const ModelError& error) {
    return error.what();
  }
  return "nothing";
}

void expect_accused(const std::string& accusation, const char* of) {
  EXPECT_NE(accusation.find(of), std::string::npos) << accusation;
}

constexpr u32 kSeeds[] = {0, 1, 7, 20};

TEST(LineTruthMistakes, ATlbThatDropsTheTenantFromItsCompareIsFound) {
  for (const u32 seed : kSeeds)
    expect_accused(accusation(crowded_gpu(), Mistake::kDropTenantCompare, seed * 10, {crowd(seed), crowd(seed + 1)}),
                   "the page table names line");
}

TEST(LineTruthMistakes, AFrameBesideTheRightOneIsFound) {
  // A store that goes astray is missed by the next load of its line, or told by its own answer, whichever comes first.
  for (const u32 seed : kSeeds) {
    const std::string said = accusation(crowded_gpu(), Mistake::kNeighboursFrame, seed * 10, {crowd(seed)});
    EXPECT_TRUE(said.find("the page table names line") != said.npos ||
                said.find("writes that its own SM made before") != said.npos)
        << said;
  }
}

TEST(LineTruthMistakes, AFlushThatIsSkippedIsFound) {
  GpuConfig config = crowded_gpu();
  config.l1_tlb.entries = config.l2_tlb.entries = 16;
  for (const u32 seed : kSeeds)
    expect_accused(accusation(config, Mistake::kSkipFlush, seed, {crowd(seed, 3)}, true), "the page table names line");
}

TEST(LineTruthMistakes, AWriteBackThatIsLostIsFound) {
  for (const u32 seed : kSeeds)
    expect_accused(accusation(crowded_gpu(), Mistake::kLoseWriteBack, seed, {crowd(seed)}), "memory gives version");
}

TEST(LineTruthMistakes, AnL1ThatIsNotEmptiedAtALaunchIsFound) {
  GpuConfig config = crowded_gpu();
  config.l1.bytes = 64 * config.line_bytes;  // lines outlive the launch
  // The first launch empties each of the four SMs' caches once, in vain.
  for (const u32 seed : {4u, 5u, 7u})
    expect_accused(accusation(config, Mistake::kKeepL1, seed, {crowd(seed, 2)}), "but must see");
}

TEST(LineTruthMistakes, AnL1ThatIsNotEmptiedWhileOtherStreamsRunIsFound) {
  GpuConfig config = crowded_gpu();
  config.l1.bytes = 64 * config.line_bytes;
  for (const u32 seed : {4u, 5u, 7u}) {
    ScriptedTenant several = crowd(seed, 6);
    several.streams = 2;
    expect_accused(accusation(config, Mistake::kKeepL1, seed, {several}), "but must see");
  }
}

#endif

}  // namespace
}  // namespace terrace
