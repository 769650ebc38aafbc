// Flushes by page, by core and tenant, by tenant, and of everything, seen through the look-ups that follow.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "timing/scripted_tenants.h"

namespace terrace {
namespace {

constexpr u32 kPages = 4, kSmsOfTenant = 2;

struct Misses {
  u64 of_l1 = 0, walks = 0;
  friend bool operator==(const Misses&, const Misses&) = default;
  friend void PrintTo(const Misses& misses, std::ostream* out) {
    *out << misses.of_l1 << " L1 misses and " << misses.walks << " walks";
  }
};
Misses misses_of(Gpu& gpu, TenantId tenant) {
  return {gpu.stats().total("gpu.sm.*.l1_tlb.misses", tenant).value(),
          gpu.stats().total("gpu.mmu.*.walks_done", tenant).value()};
}

/// Both tenants touch their pages on both of their SMs, twice; `flush` is called in the gap between the first launches
/// and the second ones. Returns what the second ones missed.
std::vector<Misses> second_launch(const std::function<void(Gpu&)>& flush) {
  GpuConfig config;
  config.sm.count = 2 * kSmsOfTenant;
  config.mmu.walk_cache.kind = WalkCacheConfig::Kind::kShared;
  config.mmu.tlb1.entries = config.mmu.tlb2.entries = 16;
  const ScriptedTenant tenant{
      .script = {{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {1}, {2}),
                  [](const ScriptPlace& place, u32) { return GuestMemory::kBase + place.round * 4096; }}},
      .rounds = kPages,
      .blocks = kSmsOfTenant,
      .launches = 2,
      .buffer_bytes = kPages * 4096};
  ScriptedTenants run(config, {tenant, tenant});
  std::vector<Misses> before(2), after(2);
  // They do the same work, but do not end in the same cycle: whoever comes second flushes.
  u32 waiting = 0;
  for (u32 i = 0; i < 2; ++i) {
    run.program(i).between_launches = [&, i] {
      before[i] = misses_of(run.gpu(), TenantId(i));
      if (++waiting == 2) flush(run.gpu());
    };
  }
  run.gpu().run({.relaunch = false});
  for (u32 i = 0; i < 2; ++i) {
    const Misses all = misses_of(run.gpu(), TenantId(i));
    after[i] = {all.of_l1 - before[i].of_l1, all.walks - before[i].walks};
  }
  return after;
}

constexpr TenantId kFirst{0};
// SMs that miss a page at the same time share one walk.
constexpr Misses kNone{0, 0}, kEveryPage{kSmsOfTenant * kPages, kPages};

TEST(Flush, WithoutOneEveryPageIsKnown) {
  EXPECT_EQ(second_launch([](Gpu&) {}), (std::vector{kNone, kNone}));
}

TEST(Flush, OfAPageForgetsThatPageOfThatTenant) {
  const VirtAddr page{GuestMemory::kBase + 2 * 4096 + 100};
  EXPECT_EQ(second_launch([&](Gpu& gpu) { gpu.flush_page(kFirst, page); }),
            (std::vector{Misses{kSmsOfTenant, 1}, kNone}));
}

TEST(Flush, OfATenantForgetsAllItsPages) {
  EXPECT_EQ(second_launch([](Gpu& gpu) { gpu.flush_tenant(kFirst); }), (std::vector{kEveryPage, kNone}));
}

TEST(Flush, OfACoreAndATenantForgetsThemInThatCoreAndInWhatIsShared) {
  EXPECT_EQ(second_launch([](Gpu& gpu) { gpu.flush_core(SmId(0), kFirst); }),
            (std::vector{Misses{kPages, kPages}, kNone}));
  EXPECT_EQ(second_launch([](Gpu& gpu) { gpu.flush_core(SmId(3), kFirst); }), (std::vector{kNone, kNone}))
      << "a core of the other tenant: the first one's own TLBs know the pages still";
}

TEST(Flush, OfEverythingForgetsAllPagesOfAll) {
  EXPECT_EQ(second_launch([](Gpu& gpu) { gpu.flush_translations(); }), (std::vector{kEveryPage, kEveryPage}));
}

}  // namespace
}  // namespace terrace
