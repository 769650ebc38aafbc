// What a channel takes for a line, and how many lines it moves: closed forms and bandwidth of every standard, refresh,
// row policies, turns between reading and writing.
// SPDX-License-Identifier: MIT
#include <set>

#include "support/dram_bench.h"

namespace terrace {
namespace {

using Kind = DramCommand::Kind;

struct Machine {
  const char* name;
  DramStandardName standard;
  u32 clock_mhz, core_mhz, line_bytes;
};
constexpr Machine kMachines[] = {
    {"gddr5_fermi", DramStandardName::kGddr5, 924, 700, 128}, {"gddr5_mask", DramStandardName::kGddr5, 1674, 1020, 128},
    {"ddr3_simt", DramStandardName::kDdr3, 800, 2000, 64},    {"hbm2", DramStandardName::kHbm2, 1000, 1500, 128},
    {"gddr5_32", DramStandardName::kGddr5, 924, 924, 32},     {"hbm3", DramStandardName::kHbm3, 1600, 1980, 64},
};

class DramMachine : public testing::TestWithParam<Machine> {
 protected:
  DramMachine() {
    config_.standard = GetParam().standard;
    config_.clock_mhz = GetParam().clock_mhz;
    config_.channels = 1;
    config_.channel_hash = config_.bank_hash = false;
    config_.refresh = false;
    options_.core_mhz = GetParam().core_mhz;
    options_.line_bytes = GetParam().line_bytes;
  }
  /// First command to last data: the bursts of a line stand tCCD_L apart, rounded up to whole bursts.
  u64 data_cycles(const DramConfig& full) const {
    const u64 burst = full.burst_cycles(), bursts = options_.line_bytes / full.burst_bytes();
    const u64 distance = full.bank_groups > 1 ? (full.timing.tccd_l + burst - 1) / burst * burst : burst;
    return full.timing.cl + (bursts - 1) * std::max(distance, burst) + burst;
  }
  /// Sent in cycle `at`, the request is looked at one cycle later; the reply takes one cycle back.
  Cycle reply_at(const ClockDomain& clock, Cycle at, u64 command_cycles) const {
    return clock.core(clock.local(at) + 1 + command_cycles) + 1;
  }

  DramConfig config_;
  DramBench::Options options_;
};

TEST_P(DramMachine, ARowMissTakesActivateAndRead) {
  DramBench bench(config_, options_);
  bench.read(1000, 3, 7);
  bench.run();
  EXPECT_EQ(bench.sources[0]->replies.at(0).at,
            reply_at(bench.clock, 1000, bench.full.timing.trcd + data_cycles(bench.full)));
  EXPECT_EQ(bench.total(bench.channel.stats.data.row_misses), 1u);
}

TEST(DramBehindASlowCore, WhatEndsWithinACycleOfTheCoreIsAnsweredInTheNext) {
  DramConfig config;
  config.standard = DramStandardName::kGddr5;
  config.clock_mhz = 924;
  config.channels = 1;
  config.refresh = false;
  DramBench bench(config, {.core_mhz = 24});  // 38.5 cycles of the memory in one of the core
  bench.read(1000, 3, 7);
  bench.read(1010, 3, 7);
  EXPECT_EQ(bench.run(), Scheduler::End::kIdle);
  ASSERT_EQ(bench.sources[0]->replies.size(), 2u);
  EXPECT_EQ(bench.sources[0]->replies[1].at, 1013u) << "one cycle there, one at the memory, one back";
}

TEST_P(DramMachine, ARowHitTakesTheReadAlone) {
  DramBench bench(config_, options_);
  bench.read(0, 3, 7);
  bench.read(1000, 3, 7, bench.full.row_bytes / 2);
  bench.run();
  EXPECT_EQ(bench.sources[0]->replies.at(1).at, reply_at(bench.clock, 1000, data_cycles(bench.full)));
  EXPECT_EQ(bench.total(bench.channel.stats.data.row_hits), 1u);
}

TEST_P(DramMachine, ARowConflictTakesPrechargeActivateAndRead) {
  DramBench bench(config_, options_);
  bench.read(0, 3, 7);
  bench.read(1000, 3, 8);
  bench.run();
  const DramTiming& t = bench.full.timing;
  EXPECT_EQ(bench.sources[0]->replies.at(1).at, reply_at(bench.clock, 1000, t.trp + t.trcd + data_cycles(bench.full)));
  EXPECT_EQ(bench.total(bench.channel.stats.data.row_conflicts), 1u);
}

TEST_P(DramMachine, WithClosedRowsEveryLoneAccessIsAMiss) {
  config_.row_policy = RowPolicy::kClosed;
  DramBench bench(config_, options_);
  bench.read(0, 3, 7);
  bench.read(1000, 3, 7);
  bench.read(2000, 3, 8);
  bench.run();
  EXPECT_EQ(bench.total(bench.channel.stats.data.row_misses), 3u);
  EXPECT_EQ(bench.channel.stats.precharges.value, 3u);
  EXPECT_TRUE(bench.of(Kind::kPrecharge).empty()) << "rows close with their column command";
  EXPECT_EQ(bench.sources[0]->replies.at(2).at,
            reply_at(bench.clock, 2000, bench.full.timing.trcd + data_cycles(bench.full)));
}

/// Rows of all banks, two banks of different groups at a time; returns the share of time that the bus is used.
double stream(DramBench& bench, u32 line_bytes, u32 lines, bool write) {
  const u32 per_row = bench.full.row_bytes / line_bytes, banks = bench.full.ranks * bench.full.banks;
  for (u32 i = 0; i < lines; ++i) {
    const u32 pair = i / 2, row = pair / per_row;
    const u32 bank = (row * 2 + i % 2) % banks;
    bench.send({0, {0, bank, row * 2 / banks, pair % per_row * line_bytes}, write}, i % 2);
  }
  bench.run();
  const auto cycles = static_cast<double>(bench.clock.local(bench.scheduler.now()));
  return static_cast<double>(bench.total(bench.channel.stats.data.bus_cycles)) / cycles;
}

TEST_P(DramMachine, AStreamOfRowHitsUsesNinetyPercentOfThePins) {
  options_.sources = 2;
  for (const bool write : {false, true}) {
    DramBench bench(config_, options_);
    EXPECT_GE(stream(bench, options_.line_bytes, 20'000, write), 0.9) << (write ? "writes" : "reads");
    EXPECT_LE(bench.channel.stats.activations.value, 20'000 / (bench.full.row_bytes / options_.line_bytes) + 2);
  }
}

TEST_P(DramMachine, SweepingThroughMemoryWithTheDefaultMapDoesSoToo) {
  config_ = DramConfig{};
  config_.standard = GetParam().standard;
  config_.clock_mhz = GetParam().clock_mhz;
  config_.refresh = false;
  DramBench bench(config_, options_);
  for (u64 line = 0; bench.sources[0]->script.size() < 20'000; ++line) {
    const DramPlace place = bench.channel.map().place({line * options_.line_bytes});
    if (place.channel == 0) bench.sources[0]->script.push_back({0, place});
  }
  bench.run();
  const auto cycles = static_cast<double>(bench.clock.local(bench.scheduler.now()));
  // One source sends one request per core cycle: with a fast memory that, not the pins, is the limit.
  const double most = std::min(1.0, static_cast<double>(bench.full.burst_cycles() * options_.line_bytes) /
                                        bench.full.burst_bytes() * GetParam().core_mhz / bench.full.clock_mhz);
  EXPECT_GE(static_cast<double>(bench.total(bench.channel.stats.data.bus_cycles)) / cycles, 0.9 * most);
}

TEST_P(DramMachine, RefreshCostsTheStreamItsShareOfTime) {
  options_.sources = 2;
  DramBench without(config_, options_);
  const double before = stream(without, options_.line_bytes, 60'000, false);
  config_.refresh = true;
  DramBench with(config_, options_);
  const double after = stream(with, options_.line_bytes, 60'000, false);
  const DramTiming& t = with.full.timing;
  // A rank is gone for tRFC, and for closing and opening rows around it; of several ranks the others go on.
  const double gone = static_cast<double>(t.trfc) / t.trefi;
  const double around = static_cast<double>(t.tras + t.trp + t.trcd + t.cl) * 2 / t.trefi;
  EXPECT_LT(after, before);
  EXPECT_GE(after, before * (1 - with.full.ranks * (gone + around)));
  EXPECT_LE(after, before * (1 - gone / (with.full.ranks > 1 ? 8 : 1.1)));
  const u64 cycles = with.clock.local(with.scheduler.now());
  EXPECT_NEAR(static_cast<double>(with.channel.stats.refreshes.value),
              static_cast<double>(cycles) / t.trefi * with.full.ranks, with.full.ranks + 1.0);
}

INSTANTIATE_TEST_SUITE_P(Standards, DramMachine, testing::ValuesIn(kMachines),
                         [](const auto& tested) { return tested.param.name; });

DramConfig gddr5() {
  DramConfig config;
  config.channels = 1;
  config.channel_hash = config.bank_hash = false;
  config.refresh = false;
  return config;
}

TEST(DramRefresh, AnIdleChannelSleepsAndItsRefreshesAreCountedAfterwards) {
  DramConfig config = gddr5();
  config.refresh = true;
  DramBench bench(config, {});
  bench.read(0, 0, 1);
  EXPECT_EQ(bench.run(), Scheduler::End::kIdle) << "refreshing alone must not keep a machine awake";
  EXPECT_LT(bench.scheduler.ticks(), 100u);
  const u64 trefi = bench.full.timing.trefi;
  EXPECT_EQ(bench.channel.stats.refreshes.value, 0u);
  bench.channel.settle(10 * trefi + 501);
  EXPECT_EQ(bench.channel.stats.refreshes.value, 10u);
}

TEST(DramRefresh, ChannelsAndRanksTakeTurns) {
  std::set<u64> first;
  for (u32 index = 0; index < 4; ++index) {
    DramConfig config = gddr5();
    config.channels = 4;
    config.ranks = 2;
    config.refresh = true;
    DramBench bench(config, {.index = index});
    bench.settle(2 * bench.full.timing.trefi + 1);
    for (const DramCommand& c : bench.commands) {
      if (c.cycle < bench.full.timing.trefi) first.insert(c.cycle);
    }
  }
  ASSERT_EQ(first.size(), 7u) << "the eighth stands at the very end of the interval";
  for (auto at = first.begin(), next = std::next(at); next != first.end(); ++at, ++next) EXPECT_GT(*next - *at, 400u);
}

TEST(DramRefresh, ARequestThatFallsIntoARefreshWaitsForItsEnd) {
  DramConfig config = gddr5();
  config.refresh = true;
  DramBench bench(config, {});
  const u64 trefi = bench.full.timing.trefi;
  bench.read(trefi + 5, 0, 1);
  bench.run();
  EXPECT_EQ(bench.cycle_of(Kind::kRefresh), trefi);
  EXPECT_EQ(bench.cycle_of(Kind::kActivate), trefi + bench.full.timing.trfc);
}

TEST(DramWrites, WaitWhileReadsDoAndAreDrainedInBatches) {
  DramConfig config = gddr5();
  config.write_entries = 16;
  config.write_high = 12;
  config.write_low = 4;
  DramBench bench(config, {.sources = 2});
  for (u32 i = 0; i < 400; ++i) bench.send({0, {0, i % 16, 1, i / 16 % 16 * 128}, false}, 0);
  for (u32 i = 0; i < 100; ++i) bench.send({i * 20, {0, i % 16, 2, i / 16 * 128}, true}, 1);
  ASSERT_EQ(bench.run(), Scheduler::End::kIdle);
  ASSERT_TRUE(bench.channel.idle()) << bench.scheduler.explain();
  std::vector<u32> batches;
  Kind before = Kind::kRead;
  for (const DramCommand& c : bench.commands) {
    if (c.kind != Kind::kRead && c.kind != Kind::kWrite) continue;
    if (c.kind == Kind::kWrite && before == Kind::kRead) batches.push_back(0);
    if (c.kind == Kind::kWrite) ++batches.back();
    before = c.kind;
  }
  ASSERT_GE(batches.size(), 2u);
  for (u32 i = 0; i + 1 < batches.size(); ++i) EXPECT_GE(batches[i], 8u) << "from 12 down to 4, and what arrives";
  EXPECT_EQ(bench.of(Kind::kWrite).size(), 100u);
  EXPECT_EQ(bench.of(Kind::kRead).size(), 400u);
}

// A burst of GDDR5 has 32 bytes, 8 words.
TEST(DramWrites, ThatCoverPartsOfBurstsReadThemFirstIfMemoryHasNoMasks) {
  DramConfig config = gddr5();
  config.partial_writes = PartialWrites::kRead;
  DramBench bench(config, {});
  bench.send({.at = 0, .place = {0, 0, 1, 0}, .write = true, .words = 0xff});      // a whole burst
  bench.send({.at = 2000, .place = {0, 1, 1, 0}, .write = true, .words = 0x100});  // a word of the second one
  bench.send({.at = 4000, .place = {0, 2, 1, 0}, .write = false, .words = 0x1});   // reads need nothing else
  bench.run();
  const auto reads = bench.of(Kind::kRead), writes = bench.of(Kind::kWrite);
  ASSERT_EQ(writes.size(), 2u);
  ASSERT_EQ(reads.size(), 2u);
  EXPECT_EQ(writes[0].bank, 0u);
  EXPECT_EQ(reads[0].bank, 1u);
  EXPECT_EQ(writes[1].bank, 1u);
  EXPECT_GE(writes[1].cycle, reads[0].cycle + bench.full.timing.cl + bench.full.burst_cycles())
      << "not before it is read";
  EXPECT_EQ(reads[1].bank, 2u);
  EXPECT_EQ(bench.total(bench.channel.stats.data.reads_for_writes), 1u);
  EXPECT_EQ(bench.sources[0]->replies.size(), 1u) << "nobody hears of a read for a write";
  EXPECT_TRUE(bench.channel.idle());
  bench.statistics();
}

TEST(DramWrites, ThatAreReadFirstAllGetThereHoweverShortTheQueues) {
  for (const u32 entries : {2u, 3u, 128u}) {
    DramConfig config = gddr5();
    config.partial_writes = PartialWrites::kRead;
    config.read_entries = entries;
    config.write_entries = entries;
    config.write_high = entries;
    config.write_low = 1;
    DramBench bench(config, {.sources = 2});
    for (u32 i = 0; i < 200; ++i) bench.send({.at = 0, .place = {0, i % 16, i % 3, i / 16 * 128}, .words = 1}, 0);
    for (u32 i = 0; i < 300; ++i)
      bench.send({.at = 0, .place = {0, i % 16, 4 + i % 5, i / 16 * 128}, .write = true, .words = i % 4 ? 1u : 0xffu},
                 1);
    ASSERT_EQ(bench.run(), Scheduler::End::kIdle);
    ASSERT_TRUE(bench.channel.idle()) << bench.scheduler.explain();
    EXPECT_EQ(bench.of(Kind::kWrite).size(), 300u);
    EXPECT_EQ(bench.of(Kind::kRead).size(), 200u + 225u);
    EXPECT_EQ(bench.sources[0]->replies.size(), 200u);
    bench.statistics();
  }
}

TEST(DramWrites, AreServedWhenNothingElseWaitsAndAreNotAnswered) {
  DramBench bench(gddr5(), {});
  bench.write(0, 0, 1);
  EXPECT_EQ(bench.run(), Scheduler::End::kIdle);
  EXPECT_EQ(bench.of(Kind::kWrite).size(), 1u);
  EXPECT_TRUE(bench.sources[0]->replies.empty());
  EXPECT_TRUE(bench.channel.idle());
}

TEST(DramSources, ShareTheChannelFairlyAndEachGetsItsOwnReplies) {
  DramConfig config = gddr5();
  config.read_entries = 2;
  DramBench bench(config, {.sources = 3});
  for (u32 source = 0; source < 3; ++source)
    for (u32 i = 0; i < 300; ++i) bench.send({0, {0, (i * 5 + source) % 16, source, i % 16 * 128}}, source);
  bench.run();
  Cycle last[3] = {};
  for (u32 source = 0; source < 3; ++source) {
    const auto& replies = bench.sources[source]->replies;
    ASSERT_EQ(replies.size(), 300u);
    for (const SeenReply& reply : replies)
      EXPECT_EQ(reply.line, bench.channel.map().address(bench.sources[source]->script[reply.tag].place));
    last[source] = replies.back().at;
  }
  EXPECT_LT(*std::max_element(last, last + 3) - *std::min_element(last, last + 3), last[0] / 50);
}

TEST(DramExplain, SaysWhatWaits) {
  DramBench bench(gddr5(), {.link_entries = 2, .reply_every = 1'000'000});
  for (u32 i = 0; i < 80; ++i) bench.read(1, i % 16, 1);
  bench.run(5000);
  const std::string text = bench.scheduler.explain();
  EXPECT_NE(text.find("46 reads and 0 writes wait while it is reading, and no command can be issued"), text.npos)
      << text;
  EXPECT_NE(text.find("32 replies to input 0 (an L2 slice or MMU) wait"), text.npos) << text;
}

}  // namespace
}  // namespace terrace
