// Time in closed form, with translation: what a TLB hit, a miss and a walk cost on an idle GPU follows from its
// configuration, exactly.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>

#include "gpu/gpu.h"
#include "timing/scripted_stream.h"
#include "timing/small_gpu.h"

namespace terrace {
namespace {

/// A warp whose first lane loads page after page, each load waiting for the one before; `pages` are used in turn.
Cycle cycles_of(const GpuConfig& config, u32 rounds, u32 pages) {
  GuestMemory memory{PageSize(config.pages.bytes)};
  ScriptProgram program(1, 1, u64{256} * config.pages.bytes);
  program.allocate(memory);
  const u64 page = config.pages.bytes;
  ScriptOp op{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {2}, {2}), [=](const ScriptPlace& place, u32) {
                // A line further in each page, so that the L1 holds them all.
                return GuestMemory::kBase + place.round % pages * (page + 128);
              }};
  ScriptedStream stream({op}, rounds, config.sm.warp_width);
  Gpu gpu(config, {{"script", &program, &memory, &stream, {0}}});
  gpu.run({});
  gpu.stats().check_identities(!gpu.quiet());
  return gpu.kernels().at(0).ended - gpu.kernels().at(0).began;
}
double cost_of_round(const GpuConfig& config, u32 pages) {
  const Cycle few = cycles_of(config, pages * 10, pages), many = cycles_of(config, pages * 30, pages);
  return static_cast<double>(many - few) / (pages * 20);
}

// The load waits one cycle at the load-store unit; the L1 TLB comes before the L1.
constexpr u32 kQueue = 1, kL1Tlb = kSmallGpu.l1_tlb, kL1 = kSmallGpu.l1;
// A request and its answer cross the link to the L2 TLB; the line is looked up in the cycle of the answer.
constexpr u32 kL2Tlb = 2 * kSmallGpu.tlb_link + kSmallGpu.l2_tlb;
constexpr u32 kTransit = 2 * kSmallGpu.transit;
constexpr u32 kL2Read = kSmallGpu.l2_read();

TEST(TranslationTiming, AnIdealMachinePaysForTheLookUpOfTheL1TlbOnly) {
  GpuConfig config = small_gpu();
  config.translation = TranslateAt::kNowhere;
  EXPECT_EQ(cost_of_round(config, 20), kQueue + kL1Tlb + kL1);
}

TEST(TranslationTiming, AnL1TlbHitCostsTheSame) {
  EXPECT_EQ(cost_of_round(small_gpu(), 1), kQueue + kL1Tlb + kL1);
  EXPECT_EQ(cost_of_round(small_gpu(), 8), kQueue + kL1Tlb + kL1);
}

TEST(TranslationTiming, AL2TlbHitAddsTheLinksAndTheLookUp) {
  // Nine pages in turn defeat an L1 TLB of eight.
  EXPECT_EQ(cost_of_round(small_gpu(), 9), kQueue + kL1Tlb + kL2Tlb + kL1);
}

TEST(TranslationTiming, AWalkCostsItsLevelsTimesTheMemoryLatency) {
  EXPECT_EQ(cost_of_round(walking_gpu(), 9), kQueue + kL1Tlb + kL2Tlb + kTransit + 4 * kL2Read + kL1);
}

TEST(TranslationTiming, AWalkThatStartsAtOnceIsNotChosen) {
  GpuConfig config = walking_gpu();
  config.mmu.walk_order.use = "simt_aware";
  EXPECT_EQ(cost_of_round(config, 9), cost_of_round(walking_gpu(), 9));
}

TEST(TranslationTiming, LargePagesHaveAShorterWalk) {
  GpuConfig config = walking_gpu();
  config.pages.bytes = 2 << 20;
  EXPECT_EQ(cost_of_round(config, 9), kQueue + kL1Tlb + kL2Tlb + kTransit + 3 * kL2Read + kL1);
  config.pages.bytes = 64 << 10;
  EXPECT_EQ(cost_of_round(config, 9), kQueue + kL1Tlb + kL2Tlb + kTransit + 4 * kL2Read + kL1);
}

TEST(TranslationTiming, WalkCachesSaveTheLevelsThatTheyKnow) {
  for (const auto kind : {WalkCacheConfig::Kind::kPerLevel, WalkCacheConfig::Kind::kShared}) {
    GpuConfig config = walking_gpu();
    config.mmu.walk_cache.kind = kind;
    config.mmu.walk_cache.cycles = 6;
    EXPECT_EQ(cost_of_round(config, 9), kQueue + kL1Tlb + kL2Tlb + kTransit + 6 + 1 * kL2Read + kL1);
  }
}

TEST(TranslationTiming, AWalkCacheThatIsAskedAtEachLevelCostsItsLookUpEachTime) {
  GpuConfig config = walking_gpu();
  config.mmu.walk_cache.kind = WalkCacheConfig::Kind::kShared;
  config.mmu.walk_cache.cycles = 6;
  config.mmu.walk_cache.skip = WalkCacheConfig::Skip::kEachLevel;
  EXPECT_EQ(cost_of_round(config, 9), kQueue + kL1Tlb + kL2Tlb + kTransit + 4 * 6 + 1 * kL2Read + kL1);
  config.mmu.walk_cache.leaf = true;
  EXPECT_EQ(cost_of_round(config, 9), kQueue + kL1Tlb + kL2Tlb + kTransit + 4 * 6 + kL1) << "the leaf is kept too";
}

TEST(TranslationTiming, FrontTlbsAnswerInTheirOwnTime) {
  GpuConfig config = walking_gpu();
  config.mmu.tlb1.entries = 2;
  config.mmu.tlb1.cycles = 2;
  config.mmu.tlb2.entries = 16;
  config.mmu.tlb2.cycles = 8;
  EXPECT_EQ(cost_of_round(config, 9), kQueue + kL1Tlb + kL2Tlb + kTransit + 2 + 8 + kL1) << "found in the second";
  config.mmu.tlb1.entries = 16;
  EXPECT_EQ(cost_of_round(config, 9), kQueue + kL1Tlb + kL2Tlb + kTransit + 2 + kL1) << "found in the first";
}

TEST(TranslationTiming, AWalkStraightToMemoryCostsItsLevelsTimesTheLatencyOfMemory) {
  // With entries on one line each and four nodes, reads of a walk after the first find their rows closed or open in
  // ways that depend on the map; what is exact is that every read costs the same when rows are always closed.
  GpuConfig config = walking_gpu();
  config.mmu.walk_path.use = "memory";
  config.dram.row_policy = RowPolicy::kClosed;
  config.core_mhz = config.dram.resolved().clock_mhz;
  const double four = cost_of_round(config, 9);
  config.mmu.walk_cache.kind = WalkCacheConfig::Kind::kPerLevel;
  config.mmu.walk_cache.cycles = 0;
  const double one = cost_of_round(config, 9);
  const double read = (four - one) / 3;
  EXPECT_EQ(read, std::floor(read));
  EXPECT_EQ(one, kQueue + kL1Tlb + kL2Tlb + kTransit + read + kL1);
}

}  // namespace
}  // namespace terrace
