// Virtual caches with a forward-backward table, on a whole GPU: two names of one page, and pages that must make room.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "timing/crowd.h"

namespace terrace {
namespace {

constexpr u64 kPage = 4096;

GpuConfig virtual_gpu(u32 fbt_entries) {
  GpuConfig config = crowded_gpu();
  config.translation = TranslateAt::kAfterL2;
  config.l2.slice_by = L2Config::SliceBy::kLine;
  config.mmu.walk_path.use = "memory";
  config.fbt = {.entries = fbt_entries, .ways = 2, .second_level = true};
  return config;
}

u64 total(Gpu& gpu, const std::string& name) {
  return static_cast<u64>(gpu.stats().total(name).value());
}

/// Loads at random among the lines of twelve pages.
ScriptedTenant readers(u64 seed, u32 launches) {
  const auto anywhere = [seed](const ScriptPlace& place, u32 lane) {
    const u64 random =
        Rng(seed << 48 ^ (place.block << 32 | place.warp << 24 | place.round << 8 | lane / 16), "lines").next();
    return GuestMemory::kBase + random % 12 * kPage + random / 12 % 4 * 128 + lane % 16 * 8;
  };
  return {.script = {{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {1}, {2}), anywhere}},
          .rounds = 40,
          .blocks = 8,
          .threads = 128,
          .launches = launches,
          .buffer_bytes = 12 * kPage};
}

/// From the second launch on, pages 6 to 11 are other names of pages 0 to 5. Dev builds check every answer, and that no line
/// is in the L2 under two names.
TEST(VirtualCaches, ReadOnlySynonymsAreReplayedUnderTheNameThatLeads) {
  for (const u32 entries : {4u, 64u}) {
    ScriptedTenants run(virtual_gpu(entries), {readers(1, 3), readers(2, 3)});
    u32 launch = 0;
    run.program(0).between_launches = [&] {
      for (u64 page = 0; launch == 0 && page < 6; ++page)
        run.gpu().alias(TenantId(0), {GuestMemory::kBase + (page + 6) * kPage}, {GuestMemory::kBase + page * kPage});
      ++launch;
    };
    ASSERT_NO_THROW(run.gpu().run({.relaunch = false}));
    run.gpu().stats().check_identities(!run.gpu().quiet());
    EXPECT_GT(total(run.gpu(), "gpu.fbt.synonyms"), 100u);
    EXPECT_EQ(total(run.gpu(), "gpu.fbt.synonym_faults"), 0u) << "nobody writes";
    EXPECT_GE(total(run.gpu(), "gpu.l2.*.names.replays_in"), total(run.gpu(), "gpu.fbt.synonyms"))
        << "merged ones move too";
  }
}

TEST(VirtualCaches, APageWithOneNameIsNeverReplayed) {
  ScriptedTenants run(virtual_gpu(4), {crowd(1, 2), crowd(2, 2)});
  run.gpu().run({.relaunch = false});
  EXPECT_EQ(total(run.gpu(), "gpu.fbt.synonyms"), 0u);
}

TEST(VirtualCaches, PagesMakeRoomInASmallTableAndNeverInALargeOne) {
  const auto evictions = [](u32 entries) {
    ScriptedTenants run(virtual_gpu(entries), {crowd(1, 2), crowd(2, 2)});
    run.gpu().run({.relaunch = false});
    run.gpu().stats().check_identities(!run.gpu().quiet());
    return total(run.gpu(), "gpu.fbt.evictions");
  };
  EXPECT_GT(evictions(4), 100u);
  EXPECT_EQ(evictions(64), 0u) << "24 pages, 64 entries";
}

/// Hits need no translation: as many look-ups in the TLB as misses of the L2, whatever the L1s and the L2 answered.
TEST(VirtualCaches, OnlyMissesOfTheL2AreTranslated) {
  ScriptedTenants run(virtual_gpu(64), {readers(1, 1)});
  run.gpu().run({.relaunch = false});
  EXPECT_EQ(total(run.gpu(), "gpu.l2_tlb.*.lookups"), total(run.gpu(), "gpu.l2.*.misses"));
  EXPECT_GT(total(run.gpu(), "gpu.l2.*.hits"), 0u);
}

/// Shootdowns, probes, evictions of lines and of pages, remaps between launches, all at once. Dev builds compare every answer
/// with what was written, and every line of the L2 with the table.
TEST(VirtualCaches, AStormOfShootdownsProbesAndEvictionsLosesNothing) {
  for (u64 seed = 0; seed < 12; ++seed) {
    GpuConfig config = virtual_gpu(seed % 3 == 0 ? 64 : 4);
    config.run.seed = seed;
    config.fbt.second_level = seed % 2 == 0;
    config.fbt.merge_misses = seed % 4 < 2;
    config.cpu = {.probe_interval = 3 + seed, .shared_percent = 90, .shootdown_interval = 17 + seed * 5};
    if (seed % 5 == 4) {
      config.pages.bytes = 65536;
      config.fbt.large_pages = FbtConfig::LargePages::kCounter;
    }
    ScriptedTenants run(config, {crowd(seed, 4), crowd(seed + 100, 4)});
    run.program(0).between_launches = [&] {
      for (u64 page = 0; page < 4; ++page)
        run.gpu().remap(TenantId(0), {GuestMemory::kBase + (page << config.pages.shift() & 0xffff)});
    };
    ASSERT_NO_THROW(run.gpu().run({.relaunch = false})) << seed;
    run.gpu().stats().check_identities(!run.gpu().quiet());
    EXPECT_GT(total(run.gpu(), "gpu.fbt.shootdowns_done"), 20u) << seed;
    EXPECT_GT(total(run.gpu(), "gpu.fbt.probes"), total(run.gpu(), "gpu.fbt.probes_filtered")) << seed;
  }
}

TEST(VirtualCaches, ProbesForMemoryThatOnlyTheCpuUsesDisturbNothing) {
  const auto cycles = [](u64 interval) {
    GpuConfig config = virtual_gpu(64);
    config.fbt.ports = 8;  // so that probes take no port from others
    config.cpu = {.probe_interval = interval, .shared_percent = 0};
    ScriptedTenants run(config, {crowd(1), crowd(2)});
    run.gpu().run({.relaunch = false});
    EXPECT_EQ(total(run.gpu(), "gpu.fbt.probes"), total(run.gpu(), "gpu.fbt.probes_filtered"));
    return run.gpu().now();
  };
  EXPECT_EQ(cycles(0), cycles(5));
}

TEST(VirtualCaches, ShootdownsCostTime) {
  const auto cycles = [](u64 interval) {
    GpuConfig config = virtual_gpu(64);
    config.cpu.shootdown_interval = interval;
    ScriptedTenants run(config, {crowd(1), crowd(2)});
    run.gpu().run({.relaunch = false});
    return run.gpu().now();
  };
  EXPECT_GT(cycles(20), cycles(0));
}

}  // namespace
}  // namespace terrace
