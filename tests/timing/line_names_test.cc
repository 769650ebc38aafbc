// What caches call their lines: with physical names translation stands before the L1, with virtual names in the L1 behind
// it, with virtual names in the L2 behind that. Programs compute the same, and only what leaves the caches is translated.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "timing/crowd.h"
#include "timing/tenant_runs.h"

namespace terrace {
namespace {

struct Place {
  const char* name;
  TranslateAt at;
  L2Config::SliceBy slice_by;
  u32 fbt_entries = 0;  // so few that pages must make room all the time
  bool second_level = false;
  u32 page_bytes = 4096;
  FbtConfig::LargePages large_pages = FbtConfig::LargePages::kParts;
  friend void PrintTo(const Place& place, std::ostream* out) { *out << place.name; }
};
constexpr Place kPlaces[] = {
    {"before_l1", TranslateAt::kBeforeL1, L2Config::SliceBy::kChannel},
    {"before_l1_slices_by_line", TranslateAt::kBeforeL1, L2Config::SliceBy::kLine},
    {"after_l1", TranslateAt::kAfterL1, L2Config::SliceBy::kChannel},
    {"after_l1_slices_by_line", TranslateAt::kAfterL1, L2Config::SliceBy::kLine},
    {"after_l2", TranslateAt::kAfterL2, L2Config::SliceBy::kLine},
    {"with_a_table", TranslateAt::kAfterL2, L2Config::SliceBy::kLine, 8},
    {"with_a_table_that_translates", TranslateAt::kAfterL2, L2Config::SliceBy::kLine, 8, true},
    {"with_a_table_and_large_pages", TranslateAt::kAfterL2, L2Config::SliceBy::kLine, 8, false, 65536},
    {"with_a_table_of_counters", TranslateAt::kAfterL2, L2Config::SliceBy::kLine, 2, true, 65536,
     FbtConfig::LargePages::kCounter},
};

class LineNames : public testing::TestWithParam<Place> {
 protected:
  static GpuConfig placed(GpuConfig config) {
    config.translation = GetParam().at;
    config.l2.slice_by = GetParam().slice_by;
    if (config.translation == TranslateAt::kAfterL2) config.mmu.walk_path.use = "memory";
    config.pages.bytes = GetParam().page_bytes;
    config.fbt = {.entries = GetParam().fbt_entries,
                  .ways = 2,
                  .second_level = GetParam().second_level,
                  .large_pages = GetParam().large_pages};
    return config;
  }
};

/// Dev builds check every answer (wire/line_truth.h), all builds the identities.
TEST_P(LineNames, LinesUnderPressureHoldWhatTheyShould) {
  for (u64 seed = 0; seed < 4; ++seed) {
    GpuConfig config = crowded_gpu();
    if (seed % 2 == 1) config.mmu.walk_path.use = "memory";
    ScriptedTenants run(placed(config), {crowd(seed, 2), crowd(seed + 100, 2)});
    ASSERT_NO_THROW(run.gpu().run({.relaunch = false})) << seed;
    run.gpu().stats().check_identities(!run.gpu().quiet());
  }
}

TEST_P(LineNames, PagesMayMoveBetweenLaunches) {
  ScriptedTenants run(placed(crowded_gpu()), {crowd(1, 3)});
  run.program(0).between_launches = [&] { move_buffer(*run.gpu().tenants()[0].memory); };
  EXPECT_NO_THROW(run.gpu().run({}));
}

TEST_P(LineNames, ProgramsPassTheirOwnChecks) {
  for (const char* gpu : {"dws_30sm", "vc_16cu"}) {
    RunRequest request = tenant_run("bfs mm fft", {}, {}, gpu);
    request.config = placed(request.config);
    request.check = true;
    EXPECT_TRUE(expect_laws(request, 1).checks_passed) << gpu;
  }
}

TEST_P(LineNames, TheSmallestQueuesDoNotLock) {
  // Small programs: a table of two entries gives up a page for nearly every line.
  RunRequest request = tenant_run("bfs:vertices=200 gups:blocks=1,updates=2", tiny_queues());
  request.config = placed(request.config);
  request.check = true;
  EXPECT_TRUE(expect_laws(request, 3).checks_passed);
}

INSTANTIATE_TEST_SUITE_P(Places, LineNames, testing::ValuesIn(kPlaces),
                         [](const auto& tested) { return std::string(tested.param.name); });

/// One warp loads `lines` lines of as many pages, `rounds` times.
struct Sums {
  u64 l1_tlb_lookups, l2_tlb_lookups;
};
Sums look_ups(TranslateAt at, u32 lines, u32 rounds) {
  GpuConfig config;
  config.sm.count = 1;
  config.translation = at;
  config.l2.slice_by = L2Config::SliceBy::kLine;
  config.mmu.walk_path.use = "memory";
  ScriptedTenants run(config, {{.script = {{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {2}, {2}),
                                            [=](const ScriptPlace& place, u32) {
                                              return GuestMemory::kBase + place.round % lines * u64{4096 + 128};
                                            }}},
                                .rounds = rounds,
                                .threads = 32}});
  run.gpu().run({});
  const auto sum = [&](const char* name) { return run.gpu().stats().total(name).value(); };
  return {at == TranslateAt::kAfterL2 ? 0 : sum("gpu.sm.0.l1_tlb.lookups"), sum("gpu.l2_tlb.0.lookups")};
}

TEST(LineNames, OnlyWhatLeavesAVirtualCacheIsTranslated) {
  const Sums before = look_ups(TranslateAt::kBeforeL1, 8, 80), after_l1 = look_ups(TranslateAt::kAfterL1, 8, 80),
             after_l2 = look_ups(TranslateAt::kAfterL2, 8, 80);
  EXPECT_EQ(before.l1_tlb_lookups, 80u) << "one for each instruction";
  EXPECT_EQ(after_l1.l1_tlb_lookups, 8u) << "one for each line that the L1 missed";
  EXPECT_EQ(before.l2_tlb_lookups, 8u);
  EXPECT_EQ(after_l1.l2_tlb_lookups, 8u);
  EXPECT_EQ(after_l2.l2_tlb_lookups, 8u) << "one for each line that the L2 missed";
}

}  // namespace
}  // namespace terrace
