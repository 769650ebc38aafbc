// What walks compete for: entries of the walk queues, ports of the walk cache, and one pool of misses however
// many TLBs there are.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>

#include "stats/histogram.h"
#include "timing/scripted_tenants.h"
#include "timing/small_gpu.h"
#include "translation/walk_cache.h"

namespace terrace {
namespace {

/// One SM for each of two tenants.
GpuConfig shared_walkers() {
  GpuConfig config = walking_gpu();
  config.sm.count = 2;
  config.mmu.rate = 4;
  return config;
}

/// Every lane of a warp on a page of its own.
ScriptedTenant walks_all_the_time(u32 rounds) {
  ScriptedTenant tenant;
  tenant.script = {
      {memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {2}, {2}), [](const ScriptPlace& place, u32 lane) {
         return GuestMemory::kBase + ((place.warp * 4 + place.round % 4) * 32 + lane) * (4096 + 128);
       }}};
  tenant.rounds = rounds;
  tenant.buffer_bytes = u64{1024} * 4096;
  return tenant;
}

/// The most walks that were ever in service together: each counts when one more begins.
u32 most_walks_at_once(const GpuConfig& config) {
  ScriptedTenants tenants(config, {walks_all_the_time(50), walks_all_the_time(50)});
  tenants.gpu().run({.relaunch = false});
  tenants.gpu().stats().check_identities(!tenants.gpu().quiet());
  const auto& stats = tenants.gpu().stats().stats();
  const auto stat =
      std::find_if(stats.begin(), stats.end(), [](const Stat& s) { return s.name == "gpu.mmu.0.concurrent"; });
  u32 most = 0;
  for (u32 bucket = 0; bucket < Histogram::kLinear; ++bucket) {
    if (stat->cells[bucket].value > 0) most = bucket << stat->log2_width;
  }
  return most;
}

TEST(MmuContention, EntriesOfTheWalkQueuesGoRoundAmongInputs) {
  // Two walkers, two entries in their queue, and an input for each tenant: every entry that falls free is contended.
  GpuConfig config = shared_walkers();
  config.mmu.walkers = 2;
  config.mmu.queue_entries = 2;
  config.mmu.back_pressure = MmuConfig::Scope::kTenant;
  ScriptedTenants tenants(config, {walks_all_the_time(400), walks_all_the_time(400)});
  tenants.gpu().run({.cycles = 80'000});  // the start, from empty caches, favours one by some ten walks
  const auto walks = [&](u32 tenant) {
    return tenants.gpu().stats().total("gpu.mmu.*.walks_done", TenantId(tenant)).value();
  };
  const u64 first = walks(0), second = walks(1);
  ASSERT_GT(first + second, 500u);
  EXPECT_NEAR(static_cast<double>(first) / static_cast<double>(second), 1, 0.02);
}

/// Of 160 instructions of eight warps on two SMs, each with 32 pages; an SM may await the pages of two.
u64 interleaved_instructions(L1TlbConfig::Admit admit, L2TlbConfig::Turn turn) {
  GpuConfig config = shared_walkers();
  config.mmu.walkers = 1;
  config.l1_tlb.miss_entries = 64;
  config.l1_tlb.admit = admit;
  config.l2_tlb.ports = 1;
  config.l2_tlb.turn = turn;
  ScriptedTenant tenant = walks_all_the_time(20);
  tenant.threads = 4 * 32;
  ScriptedTenants tenants(config, {tenant, tenant});
  tenants.gpu().run({.relaunch = false});
  return tenants.gpu().stats().total("gpu.sm.*.load_store.walks.interleaved").value();
}

TEST(MmuContention, WhetherInstructionsInterleaveIsAMatterOfAdmissionAndOfTurns) {
  using Admit = L1TlbConfig::Admit;
  using Turn = L2TlbConfig::Turn;
  const u64 one_by_one = interleaved_instructions(Admit::kPage, Turn::kRequest);
  const u64 together = interleaved_instructions(Admit::kInstruction, Turn::kRequest);
  const u64 in_turns = interleaved_instructions(Admit::kInstruction, Turn::kInstruction);
  EXPECT_GT(one_by_one, 0u);
  EXPECT_LE(together, one_by_one);
  EXPECT_LT(in_turns, together);
}

TEST(MmuContention, LookUpsOfTheWalkCacheBeginAsManyPerCycleAsThereArePorts) {
  const PagesConfig pages;
  const TableShape shape(pages, 128);
  WalkCacheConfig config;
  config.kind = WalkCacheConfig::Kind::kShared;
  config.cycles = 10;
  config.ports = 2;
  WalkCache cache(config, shape);
  EXPECT_EQ(cache.look_up(100), 110u);
  EXPECT_EQ(cache.look_up(100), 110u);
  EXPECT_EQ(cache.look_up(100), 111u) << "both ports of cycle 100 are taken";
  EXPECT_EQ(cache.look_up(100), 111u);
  EXPECT_EQ(cache.look_up(101), 112u) << "in the order in which they are asked for";
  EXPECT_EQ(cache.look_up(200), 210u);
}

TEST(MmuContention, AMachineWithoutAWalkCacheWaitsForNoPort) {
  const PagesConfig pages;
  const TableShape shape(pages, 128);
  WalkCache none(WalkCacheConfig{}, shape);
  for (u32 i = 0; i < 100; ++i) EXPECT_EQ(none.look_up(7), 7u);
}

TEST(MmuContention, TlbsOfTenantsShareOnePoolOfMisses) {
  GpuConfig config = shared_walkers();
  config.l2_tlb.miss_entries = 6;
  config.mmu.walkers = 64;
  for (const bool per_tenant : {false, true}) {
    config.l2_tlb.per_tenant = per_tenant;
    EXPECT_EQ(most_walks_at_once(config), 6u) << (per_tenant ? "a TLB each" : "one TLB");
  }
}

}  // namespace
}  // namespace terrace
