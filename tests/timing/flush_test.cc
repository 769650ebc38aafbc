// Flushes by page, by SM and tenant, by tenant, and of everything, seen through the look-ups that follow.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "timing/flushed_launch.h"

namespace terrace {
namespace {

constexpr u32 kPages = kFlushedPages, kSmsOfTenant = kFlushedSms;

GpuConfig small_tlbs() {
  GpuConfig config;
  config.mmu.walk_cache.kind = WalkCacheConfig::Kind::kShared;
  config.mmu.tlb1.entries = config.mmu.tlb2.entries = 16;
  return config;
}
/// What the second launches missed.
std::vector<Misses> second_launch(const Gap& gap, GpuConfig config = small_tlbs()) {
  return launch_twice(config, gap).second;
}

constexpr TenantId kFirst{0};
// SMs that miss a page at the same time share one walk.
constexpr Misses kNone{0, 0}, kEveryPage{kSmsOfTenant * kPages, kPages};

TEST(Flush, WithoutOneEveryPageIsKnown) {
  EXPECT_EQ(second_launch({}), (std::vector{kNone, kNone}));
}

constexpr VirtAddr kThirdPage{GuestMemory::kBase + 2 * 4096};

TEST(Flush, OfAPageThatChangedForgetsThatPageOfThatTenant) {
  const auto change = [](auto&& its_page) {
    return second_launch({.host = [its_page](TenantId tenant, GuestMemory& memory) {
      if (tenant == kFirst) its_page(memory);
    }});
  };
  EXPECT_EQ(change([](GuestMemory& memory) { memory.protect(kThirdPage, Permission::kReadOnly); }),
            (std::vector{Misses{kSmsOfTenant, 1}, kNone}));
  EXPECT_EQ(change([](GuestMemory& memory) {
              memory.free(kThirdPage);
              memory.allocate_at("page", kThirdPage, 4096);
            }),
            (std::vector{Misses{kSmsOfTenant, 1}, kNone}));
}

TEST(Flush, OfATenantThatStartsAgainForgetsAllItsPages) {
  for (const bool flushes : {false, true}) {
    GpuConfig config = small_tlbs();
    config.sm.count = 2 * kFlushedSms;
    config.tenancy.flush_on_relaunch = flushes;
    // The second one runs for so long that the first one runs several times.
    ScriptedTenants run(config, {toucher(kPages, 1), toucher(300 * kPages, 1)});
    allocate_other_pages(run.gpu());
    std::vector<Misses> ends;
    run.gpu().on_completion = [&](TenantId tenant) {
      if (tenant == kFirst) ends.push_back(misses_of(run.gpu(), kFirst));
    };
    run.gpu().run({});
    ASSERT_GE(ends.size(), 2u);
    EXPECT_EQ(ends[0], kEveryPage);
    EXPECT_EQ(ends[1] - ends[0], flushes ? kEveryPage : kNone);
    EXPECT_EQ(misses_of(run.gpu(), TenantId(1)), kEveryPage) << "the other one's pages stay known";
  }
}

TEST(Flush, OfAnSmAndATenantForgetsThemInThatSmAndInWhatIsShared) {
  GpuConfig config = small_tlbs();
  EXPECT_EQ(second_launch({.lost_sm = 0}, config), (std::vector{kNone, kNone})) << "nobody else came";
  config.tenancy.flush_shared_on_switch = true;
  EXPECT_EQ(second_launch({.lost_sm = 0}, config), (std::vector{Misses{kPages, kPages}, kNone}));
  EXPECT_EQ(second_launch({.lost_sm = 3}, config), (std::vector{kNone, Misses{kPages, kPages}}))
      << "an SM of the other tenant: the first one's TLBs know the pages still";
  // With L1 TLBs of one entry both SMs ask what is shared.
  config.l1_tlb.entries = 1;
  EXPECT_EQ(second_launch({.lost_sm = 0}, config), (std::vector{kEveryPage, Misses{kSmsOfTenant * kPages, 0}}));
}

/// What is shared behind a virtual L2, where SMs have no TLBs: a CPU shoots down all pages in the gap.
TEST(Flush, OfEverythingForgetsAllPagesOfAll) {
  const auto walks = [](bool flushes) {
    GpuConfig config = small_tlbs();
    config.translation = TranslateAt::kAfterL2;
    config.l2.slice_by = L2Config::SliceBy::kLine;
    config.mmu.walk_path.use = "memory";
    config.fbt.entries = 64;
    config.sm.count = 2 * kFlushedSms;
    config.tenancy.launch_gap = 100'000;
    if (flushes) config.cpu.flush_interval = 150'000;  // launches begin in cycles 100,000 and, about, 200,000
    ScriptedTenants run(config, {toucher(kPages, 2), toucher(kPages, 2)});
    allocate_other_pages(run.gpu());
    std::vector<u64> first(2), second(2);
    const auto walks_of = [&](u32 tenant) -> u64 {
      return run.gpu().stats().total("gpu.mmu.*.walks_done", TenantId(tenant)).value();
    };
    for (u32 i = 0; i < 2; ++i) run.program(i).between_launches = [&, i] { first[i] = walks_of(i); };
    run.gpu().run({.relaunch = false});
    EXPECT_EQ(run.gpu().stats().total("gpu.fbt.flushes").value(), flushes ? 1u : 0u);
    EXPECT_EQ(first, (std::vector<u64>{kPages, kPages}));
    for (u32 i = 0; i < 2; ++i) second[i] = walks_of(i) - first[i];
    return second;
  };
  EXPECT_EQ(walks(true), (std::vector<u64>{kPages, kPages}));
  EXPECT_EQ(walks(false), (std::vector<u64>{0, 0}));
}

}  // namespace
}  // namespace terrace
