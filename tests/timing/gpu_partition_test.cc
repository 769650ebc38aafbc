// L2 ways and memory channels divided among tenants: nobody's lines are where they do not belong, and what a tenant has
// for itself no neighbour can slow down.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "engine/even_share.h"
#include "timing/scripted_tenants.h"
#include "timing/tenant_runs.h"

namespace terrace {
namespace {

RunRequest request_of(const std::string& tenants) {
  return tenant_run(tenants, {"run.relaunch=false"});
}

/// Cycles until the first tenant has completed, once.
u64 time_of_first(const RunRequest& request) {
  return number(tenant_of(simulate(request), 0), "cycles");
}

TEST(EvenShare, SharesAreContiguousCoverEverythingAndDifferByAtMostOne) {
  for (u32 total = 1; total <= 40; ++total) {
    for (u32 parts = 1; parts <= total; ++parts) {
      u32 next = 0;
      for (u32 part = 0; part < parts; ++part) {
        const EvenShare share = even_share(total, parts, part);
        EXPECT_EQ(share.first, next);
        EXPECT_GE(share.count, total / parts);
        EXPECT_LE(share.count, total / parts + 1);
        next += share.count;
      }
      EXPECT_EQ(next, total);
    }
  }
}

TEST(Partition, EveryLineAndPageTableOfATenantLiesInItsOwnChannelsAndSlices) {
  RunRequest request = request_of("gups mm gups");
  request.config.dram.partition = MemoryPartition::kChannels;
  const RunResult result = simulate(request);
  const Tree* gpu = result.json.find("stats")->find("gpu");
  for (u32 tenant = 0; tenant < 3; ++tenant) {
    const EvenShare share = even_share(16, 3, tenant);  // 6, 5, 5
    u64 walks = 0;
    for (u32 channel = 0; channel < 16; ++channel) {
      const bool own = channel >= share.first && channel < share.first + share.count;
      const Tree& dram = *gpu->find("dram")->find(std::to_string(channel));
      const Tree& slice = *gpu->find("l2")->find(std::to_string(channel));
      walks += per_tenant(*dram.find("walk"), "reads", tenant);
      EXPECT_EQ(per_tenant(*dram.find("data"), "reads", tenant) > 0, own) << tenant << " in channel " << channel;
      EXPECT_EQ(per_tenant(slice, "lookups", tenant) > 0, own) << tenant << " in slice " << channel;
      if (own) continue;
      EXPECT_EQ(per_tenant(*dram.find("walk"), "reads", tenant) + per_tenant(*dram.find("data"), "writes", tenant), 0u);
    }
    EXPECT_GT(walks, 0u);
  }
}

TEST(Partition, WithChannelsOfItsOwnATenantTakesTheSameTimeWhateverItsNeighbourDoes) {
  const auto time_beside = [](const std::string& neighbour, MemoryPartition partition) {
    RunRequest request = request_of("mm " + neighbour);
    request.config.translation = TranslateAt::kNowhere;  // walkers and the L2 TLB stay shared
    request.config.dram.partition = partition;
    return time_of_first(request);
  };
  EXPECT_NE(time_beside("gups", MemoryPartition::kNone), time_beside("srad", MemoryPartition::kNone));
  EXPECT_EQ(time_beside("gups", MemoryPartition::kChannels), time_beside("srad", MemoryPartition::kChannels));
}

TEST(Partition, HalfOfADividedMachineIsTheMachineOfHalfTheSize) {
  RunRequest shared = request_of("mm gups");
  shared.config.translation = TranslateAt::kNowhere;
  shared.config.dram.partition = MemoryPartition::kChannels;
  shared.config.dram.refresh = false;  // channels take turns at it, in an order that depends on how many there are
  RunRequest half = request_of("mm");
  half.config.translation = TranslateAt::kNowhere;
  half.config.dram.refresh = false;
  half.config.sm.count /= 2;
  half.config.dram.channels /= 2;
  half.config.l2.slices /= 2;
  half.config.l2.bytes /= 2;
  half.config.pages.memory_bytes /= 2;
  EXPECT_EQ(time_of_first(shared), time_of_first(half));
}

struct Misses {
  u64 lookups, misses;
};
/// What a tenant that reads 256 lines over and over misses while another one streams.
Misses misses_beside_a_stream(const char* victim) {
  GpuConfig config;
  config.translation = TranslateAt::kNowhere;
  config.pages.frames = FrameOrder::kContiguous;
  config.sm.count = 2;
  config.l2.slices = 1;
  config.l2.bytes = 128 * 1024;  // 64 sets of 16 ways
  config.l2.index = SetHash::kLowBits;
  config.l2.victim.use = victim;
  config.dram.channels = 1;
  config.run.relaunch = true;
  const auto load = [](u64 lines, u64 warps) {
    ScriptOp op{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {2}, {2}),
                [lines, warps](const ScriptPlace& place, u32 lane) {
                  return GuestMemory::kBase + (place.round * warps + place.warp) % lines * 128 + lane * 4;
                }};
    op.inst.volatile_access = true;
    return op;
  };
  ScriptedTenants both(
      config, {{.script = {load(256, 1)}, .rounds = 4096},
               {.script = {load((8 << 20) / 128, 16)}, .rounds = 4096, .threads = 32 * 16, .buffer_bytes = 8 << 20}});
  both.gpu().run({.relaunch = false});
  const Tree json = both.gpu().stats().json();
  const Tree& slice = *json.find("gpu")->find("l2")->find("0");
  return {per_tenant(slice, "lookups", 0), per_tenant(slice, "misses", 0)};
}

TEST(Partition, LinesInWaysOfItsOwnAreNeverPushedOutByANeighbour) {
  const Misses divided = misses_beside_a_stream("tenant_ways");
  EXPECT_EQ(divided.lookups, 4096u);
  EXPECT_EQ(divided.misses, 256u) << "each line once";
  EXPECT_GT(misses_beside_a_stream("lru").misses, 1000u);
}

}  // namespace
}  // namespace terrace
