// Flushes by page, by core and tenant, by tenant, and of everything, seen through the look-ups that follow.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "timing/flushed_launch.h"

namespace terrace {
namespace {

constexpr u32 kPages = kFlushedPages, kSmsOfTenant = kFlushedSms;

/// What the second launches missed.
std::vector<Misses> second_launch(const std::function<void(Gpu&)>& flush) {
  GpuConfig config;
  config.mmu.walk_cache.kind = WalkCacheConfig::Kind::kShared;
  config.mmu.tlb1.entries = config.mmu.tlb2.entries = 16;
  return launch_twice(config, flush).second;
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
