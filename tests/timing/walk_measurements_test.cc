// What walks mean to the instructions that ask for them, in closed form: the measurements of the ISCA'18 paper on an
// idle GPU whose walks read the L2.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "timing/scripted_tenants.h"
#include "timing/small_gpu.h"

namespace terrace {
namespace {

constexpr u32 kLink = kSmallGpu.tlb_link, kL2Tlb = kSmallGpu.l2_tlb, kTransit = kSmallGpu.transit;
constexpr u32 kL2Read = kSmallGpu.l2_read(), kLevels = 4;

GpuConfig gpu_with_walkers(u32 walkers) {
  GpuConfig config = walking_gpu();
  config.mmu.walkers = walkers;
  return config;
}

/// Of the instructions that asked for walks, summed over SMs.
struct Walks {
  u64 several = 0, interleaved = 0, first_latency = 0, last_latency = 0, gap = 0;
  u64 work_1_16 = 0;
  u64 reads = 0;    // of the MMU
  std::string csv;  // all statistics
};

/// Touches two pages that no TLB holds.
ScriptOp two_pages() {
  return {memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {2}, {2}), [](const ScriptPlace& place, u32 lane) {
            const u64 page = ((place.block + place.warp) * 32 + place.round * 2 + lane % 2) % 64;
            return GuestMemory::kBase + page * (4096 + 128);
          }};
}

/// Runs `rounds` such instructions in each of `warps` warps of each block.
Walks after(const GpuConfig& config, u32 warps, u32 rounds, u32 blocks = 1) {
  GuestMemory memory{PageSize::k4K};
  ScriptProgram program(blocks, warps * config.sm.warp_width, u64{256} * 4096);
  program.allocate(memory);
  ScriptedStream stream({two_pages()}, rounds, config.sm.warp_width);
  std::vector<u32> sms(config.sm.count);
  std::iota(sms.begin(), sms.end(), 0u);
  Gpu gpu(config, {{"script", &program, &memory, &stream, sms}});
  gpu.run({});
  const auto total = [&](const std::string& name) {
    return gpu.stats().total("gpu.sm.*.load_store.walks." + name).value();
  };
  return {.several = total("several"),
          .interleaved = total("interleaved"),
          .first_latency = total("first_latency"),
          .last_latency = total("last_latency"),
          .gap = total("gap"),
          .work_1_16 = total("work_1_16"),
          .reads = gpu.stats().total("gpu.mmu.*.reads").value(),
          .csv = gpu.stats().csv()};
}

/// Of the last twenty rounds: page tables and data are in the caches by then.
double per_round(const GpuConfig& config, u64 Walks::* counter) {
  return static_cast<double>(after(config, 1, 84).*counter - after(config, 1, 64).*counter) / 20;
}

TEST(WalkMeasurements, WithTwoWalkersAnInstructionsTwoWalksEndTogether) {
  const GpuConfig config = gpu_with_walkers(2);
  EXPECT_EQ(per_round(config, &Walks::several), 1);
  EXPECT_EQ(per_round(config, &Walks::interleaved), 0);
  // From the request to the end: to the L2 TLB, its look-up, to the MMU, the reads.
  const u32 alone = kLink + kL2Tlb + kTransit + kLevels * kL2Read;
  EXPECT_EQ(per_round(config, &Walks::first_latency), alone);
  // The second page is asked for a cycle later, and each of its reads reaches the L2 a cycle later.
  EXPECT_EQ(per_round(config, &Walks::gap), 1);
  EXPECT_EQ(per_round(config, &Walks::last_latency), alone);
}

TEST(WalkMeasurements, WithOneWalkerTheSecondWalkWaitsForTheFirst) {
  const GpuConfig config = gpu_with_walkers(1);
  const u32 alone = kLink + kL2Tlb + kTransit + kLevels * kL2Read;
  EXPECT_EQ(per_round(config, &Walks::first_latency), alone);
  EXPECT_EQ(per_round(config, &Walks::gap), kLevels * kL2Read);
  // It was asked for a cycle after the first.
  EXPECT_EQ(per_round(config, &Walks::last_latency), alone + kLevels * kL2Read - 1);
}

TEST(WalkMeasurements, WalksInterleaveWhereTheRequestsOfSeveralSmsMeet) {
  GpuConfig config = gpu_with_walkers(1);
  EXPECT_EQ(after(config, 2, 20).interleaved, 0u) << "one SM asks for an instruction's pages one after the other";
  config.sm.count = 2;
  const Walks two = after(config, 1, 20, 2);
  EXPECT_EQ(two.several, 40u);
  EXPECT_GT(two.interleaved, 0u) << "two meet at the L2 TLB now and then";
}

TEST(WalkMeasurements, AnInstructionThatIsAdmittedAsAWholeAsksForItsPagesOneAfterTheOther) {
  // Two warps of one SM, and places for three pages: admitted page by page, the second instruction begins with the
  // place that is left, and its two pages are asked for a walk apart.
  GpuConfig config = gpu_with_walkers(1);
  config.l1_tlb.miss_entries = 3;
  const Walks page = after(config, 2, 20);
  config.l1_tlb.admit = L1TlbConfig::Admit::kInstruction;
  const Walks whole = after(config, 2, 20);
  EXPECT_EQ(page.several, 40u);
  EXPECT_EQ(whole.several, 40u);
  // A page that is asked for a cycle after the other and ends `gap` after it took so much longer, less a cycle.
  EXPECT_EQ(whole.last_latency - whole.first_latency, whole.gap - whole.several);
  EXPECT_LT(page.last_latency - page.first_latency, page.gap - page.several);
}

TEST(WalkMeasurements, AnInstructionWithMorePagesThanPlacesGoesPageByPage) {
  GpuConfig config = gpu_with_walkers(1);
  config.l1_tlb.miss_entries = 1;
  config.l1_tlb.admit = L1TlbConfig::Admit::kInstruction;
  EXPECT_EQ(after(config, 2, 20).several, 40u) << "and does not wait for ever";
}

TEST(WalkMeasurements, WorkIsCountedInBucketsOfSixteenReads) {
  const Walks sum = after(gpu_with_walkers(1), 1, 20);
  EXPECT_EQ(sum.work_1_16, 20u) << "two walks of four reads each";
  EXPECT_EQ(sum.reads, 20u * 2 * kLevels);
}

TEST(WalkMeasurements, DistinctWarpsAreCountedInEpochsOf1024LookUps) {
  // Two pages an instruction: 511 rounds of a warp make 1,022 look-ups, 1,100 rounds 2,200.
  EXPECT_THAT(after(gpu_with_walkers(1), 1, 511).csv, testing::HasSubstr("gpu.l2_tlb.0.wavefront_epochs,0,"));
  const std::string one = after(gpu_with_walkers(1), 1, 1100).csv, two = after(gpu_with_walkers(1), 2, 600).csv;
  EXPECT_THAT(one, testing::HasSubstr("gpu.l2_tlb.0.wavefront_epochs,2,"));
  EXPECT_THAT(one, testing::HasSubstr("gpu.l2_tlb.0.wavefronts{tenant=0},2,")) << "the only warp, in both";
  EXPECT_THAT(two, testing::HasSubstr("gpu.l2_tlb.0.wavefronts{tenant=0},4,")) << "both warps, in both";
  EXPECT_THAT(one, testing::HasSubstr("gpu.l2_tlb.0.held{tenant=0},2,")) << "its one entry, in both";
}

TEST(WalkMeasurements, TenantsThatTakeTurnsOnAnSmHaveWarpsOfTheirOwn) {
  GpuConfig config = gpu_with_walkers(1);
  config.tenancy.sharing = TenancyConfig::Sharing::kTime;
  config.tenancy.quantum = 5000;  // an epoch is longer: it sees both
  config.tenancy.switch_cycles = 10;
  const ScriptedTenant tenant{.script = {two_pages()}, .rounds = 600};
  ScriptedTenants both(config, {tenant, tenant});
  both.gpu().run({.relaunch = false});
  const std::string csv = both.gpu().stats().csv();
  EXPECT_THAT(csv, testing::HasSubstr("gpu.l2_tlb.0.wavefront_epochs,2,"));
  EXPECT_THAT(csv, testing::HasSubstr("gpu.l2_tlb.0.wavefronts{tenant=0},2,")) << "its warp, in both";
  EXPECT_THAT(csv, testing::HasSubstr("gpu.l2_tlb.0.wavefronts{tenant=1},2,")) << "in the same place of the same SM";
}

}  // namespace
}  // namespace terrace
