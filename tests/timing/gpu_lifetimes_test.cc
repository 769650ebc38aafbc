// How long entries of TLBs and lines of caches live, and how often the L2 TLB is looked up in each sample: exact numbers, from
// scripts whose every load takes a known time and waits for the one before.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "timing/scripted_tenants.h"
#include "timing/small_gpu.h"

namespace terrace {
namespace {

// Each load waits a cycle at the load-store unit. One whose page misses in the L1 TLB asks the L2 TLB, which knows it.
constexpr u64 kHit = 1 + kSmallGpu.l1_tlb + kSmallGpu.l1;
constexpr u64 kTlbMiss = kHit + 2 * kSmallGpu.tlb_link + kSmallGpu.l2_tlb;
constexpr u64 kL1Miss = 1 + kSmallGpu.l1_tlb + kSmallGpu.l2_read();
constexpr u64 kPage = 4096, kLine = 128;

/// Entries of the L1 TLB, and a machine that counts lifetimes.
GpuConfig small_tlb(u32 entries) {
  GpuConfig config = small_gpu();
  config.l1_tlb.entries = entries;
  config.run.lifetimes = true;
  return config;
}

/// One warp that loads at `address(round)`, all lanes the same word.
ScriptedTenant loads(u32 rounds, std::function<u64(u32)> address) {
  return {.script = {{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {2}, {2}),
                      [address](const ScriptPlace& place, u32) { return GuestMemory::kBase + address(place.round); }}},
          .rounds = rounds};
}

/// What the statistics of some name end with, over a run; with those of a shorter run taken off it is what the last rounds
/// did, when pages and lines were all where they stay.
class Totals {
 public:
  Totals(const GpuConfig& config, const ScriptedTenant& tenant) : run_(config, {tenant}) {
    run_.gpu().run({});
    run_.gpu().stats().check_identities(!run_.gpu().quiet());
  }
  u64 operator()(const std::string& name) { return run_.gpu().stats().total(name).value(); }
  u64 operator()(const std::string& name, Totals& shorter) { return (*this)(name)-shorter(name); }

 private:
  ScriptedTenants run_;
};

constexpr u32 kWarm = 90, kRounds = 150;

TEST(Lifetimes, OfPagesThatLeaveUnused) {
  // Three pages in turn through two entries, each on a line that the L1 keeps: a page leaves two loads after it came.
  const auto pages = [](u32 round) { return round % 3 * (kPage + kLine); };
  Totals shorter(small_tlb(2), loads(kWarm, pages)), run(small_tlb(2), loads(kRounds, pages));
  constexpr u64 kEntries = kRounds - kWarm;
  EXPECT_EQ(run("gpu.lifetimes.l1_tlb.entries", shorter), kEntries);
  EXPECT_EQ(run("gpu.lifetimes.l1_tlb.residence_cycles", shorter), kEntries * 2 * kTlbMiss);
  EXPECT_EQ(run("gpu.lifetimes.l1_tlb.use_cycles", shorter), 0u);
  EXPECT_EQ(run("gpu.lifetimes.l1_tlb.entries"), run("gpu.sm.0.l1_tlb.evictions")) << "the last two are still there";
  EXPECT_EQ(run("gpu.lifetimes.l1.entries"), 0u) << "nothing left the L1";
}

TEST(Lifetimes, OfPagesThatAreUsedAgainBeforeTheyLeave) {
  // Each page twice: the second load finds it.
  const auto pages = [](u32 round) { return round / 2 % 3 * (kPage + kLine); };
  Totals shorter(small_tlb(2), loads(kWarm, pages)), run(small_tlb(2), loads(kRounds, pages));
  constexpr u64 kEntries = (kRounds - kWarm) / 2;
  EXPECT_EQ(run("gpu.lifetimes.l1_tlb.entries", shorter), kEntries);
  EXPECT_EQ(run("gpu.lifetimes.l1_tlb.residence_cycles", shorter), kEntries * 2 * (kTlbMiss + kHit));
  EXPECT_EQ(run("gpu.lifetimes.l1_tlb.use_cycles", shorter), kEntries * kHit);
}

TEST(Lifetimes, OfLinesInAnL1) {
  // Three lines of a page in turn, each twice, in an L1 of two lines.
  GpuConfig config = small_tlb(2);
  config.l1.bytes = 2 * config.line_bytes;
  config.l1.ways = 2;
  const auto lines = [](u32 round) { return round / 2 % 3 * kLine; };
  Totals shorter(config, loads(kWarm, lines)), run(config, loads(kRounds, lines));
  constexpr u64 kEntries = (kRounds - kWarm) / 2;
  EXPECT_EQ(run("gpu.lifetimes.l1.entries", shorter), kEntries);
  EXPECT_EQ(run("gpu.lifetimes.l1.residence_cycles", shorter), kEntries * 2 * (kL1Miss + kHit));
  // From the answer to the look-up of the next load.
  EXPECT_EQ(run("gpu.lifetimes.l1.use_cycles", shorter), kEntries * (kHit - kSmallGpu.l1));
  EXPECT_EQ(run("gpu.lifetimes.l1_tlb.entries"), 0u);
  EXPECT_EQ(run("gpu.lifetimes.l2.entries"), 0u);
}

TEST(Lifetimes, OfLinesInTheL2) {
  // Three lines of a set of two: one leaves for each that comes, two loads after it came, which are not all alike in DRAM.
  GpuConfig config = small_tlb(2);
  config.l1.bytes = config.l1.ways * config.line_bytes;
  config.l2.bytes = 2 * config.line_bytes;
  config.l2.ways = 2;
  const auto lines = [](u32 round) { return round % 3 * kLine; };
  ScriptedTenant tenant = loads(kRounds, lines);
  tenant.script[0].inst.volatile_access = true;  // past the L1
  Totals run(config, tenant);
  EXPECT_EQ(run("gpu.lifetimes.l2.entries"), run("gpu.l2.0.fills") - 2);
  EXPECT_EQ(run("gpu.lifetimes.l2.use_cycles"), 0u);
  EXPECT_GE(run("gpu.lifetimes.l2.residence_cycles"), (kRounds - 2) * 2 * kL1Miss);
}

/// Stretches of loads of two pages in turn, through one entry: a page stays for its stretch, and is used until the last load.
/// Short and long stretches alternate.
constexpr u32 kShort = 97, kLong = 400;
constexpr u64 stay(u32 loads) {
  return kTlbMiss + (loads - 1) * kHit;
}
u64 in_stretches(u32 round) {
  return round % (kShort + kLong) < kShort ? 0 : kPage + kLine;
}

struct At5us {
  u64 left, older, used;
  bool operator==(const At5us&) const = default;
};
/// After so many pairs of stretches and some loads more, less what one pair did. The clock says how long 5 us are.
At5us at_5us(u32 mhz, u32 pairs, u32 more) {
  GpuConfig config = small_tlb(1);
  config.core_mhz = mhz;
  Totals first(config, loads(kShort + kLong, in_stretches)),
      run(config, loads(pairs * (kShort + kLong) + more, in_stretches));
  return {run("gpu.lifetimes.l1_tlb.left_by_5us", first), run("gpu.lifetimes.l1_tlb.older_than_5us", first),
          run("gpu.lifetimes.l1_tlb.used_after_5us", first)};
}

TEST(Lifetimes, AreComparedWithFiveMicroseconds) {
  static_assert(stay(kShort) == 1080 && stay(kLong) == 4413);
  // The first pair ends with a long stretch, which is there at the end and counted as old. After that, 9 more of each.
  EXPECT_EQ(at_5us(300, 10, 0), (At5us{9, 9, 9}));
  EXPECT_EQ(at_5us(216, 10, 0), (At5us{9, 9, 9})) << "1,080 cycles are 5 us";
  EXPECT_EQ(at_5us(215, 10, 0), (At5us{0, 18, 9})) << "1,075 are: what leaves after 1,080 is older";
  EXPECT_EQ(at_5us(211, 10, 0), (At5us{0, 18, 18})) << "1,055 are: its last use is 1,056 after it came";
  EXPECT_EQ(at_5us(1000, 10, 0), (At5us{18, 0, 0})) << "5,000 are: the last one is too young to tell";
}

TEST(Lifetimes, OfWhatIsStillThereAreCountedOnceItIsOld) {
  EXPECT_EQ(at_5us(300, 10, kShort), (At5us{9, 9, 9})) << "a short stretch at the end is neither";
  EXPECT_EQ(at_5us(300, 10, kShort + 50), (At5us{10, 9, 9})) << "nor is the beginning of a long one";
  EXPECT_EQ(at_5us(300, 10, kShort + 200), (At5us{10, 10, 10})) << "until it is old";
}

// ---- Samples ----

struct LookUps {
  u64 samples = 0, lookups = 0, squared = 0, most = 0, busy = 0;
  bool operator==(const LookUps&) const = default;
};
LookUps counted(Gpu& gpu) {
  const auto total = [&](const char* name) { return gpu.stats().total(fmt::format("gpu.samples.{}", name)).value(); };
  return {total("samples"), total("lookups"), total("squared_lookups"), total("most_lookups"), total("busy")};
}

TEST(SamplesOfLookUps, OfASteadyStreamAreAllAlike) {
  // Every load misses in the L1 TLB: ten in each sample, once nothing else does.
  GpuConfig config = small_tlb(2);
  config.run.sample = 10 * kTlbMiss;
  const auto after = [&](u32 rounds) {
    ScriptedTenants run(config, {loads(rounds, [](u32 round) { return round % 3 * (kPage + kLine); })});
    run.gpu().run({});
    return counted(run.gpu());
  };
  const LookUps shorter = after(200), run = after(800);
  EXPECT_EQ(run.samples - shorter.samples, 60u);
  EXPECT_EQ(run.lookups - shorter.lookups, 600u);
  EXPECT_EQ(run.squared - shorter.squared, 6000u);
  EXPECT_EQ(run.most, 10u);
  EXPECT_EQ(run.busy, 0u);
}

/// Two SMs that ask for 32 pages at once, now and then, of an L2 TLB that takes as many as come. The epochs' timeline says
/// what each sample must have seen.
TEST(SamplesOfLookUps, OfBurstsAreWhatTheTimelineSays) {
  constexpr Cycle kEvery = 16;
  GpuConfig config = small_tlb(1);
  config.sm.count = 2;
  config.l2_tlb.ports = 0;
  config.run.sample = config.run.epoch = kEvery;
  ScriptedTenant tenant{
      .script = {{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {2}, {2}),
                  [](const ScriptPlace&, u32 lane) { return GuestMemory::kBase + lane * (kPage + kLine); }}},
      .rounds = 40,
      .blocks = 2};
  ScriptedTenants run(config, {tenant});
  run.gpu().sample_epochs({"gpu.l2_tlb.0.lookups"});
  run.gpu().run({});
  LookUps expected;
  std::istringstream lines(run.gpu().timeline());
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    u64 cycle = 0, lookups = 0;
    char comma = 0;
    fields >> cycle >> comma >> lookups;
    if (cycle % kEvery != 0) continue;  // the rest at the end is no sample
    ++expected.samples;
    expected.lookups += lookups;
    expected.squared += lookups * lookups;
    expected.most = std::max(expected.most, lookups);
    expected.busy += lookups > kEvery;
  }
  EXPECT_EQ(counted(run.gpu()), expected);
  EXPECT_EQ(expected.lookups, 2 * 40 * 32u) << "all bursts lie within samples";
  EXPECT_EQ(expected.most, 2 * kEvery) << "two SMs, one page per cycle each";
  EXPECT_GE(expected.busy, 40u);
  EXPECT_LT(expected.busy, expected.samples / 2);
}

TEST(SamplesOfPages, AreThoseWithLinesInAVirtualL2) {
  // Twelve lines on as many pages are loaded once; then the L1 has them, and the L2 keeps them.
  GpuConfig config = small_gpu();
  config.translation = TranslateAt::kAfterL2;
  config.l2.slice_by = L2Config::SliceBy::kLine;
  config.mmu.walk_path.use = "memory";
  config.fbt = {.entries = 64, .ways = 8, .second_level = true};
  config.run.sample = 10 * (1 + kSmallGpu.l1);  // ten loads: there is no TLB to look into
  const auto after = [&](u32 rounds) {
    ScriptedTenants run(config, {loads(rounds, [](u32 round) { return round % 12 * (kPage + kLine); })});
    run.gpu().run({});
    const auto total = [&](const char* name) { return run.gpu().stats().total(name).value(); };
    EXPECT_EQ(total("gpu.samples.most_cached_pages"), 12u);
    return std::pair{total("gpu.samples.samples"), total("gpu.samples.cached_pages")};
  };
  const auto [samples, pages] = after(800);
  const auto [fewer, its_pages] = after(400);
  EXPECT_EQ(samples - fewer, 40u);
  EXPECT_EQ(pages - its_pages, 40u * 12);
}

}  // namespace
}  // namespace terrace
