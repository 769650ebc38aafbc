// SIMT-aware page walk scheduling (ISCA'18): every rule of the mechanism, and every claim of the catalogue that the
// mechanism or the configuration alone can show. A test of a claim carries its name.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "config/field_list.h"
#include "frontend/guest_memory.h"
#include "frontend/workload.h"
#include "papers/designs.h"
#include "translation/address_space.h"
#include "translation/walk_cache.h"
#include "translation/walk_scheduler.h"

namespace terrace {
namespace {

GpuConfig simt_machine(const std::string& design) {
  return machine_with("simt_8cu", {design});
}

/// Says of every page what it is told to.
class ToldWalkCache final : public WalkCacheView {
 public:
  u32 score(const Walk& walk) override {
    ++asked;
    return needs.contains(walk.page) ? needs[walk.page] : 1;
  }
  std::map<u64, u32> needs;
  u32 asked = 0;
};

class SimtAware : public ::testing::Test {
 protected:
  std::unique_ptr<WalkOrder> queue(const std::vector<std::string>& params = {}) {
    Policy<WalkOrder> policy("simt_aware");
    struct Holder {
      Policy<WalkOrder>& policy;
      void describe(Fields& v) { v.policy("walk_order", policy, ""); }
    } holder{policy};
    for (const std::string& param : params) {
      assign(holder, split_assignment("walk_order.simt_aware." + param, "test"));
    }
    return policy.make({.entries = 64, .seed = 1, .walk_cache = &cache});
  }
  Walk walk(u64 page, u32 inst) { return {.key = page, .page = page, .order = order++, .inst = inst}; }
  static std::vector<u64> drain(WalkOrder& queue) {
    std::vector<u64> pages;
    while (queue.size() > 0) pages.push_back(queue.pop(0).page);
    return pages;
  }

  ToldWalkCache cache;
  u64 order = 0;
};

using Pages = std::vector<u64>;

TEST_F(SimtAware, TheCheapestInstructionGoesFirst) {
  cache.needs = {{1, 4}, {2, 1}, {3, 3}};
  const auto q = queue();
  q->push(walk(1, 10), 0);
  q->push(walk(2, 20), 0);
  q->push(walk(3, 30), 0);
  EXPECT_EQ(drain(*q), (Pages{2, 3, 1}));
}

TEST_F(SimtAware, OnTiesTheOldestGoesFirst) {
  const auto q = queue();
  for (const u64 page : {5u, 4u, 3u}) q->push(walk(page, static_cast<u32>(page)), 0);
  EXPECT_EQ(drain(*q), (Pages{5, 4, 3}));
}

TEST_F(SimtAware, AnArrivalRaisesTheScoreOfItsSiblings) {
  cache.needs = {{1, 1}, {2, 2}, {3, 2}};
  const auto q = queue();
  q->push(walk(1, 10), 0);  // instruction 10 needs 1,
  q->push(walk(2, 20), 0);  // instruction 20 needs 2
  q->push(walk(3, 10), 0);  // and now instruction 10 needs 3
  EXPECT_EQ(q->pop(0).page, 2u);
}

TEST_F(SimtAware, AScoreDoesNotFallWhenAWalkLeavesButStartsAnewWhenAllHaveLeft) {
  cache.needs = {{1, 4}, {2, 4}, {3, 3}, {4, 1}};
  const auto q = queue({"batching=false"});
  q->push(walk(1, 10), 0);
  q->push(walk(2, 10), 0);  // 8
  q->push(walk(3, 20), 0);  // 3
  EXPECT_EQ(q->pop(0).page, 3u);
  EXPECT_EQ(q->pop(0).page, 1u);
  q->push(walk(5, 30), 0);  // 1
  q->push(walk(3, 30), 0);  // 4: below the 8 that instruction 10 keeps although one walk is left (SIMT-A3)
  EXPECT_EQ(q->pop(0).page, 5u);
  EXPECT_EQ(drain(*q), (Pages{3, 2}));
  q->push(walk(4, 10), 0);  // instruction 10 again: from its own estimate
  q->push(walk(3, 40), 0);
  EXPECT_EQ(q->pop(0).page, 4u);
}

TEST_F(SimtAware, BatchingGoesBeforeTheCheapest) {
  cache.needs = {{1, 4}, {2, 4}, {3, 1}};
  const auto q = queue();
  q->push(walk(1, 10), 0);
  q->push(walk(2, 10), 0);
  q->started(walk(9, 10));  // started at once on an idle walker: counts as scheduled most recently (SIMT-A4)
  q->push(walk(3, 20), 0);
  EXPECT_EQ(drain(*q), (Pages{1, 2, 3}));
}

TEST_F(SimtAware, WithoutBatchingAndShortestFirstItIsFirstComeFirstServed) {
  cache.needs = {{1, 4}, {2, 1}, {3, 2}};
  const auto q = queue({"batching=false", "shortest_first=false"});
  q->push(walk(1, 10), 0);
  q->push(walk(2, 20), 0);
  q->push(walk(3, 10), 0);
  EXPECT_EQ(drain(*q), (Pages{1, 2, 3}));
}

TEST_F(SimtAware, AWalkThatEnoughYoungerOnesHavePassedGoesFirst) {
  for (const u32 threshold : {1u, 3u, 5u}) {
    cache.needs = {{1, 4}};
    const auto q = queue({"ageing_threshold=" + std::to_string(threshold)});
    q->push(walk(1, 10), 0);
    for (u64 page = 100; page < 110; ++page) q->push(walk(page, static_cast<u32>(page)), 0);
    for (u32 i = 0; i < threshold; ++i) EXPECT_EQ(q->pop(0).page, 100 + i) << "passed " << i << " times";
    EXPECT_EQ(q->pop(0).page, 1u) << "threshold " << threshold;
  }
}

TEST_F(SimtAware, OnlyYoungerWalksPass) {
  // Three older, cheaper walks leave before the victim: they do not pass it.
  cache.needs = {{50, 4}};
  const auto q = queue({"ageing_threshold=2"});
  for (u64 page = 1; page <= 3; ++page) q->push(walk(page, static_cast<u32>(page)), 0);
  q->push(walk(50, 50), 0);
  for (u64 page = 60; page < 65; ++page) q->push(walk(page, static_cast<u32>(page)), 0);
  EXPECT_EQ(drain(*q), (Pages{1, 2, 3, 60, 61, 50, 62, 63, 64}));
}

TEST_F(SimtAware, AgeOutranksBatching) {
  cache.needs = {{1, 4}};
  const auto q = queue({"ageing_threshold=1"});
  q->push(walk(1, 10), 0);
  q->push(walk(2, 20), 0);
  q->push(walk(3, 20), 0);
  EXPECT_EQ(drain(*q), (Pages{2, 1, 3}));
}

TEST_F(SimtAware, InstructionsWhoseNamesCollideAreTakenForOne) {
  cache.needs = {{1, 2}, {2, 3}};
  const auto q = queue();
  q->push(walk(1, 7), 0);
  q->push(walk(2, 8), 0);
  q->push(walk(3, 7), 0);  // another instruction that has the same 20 bits
  q->started(walk(9, 7));
  EXPECT_EQ(drain(*q), (Pages{1, 3, 2}));
}

// --- Claims -----------------------------------------------------------------------------------------------------

TEST(Claim, simt_sec1_work_range) {
  const GpuConfig config = simt_machine("fcfs");
  const AddressSpaces spaces(config.pages, config.line_bytes, 1, 1);
  EXPECT_EQ(config.sm.warp_width * spaces.tables().shape().leaf_level(), 256u);
}

TEST(Claim, simt_table1_config) {
  const GpuConfig c = simt_machine("fcfs");
  EXPECT_EQ(c.sm.count, 8u);
  EXPECT_EQ(c.core_mhz, 2000u);
  EXPECT_EQ(c.sm.schedulers, 4u);              // SIMDs per CU
  EXPECT_EQ(64u / c.sm.single.interval, 16u);  // SIMD width: lanes that pass per cycle
  EXPECT_EQ(c.sm.warp_width, 64u);
  EXPECT_EQ(c.l1.bytes, 32u << 10);
  EXPECT_EQ(c.l1.ways, 16u);
  EXPECT_EQ(c.l2.bytes, 4u << 20);
  EXPECT_EQ(c.l2.ways, 16u);
  EXPECT_EQ(c.line_bytes, 64u);
  EXPECT_EQ(c.l1_tlb.entries, 32u);
  EXPECT_EQ(c.l1_tlb.ways, 0u) << "fully associative";
  EXPECT_EQ(c.l2_tlb.entries, 512u);
  EXPECT_EQ(c.l2_tlb.ways, 16u);
  EXPECT_EQ(c.mmu.queue_entries, 256u);
  EXPECT_EQ(c.mmu.walkers, 8u);
  EXPECT_EQ(c.mmu.tlb1.entries, 32u);
  EXPECT_EQ(c.mmu.tlb2.entries, 256u);
  EXPECT_EQ(c.dram.clock_mhz, 800u);
  EXPECT_EQ(c.dram.clock_mhz * 2, 1600u) << "MT/s: two transfers per clock";
  EXPECT_EQ(c.dram.channels, 2u);
  EXPECT_EQ(c.dram.banks, 16u);
  EXPECT_EQ(c.dram.ranks, 2u);
  EXPECT_EQ(c.pages.bytes, 4096u);
}

TEST(Claim, simt_table2_workloads) {
  const std::map<std::string, double> irregular{{"xsbench:variant=simt", 212.25}, {"mvt:variant=simt", 128.14},
                                                {"atax:variant=simt", 64.06},     {"nw:variant=simt", 531.82},
                                                {"bicg:variant=simt", 128.11},    {"gesummv:variant=simt", 128.06}};
  const std::map<std::string, double> regular{{"sssp:variant=simt", 104.32},
                                              {"mis:variant=simt", 72.38},
                                              {"bp:variant=simt", 108.03},
                                              {"kmeans:variant=simt", 4.33},
                                              {"hs:variant=simt", 12.02}};
  const auto mebibytes = [](const std::string& text) {
    const auto request = parse_workload(text, InputSize::kPaper);
    return static_cast<double>(find_workload(request.name).footprint_bytes(*resolve_params(request))) / (1 << 20);
  };
  for (const auto& set : {irregular, regular}) {
    for (const auto& [workload, printed] : set) EXPECT_NEAR(mebibytes(workload), printed, 0.05 * printed) << workload;
  }
  // The twelfth: the program has an array of vertices more than the printed size has room for (docs/workloads.md).
  EXPECT_NEAR(mebibytes("color:variant=simt") - 4.0 * 1'000'000 / (1 << 20), 26.68, 0.05 * 26.68);
}

TEST(Claim, simt_mech_instruction_id) {
  std::set<u32> names;
  for (u32 id = 0; id < 1u << 20; id += 4093) names.insert(instruction_name(id));
  EXPECT_EQ(names.size(), ((1u << 20) + 4092) / 4093) << "20 bits tell instructions apart";
  EXPECT_EQ(instruction_name(5 + (1u << 20)), instruction_name(5)) << "and no more";
}

TEST_F(SimtAware, Claim_simt_mech_score_range) {
  // 70 walks of four reads each saturate at 256: then one more does not make the instruction dearer than another.
  for (u64 page = 0; page < 200; ++page) cache.needs[page] = 4;
  Policy<WalkOrder> policy("simt_aware");
  const auto q = policy.make({.entries = 256, .seed = 1, .walk_cache = &cache});
  for (u64 page = 0; page < 64; ++page) q->push(walk(page, 10), 0);
  for (u64 page = 100; page < 170; ++page) q->push(walk(page, 20), 0);
  EXPECT_EQ(q->pop(0).page, 0u) << "64 x 4 = 256 and 70 x 4, cut to 256, tie: the oldest goes first";
}

TEST_F(SimtAware, Claim_simt_mech_selection_order) {
  cache.needs = {{1, 4}, {2, 4}, {3, 1}, {4, 2}, {5, 2}};
  const auto q = queue({"ageing_threshold=3"});
  q->push(walk(1, 10), 0);  // will be aged
  q->push(walk(2, 20), 0);
  q->push(walk(3, 30), 0);  // lowest score
  q->push(walk(4, 40), 0);
  q->push(walk(5, 50), 0);
  q->started(walk(9, 20));  // same instruction as 2
  EXPECT_EQ(drain(*q), (Pages{2, 3, 1, 4, 5}));
}

TEST_F(SimtAware, Claim_simt_mech_idle_walker) {
  WalkScheduler::Context context{
      .walkers = 2, .queue_entries = 8, .tenants = 1, .make_queue = [&](u32, u32) { return queue(); }};
  const auto scheduler = Registry<WalkScheduler>::instance().make("shared", context);
  WalkerSet idle(2);
  idle.insert(1);
  EXPECT_EQ(scheduler->place(walk(1, 10), idle, 0), 1);
  EXPECT_EQ(cache.asked, 0u) << "no score";
  idle.erase(1);
  EXPECT_EQ(scheduler->place(walk(2, 10), idle, 0), WalkScheduler::kQueued);
  EXPECT_EQ(cache.asked, 1u);
}

TEST(Claim, simt_mech_aging_threshold) {
  GpuConfig config = simt_machine("simt_aware");
  std::string threshold;
  for (const FieldInfo& field : fields_of(config, true)) {
    if (field.path == "mmu.walk_order.simt_aware.ageing_threshold") threshold = field.value;
  }
  EXPECT_EQ(threshold, "2000000");
}

TEST(Claim, simt_mech_scan_cost) {
  // A walk that waited pays for being chosen; one that starts at once does not, as the closed form of a walk shows:
  // TranslationTiming.AWalkThatStartsAtOnceIsNotChosen.
  ToldWalkCache cache;
  const auto q = Policy<WalkOrder>("simt_aware").make({.entries = 4, .seed = 1, .walk_cache = &cache});
  q->push({.page = 1, .inst = 1}, 0);
  EXPECT_EQ(q->pop(0).selection_cycles, 4u) << "SIMT-A2";
}

TEST(Claim, simt_mech_buffer_backpressure) {
  const GpuConfig config = simt_machine("fcfs");
  WalkScheduler::Context context{
      .walkers = 8, .queue_entries = config.mmu.queue_entries, .tenants = 1, .make_queue = [&](u32 entries, u32 n) {
        return config.mmu.walk_order.make({.entries = entries, .queue = n});
      }};
  const auto scheduler = config.mmu.walk_scheduler.make(context);
  const WalkerSet none(8);
  for (u64 i = 0; i < 256; ++i) ASSERT_EQ(scheduler->place({.page = i}, none, 0), WalkScheduler::kQueued);
  EXPECT_EQ(scheduler->place({.page = 256}, none, 0), WalkScheduler::kRefused);
}

// --- Walk caches ------------------------------------------------------------------------------------------------

class SimtWalkCache : public ::testing::Test {
 protected:
  explicit SimtWalkCache(const std::string& design = "simt_aware")
      : config(simt_machine(design)), spaces(config.pages, config.line_bytes, 1, 1), shape(spaces.tables().shape()) {}
  static TableEntry entry(u64 n) { return {n << 12 | TableEntry::kPresent}; }
  /// A walk for the page that has these numbers in levels 1 to 4.
  static Walk at(u64 l1, u64 l2, u64 l3, u64 l4, bool scored = false) {
    return {.page = l1 << 27 | l2 << 18 | l3 << 9 | l4, .scored = scored};
  }
  WalkCacheConfig small(bool protect) const {
    WalkCacheConfig c = config.mmu.walk_cache;
    c.entries = 4;
    c.ways = 4;
    c.protect = protect;
    return c;
  }

  GpuConfig config;
  AddressSpaces spaces;
  const TableShape& shape;
};

TEST_F(SimtWalkCache, Claim_simt_mech_pwc_levels) {
  WalkCache cache(config.mmu.walk_cache, shape);
  const Walk walk = at(0, 1, 2, 3);
  EXPECT_EQ(cache.score(walk), 4u) << "nothing hits";
  cache.fill(1, walk, entry(1));
  EXPECT_EQ(cache.score(walk), 3u) << "root only";
  cache.fill(2, walk, entry(2));
  EXPECT_EQ(cache.score(walk), 2u) << "two upper levels";
  cache.fill(3, walk, entry(3));
  EXPECT_EQ(cache.score(walk), 1u) << "three upper levels";
  cache.fill(4, walk, entry(4));
  EXPECT_EQ(cache.score(walk), 1u) << "the leaf is never kept";
}

TEST_F(SimtWalkCache, Claim_simt_mech_pwc_counters) {
  // Four entries of level 3; the least recently used one is counted on three times (two bits saturate at three).
  WalkCache cache(small(true), shape);
  for (u64 i = 0; i < 4; ++i) cache.fill(3, at(0, 0, i, 0), entry(i));
  for (u32 i = 0; i < 5; ++i) EXPECT_EQ(cache.score(at(0, 0, 0, i)), 1u);
  // Three walks that were scored use it: then it counts for nothing, and goes next.
  for (u32 i = 0; i < 2; ++i) EXPECT_EQ(cache.begin(at(0, 0, 0, i, true)).level, 3u);
  cache.fill(3, at(0, 0, 10, 0), entry(10));
  cache.fill(3, at(0, 0, 11, 0), entry(11));
  cache.fill(3, at(0, 0, 12, 0), entry(12));
  cache.fill(3, at(0, 0, 13, 0), entry(13));
  EXPECT_EQ(cache.begin(at(0, 0, 0, 9)).level, 3u) << "a walk still counts on it";
  EXPECT_EQ(cache.begin(at(0, 0, 0, 2, true)).level, 3u) << "the third use: five scores made three";
  for (u64 i = 20; i < 26; ++i) cache.fill(3, at(0, 0, i, 0), entry(i));
  EXPECT_EQ(cache.begin(at(0, 0, 0, 9)).level, 0u) << "nobody counts on it any more";
}

TEST_F(SimtWalkCache, AWalkThatWasNotScoredDoesNotCountDown) {
  WalkCache cache(small(true), shape);
  cache.fill(3, at(0, 0, 0, 0), entry(0));
  EXPECT_EQ(cache.score(at(0, 0, 0, 1)), 1u);
  for (u32 i = 0; i < 4; ++i) cache.begin(at(0, 0, 0, i, false));  // started at once (SIMT-A6)
  for (u64 i = 1; i < 12; ++i) cache.fill(3, at(0, 0, i, 0), entry(i));
  EXPECT_EQ(cache.begin(at(0, 0, 0, 9)).level, 3u);
}

TEST_F(SimtWalkCache, WhenAllEntriesOfASetAreCountedOnRecencyDecides) {
  WalkCache cache(small(true), shape);
  for (u64 i = 0; i < 4; ++i) {
    cache.fill(3, at(0, 0, i, 0), entry(i));
    cache.score(at(0, 0, i, 1));
  }
  cache.fill(3, at(0, 0, 9, 0), entry(9));
  EXPECT_EQ(cache.begin(at(0, 0, 9, 0)).level, 3u) << "the new entry found a place";
  u32 left = 0;
  for (u64 i = 0; i < 4; ++i) left += cache.score(at(0, 0, i, 1)) == 1;
  EXPECT_EQ(left, 3u);
}

TEST_F(SimtWalkCache, ScoringDoesNotMakeAnEntryRecent) {
  WalkCache cache(small(false), shape);
  for (u64 i = 0; i < 4; ++i) cache.fill(3, at(0, 0, i, 0), entry(i));
  const WalkCache before = cache;
  cache.score(at(0, 0, 0, 1));
  WalkCache scored = cache, untouched = before;
  for (WalkCache* each : {&scored, &untouched}) each->fill(3, at(0, 0, 9, 0), entry(9));
  for (u64 i = 0; i < 4; ++i) EXPECT_EQ(scored.begin(at(0, 0, i, 0)).level, untouched.begin(at(0, 0, i, 0)).level);
}

TEST_F(SimtWalkCache, WithoutProtectionCountersDecideNothing) {
  WalkCache cache(small(false), shape);
  for (u64 i = 0; i < 4; ++i) cache.fill(3, at(0, 0, i, 0), entry(i));
  for (u32 i = 0; i < 3; ++i) cache.score(at(0, 0, 0, i));
  for (u64 i = 10; i < 16; ++i) cache.fill(3, at(0, 0, i, 0), entry(i));
  EXPECT_EQ(cache.begin(at(0, 0, 0, 0)).level, 0u);
}

}  // namespace
}  // namespace terrace
