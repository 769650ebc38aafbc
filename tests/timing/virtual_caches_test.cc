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

/// Loads at random among the lines of twelve pages; by other names, of pages 6 to 11 it loads what lies so many pages on.
ScriptedTenant readers(u64 seed, u32 launches, std::shared_ptr<const u64> pages_on = std::make_shared<u64>(0)) {
  const auto anywhere = [=](const ScriptPlace& place, u32 lane) {
    const u64 random =
        Rng(seed << 48 ^ (place.block << 32 | place.warp << 24 | place.round << 8 | lane / 16), "lines").next();
    const u64 page = random % 12;
    return GuestMemory::kBase + (page + (page < 6 ? 0 : *pages_on)) * kPage + random / 12 % 4 * 128 + lane % 16 * 8;
  };
  return {.script = {{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {1}, {2}), anywhere}},
          .rounds = 40,
          .blocks = 8,
          .threads = 128,
          .launches = launches,
          .buffer_bytes = 12 * kPage};
}

/// From the second launch on, pages 12 to 17, other names of pages 0 to 5, are read instead of pages 6 to 11. Dev builds check every answer, and that no line
/// is in the L2 under two names.
TEST(VirtualCaches, ReadOnlySynonymsAreReplayedUnderTheNameThatLeads) {
  for (const u32 entries : {4u, 64u}) {
    const auto pages_on = std::make_shared<u64>(0);
    ScriptedTenants run(virtual_gpu(entries), {readers(1, 3, pages_on), readers(2, 3)});
    run.program(0).between_launches = [&] {
      if (std::exchange(*pages_on, 6) != 0) return;
      GuestMemory& memory = *run.gpu().tenants()[0].memory;
      EXPECT_EQ(memory.map_again("again", {GuestMemory::kBase}, Permission::kReadOnly).raw,
                GuestMemory::kBase + 12 * kPage);
    };
    ASSERT_NO_THROW(run.gpu().run({.relaunch = false}));
    run.gpu().stats().check_identities(!run.gpu().quiet());
    EXPECT_GT(total(run.gpu(), "gpu.fbt.synonyms"), 100u);
    EXPECT_EQ(total(run.gpu(), "gpu.fbt.synonym_faults"), 0u) << "nobody writes";
    EXPECT_GE(total(run.gpu(), "gpu.l2.*.names.replays_in"), total(run.gpu(), "gpu.fbt.synonyms"))
        << "merged ones move too";
  }
}

/// One warp: four rounds of an operation on page 0 and one on another page, which the launch decides.
ScriptedTenant pages_in_turn(MemoryAction first, MemoryAction second, std::function<u64()> other_page, u32 launches) {
  const auto at = [](std::function<u64()> page) {
    return
        [page](const ScriptPlace& place, u32) { return GuestMemory::kBase + page() * kPage + place.round % 4 * 128; };
  };
  const auto op = [&](MemoryAction action, std::function<u64()> page) {
    return ScriptOp{memory_inst(action, MemorySpace::kGlobal, 4, {1}, {}), at(std::move(page))};
  };
  return {.script = {op(first, [] { return u64{0}; }), op(second, std::move(other_page))},
          .rounds = 4,
          .blocks = 1,
          .threads = 32,
          .launches = launches,
          .buffer_bytes = 2 * kPage};
}

/// What becomes of a tenant that uses page 0, and in its second launch also page 2, another name of it.
std::string fault_with(GpuConfig config, MemoryAction first, MemoryAction second, u64* faults = nullptr) {
  config.fbt.ways = 16;  // so that no page leaves for one of the other tenant
  auto launch = std::make_shared<u64>(0);
  const auto other = [launch] { return 1 + *launch; };
  ScriptedTenants run(config, {pages_in_turn(first, second, other, 2), crowd(2)});
  run.program(0).between_launches = [launch] { ++*launch; };
  GuestMemory& memory = *run.gpu().tenants()[0].memory;
  EXPECT_EQ(memory.map_again("again", {GuestMemory::kBase}, Permission::kReadWrite).raw,
            GuestMemory::kBase + 2 * kPage);
  run.gpu().run({.relaunch = false});
  EXPECT_EQ(run.gpu().progress(TenantId(1)).completed_runs, 1u) << "the other tenant goes on";
  EXPECT_EQ(run.gpu().progress(TenantId(1)).fault, "");
  if (faults != nullptr) *faults = total(run.gpu(), "gpu.fbt.synonym_faults");
  return run.gpu().progress(TenantId(0)).fault;
}

TEST(VirtualCaches, ReadWriteSynonymsEndTheTenantWithBothAddressesAndAWayOut) {
  const std::string written = fault_with(virtual_gpu(64), MemoryAction::kLoad, MemoryAction::kStore);
  EXPECT_NE(
      written.find("a kernel writes to the line at 0x100002000 in \"again\", which is cached under its other name, "
                   "0x100000000 in \"buffer\""),
      std::string::npos)
      << written;
  EXPECT_NE(written.find("map memory that kernels write to only once"), std::string::npos) << written;
  const std::string read = fault_with(virtual_gpu(64), MemoryAction::kStore, MemoryAction::kLoad);
  EXPECT_NE(read.find("a kernel reads the line at"), std::string::npos) << read;
  EXPECT_NE(read.find("and was written to under it"), std::string::npos) << read;
  EXPECT_EQ(fault_with(virtual_gpu(64), MemoryAction::kLoad, MemoryAction::kLoad), "") << "nobody writes";
}

TEST(VirtualCaches, ReadWriteSynonymsMayBeCountedInstead) {
  GpuConfig config = virtual_gpu(64);
  config.fbt.rw_synonyms = FbtConfig::RwSynonyms::kCount;
  u64 faults = 0;
  EXPECT_EQ(fault_with(config, MemoryAction::kLoad, MemoryAction::kStore, &faults), "");
  EXPECT_GE(faults, 1u);
}

TEST(VirtualCaches, PhysicalCachesTakeReadWriteSynonyms) {
  EXPECT_EQ(fault_with(crowded_gpu(), MemoryAction::kStore, MemoryAction::kLoad), "");
}

TEST(VirtualCaches, SynonymsThatADesignCannotKeepInStepAreRefused) {
  const auto refusal = [](GpuConfig config, Permission one, Permission other) -> std::string {
    ScriptedTenants run(config, {pages_in_turn(MemoryAction::kLoad, MemoryAction::kLoad, [] { return u64{2}; }, 1)});
    GuestMemory& memory = *run.gpu().tenants()[0].memory;
    memory.protect({GuestMemory::kBase}, one);
    memory.map_again("again", {GuestMemory::kBase}, other);
    try {
      run.gpu().run({.relaunch = false});
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  GpuConfig no_table = virtual_gpu(0), virtual_l1 = crowded_gpu();
  virtual_l1.translation = TranslateAt::kAfterL1;
  constexpr Permission kRead = Permission::kReadOnly, kWrite = Permission::kReadWrite;
  EXPECT_EQ(
      refusal(no_table, kRead, kRead),
      "tenant 0: buffers \"buffer\" and \"again\" are the same memory, and a virtual L2 would hold it twice; give it "
      "a forward-backward table (fbt.entries), or use a design with physical caches");
  EXPECT_NE(refusal(virtual_l1, kRead, kWrite).find("make both read-only"), std::string::npos);
  EXPECT_NE(refusal(virtual_l1, kWrite, kRead).find("make both read-only"), std::string::npos);
  EXPECT_EQ(refusal(virtual_l1, kRead, kRead), "") << "an L1 may hold what nobody writes twice";
}

/// Taking a permission away shoots the page down before the next launch begins; giving it costs nothing until a store finds a
/// line with the old one.
TEST(VirtualCaches, AProtectionChangeReachesTheLinesThroughTheTable) {
  ScriptedTenants run(virtual_gpu(64),
                      {pages_in_turn(MemoryAction::kLoad, MemoryAction::kStore, [] { return u64{0}; }, 4)});
  Gpu& gpu = run.gpu();
  GuestMemory& memory = *gpu.tenants()[0].memory;
  u32 launch = 0;
  std::vector<u64> done, checks, denied;
  run.program(0).between_launches = [&] {
    done.push_back(total(gpu, "gpu.fbt.shootdowns_done"));
    checks.push_back(total(gpu, "gpu.fbt.permission_checks"));
    denied.push_back(total(gpu, "gpu.l2.*.names.denied"));
    if (++launch == 1) {  // and back at once: the entry is gone, and the new one knows
      memory.protect({GuestMemory::kBase}, Permission::kReadOnly);
      memory.protect({GuestMemory::kBase}, Permission::kReadWrite);
    }
  };
  gpu.run({.relaunch = false});
  gpu.stats().check_identities(!gpu.quiet());
  EXPECT_EQ(done, (std::vector<u64>{0, 1, 1}));
  EXPECT_EQ(checks, (std::vector<u64>{0, 0, 0}));
  EXPECT_EQ(denied, (std::vector<u64>{0, 0, 0}));
}

/// Launches 0 and 1 read a read-only page; before launch 2 it may be written, and one store of each line asks the table.
TEST(VirtualCaches, AStoreThatFindsALineWithAnOldPermissionAsksTheTableOnce) {
  auto launch = std::make_shared<u32>(0);
  const auto address = [](const ScriptPlace& place, u32) { return GuestMemory::kBase + kPage + place.round % 4 * 128; };
  const auto elsewhere = [=](const ScriptPlace& place, u32 lane) {
    return *launch < 2 ? GuestMemory::kBase : address(place, lane);
  };
  ScriptedTenant tenant{.script = {{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {1}, {2}), address},
                                   {memory_inst(MemoryAction::kStore, MemorySpace::kGlobal, 4, {1}, {}), elsewhere}},
                        .rounds = 8,
                        .blocks = 1,
                        .threads = 32,
                        .launches = 3,
                        .buffer_bytes = kPage};
  ScriptedTenants run(virtual_gpu(64), {tenant});
  Gpu& gpu = run.gpu();
  GuestMemory& memory = *gpu.tenants()[0].memory;
  const VirtAddr page = memory.allocate("page", kPage, Permission::kReadOnly);
  run.program(0).between_launches = [&, launch] {
    if (++*launch == 2) memory.protect(page, Permission::kReadWrite);
  };
  gpu.run({.relaunch = false});
  gpu.stats().check_identities(!gpu.quiet());
  EXPECT_EQ(total(gpu, "gpu.fbt.shootdowns"), 0u);
  EXPECT_EQ(total(gpu, "gpu.fbt.permission_checks"), 4u) << "one for each line";
  EXPECT_GE(total(gpu, "gpu.l2.*.names.denied"), 4u);
}

/// The same with loads that pass the L1: only the L2 holds the lines.
TEST(VirtualCaches, AStoreIsCheckedAtTheFirstLevelThatHoldsItsLine) {
  for (const bool past_l1 : {false, true}) {
    auto launch = std::make_shared<u32>(0);
    const auto address = [](const ScriptPlace&, u32) { return GuestMemory::kBase + kPage; };
    const auto elsewhere = [=](const ScriptPlace& place, u32 lane) {
      return *launch == 0 ? GuestMemory::kBase : address(place, lane);
    };
    // The store waits for the load's value.
    ScriptOp load{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {1}, {2}), address};
    load.inst.volatile_access = past_l1;
    ScriptedTenant tenant{
        .script = {load, {memory_inst(MemoryAction::kStore, MemorySpace::kGlobal, 4, {1, 2}, {}), elsewhere}},
        .rounds = 1,
        .blocks = 1,
        .threads = 32,
        .launches = 2,
        .buffer_bytes = kPage};
    ScriptedTenants run(virtual_gpu(64), {tenant});
    GuestMemory& memory = *run.gpu().tenants()[0].memory;
    const VirtAddr page = memory.allocate("page", kPage, Permission::kReadOnly);
    run.program(0).between_launches = [&, launch] {
      if (++*launch == 1) memory.protect(page, Permission::kReadWrite);
    };
    run.gpu().run({.relaunch = false});
    EXPECT_EQ(total(run.gpu(), "gpu.sm.*.l1.filter.denied"), past_l1 ? 0u : 1u);
    EXPECT_EQ(total(run.gpu(), "gpu.l2.*.names.denied"), 1u);
    EXPECT_EQ(total(run.gpu(), "gpu.fbt.permission_checks"), 1u);
  }
}

/// The second name goes with the first: what was written under it is in memory, and found under the name that is left.
TEST(VirtualCaches, WhatWasWrittenIsFoundUnderTheNameThatIsLeft) {
  auto launch = std::make_shared<u32>(0);
  const auto address = [=](const ScriptPlace& place, u32) {
    return GuestMemory::kBase + (*launch < 1 ? 0 : kPage) + place.round % 4 * 128;
  };
  ScriptedTenant tenant{.script = {{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {1}, {2}), address},
                                   {memory_inst(MemoryAction::kStore, MemorySpace::kGlobal, 4, {1}, {}), address}},
                        .rounds = 4,
                        .blocks = 1,
                        .threads = 32,
                        .launches = 2,
                        .buffer_bytes = kPage};
  for (const bool physical : {false, true}) {
    *launch = 0;
    ScriptedTenants run(physical ? crowded_gpu() : virtual_gpu(64), {tenant});
    Gpu& gpu = run.gpu();
    GuestMemory& memory = *gpu.tenants()[0].memory;
    memory.map_again("again", {GuestMemory::kBase}, Permission::kReadWrite);
    run.program(0).between_launches = [&, launch] {
      ++*launch;
      memory.free({GuestMemory::kBase});
    };
    ASSERT_NO_THROW(gpu.run({.relaunch = false}));
    EXPECT_EQ(gpu.progress(TenantId(0)).fault, "") << "one name is no synonym";
    if (physical) continue;
    EXPECT_EQ(total(gpu, "gpu.fbt.shootdowns_done"), 1u);
    EXPECT_EQ(total(gpu, "gpu.fbt.write_backs"), 4u) << "before the second launch began";
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
    run.program(0).between_launches = [&] { move_buffer(*run.gpu().tenants()[0].memory); };
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

/// A CPU that changes many mappings at once: all pages leave the table, and the caches with them, while kernels run.
TEST(VirtualCaches, AShootdownOfAllPagesCostsTimeAndLosesNothing) {
  const auto cycles = [](u64 interval) {
    GpuConfig config = virtual_gpu(64);
    config.cpu.flush_interval = interval;
    ScriptedTenants run(config, {crowd(1), crowd(2)});
    run.gpu().run({.relaunch = false});
    run.gpu().stats().check_identities(!run.gpu().quiet());
    const u64 flushes = total(run.gpu(), "gpu.fbt.flushes");
    EXPECT_LE(flushes * interval, run.gpu().now());
    EXPECT_EQ(total(run.gpu(), "gpu.fbt.shootdowns") > flushes, interval != 0) << "each is one of every page";
    return run.gpu().now();
  };
  EXPECT_GT(cycles(400), cycles(0));
}

}  // namespace
}  // namespace terrace
