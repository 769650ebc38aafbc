// Each DRAM time, on time: the command it holds back is issued in exactly the cycle that the time allows, neither
// earlier nor later, and a time that is one cycle longer moves it by exactly one cycle. The devices here have times far
// apart, so that only one of them binds.
// SPDX-License-Identifier: MIT
#include "support/dram_bench.h"

namespace terrace {
namespace {

using Kind = DramCommand::Kind;

/// One burst of two cycles is a line of 32 bytes; core and DRAM clock are the same.
DramConfig plain() {
  DramConfig config;
  config.standard = DramStandardName::kCustom;
  config.channels = 1;
  config.ranks = 1;
  config.banks = 8;
  config.bank_groups = 1;
  config.row_bytes = 2048;
  config.bus_bits = 32;
  config.burst_length = 8;
  config.transfers_per_clock = 4;
  config.command_buses = 1;
  config.clock_mhz = 1000;
  config.bank_hash = config.channel_hash = false;
  config.refresh = false;
  config.timing = {.cl = 10,
                   .cwl = 6,
                   .trcd = 8,
                   .trp = 9,
                   .tras = 20,
                   .trc = 29,
                   .trrd_s = 3,
                   .trrd_l = 3,
                   .tfaw = 12,
                   .tccd_s = 2,
                   .tccd_l = 2,
                   .twtr_s = 4,
                   .twtr_l = 4,
                   .trtp = 3,
                   .twr = 7,
                   .turnaround = 2,
                   .trtrs = 2,
                   .trfc = 60,
                   .trefi = 1000};
  return config;
}

constexpr u32 kBurst = 2;

/// A script, and the distance of two commands in it, as the rule says.
struct Rule {
  std::string name;
  u32 DramTiming::* time;
  u32 value;  // large enough to bind
  void (*shape)(DramConfig&);
  void (*script)(DramBench&);
  Kind from;
  u32 from_nth;
  Kind to;
  u32 to_nth;
  u32 (*distance)(const DramTiming&);
};

void as_is(DramConfig&) {}
void two_groups(DramConfig& config) {
  config.bank_groups = 2;
}
void two_ranks(DramConfig& config) {
  config.ranks = 2;
}
void refreshed(DramConfig& config) {
  config.refresh = true;
}
/// Opens row 1 of these banks long before cycle 500.
void open_rows(DramBench& bench, std::initializer_list<u32> banks) {
  for (const u32 bank : banks) bench.read(0, bank, 1);
}

const std::vector<Rule>& rules() {
  static const std::vector<Rule> kRules = {
      {"trcd", &DramTiming::trcd, 15, as_is, [](DramBench& b) { b.read(0, 0, 1); }, Kind::kActivate, 0, Kind::kRead, 0,
       [](const DramTiming& t) { return t.trcd; }},
      {"trcd_of_a_write", &DramTiming::trcd, 15, as_is, [](DramBench& b) { b.write(0, 0, 1); }, Kind::kActivate, 0,
       Kind::kWrite, 0, [](const DramTiming& t) { return t.trcd; }},
      {"trp", &DramTiming::trp, 17, as_is,
       [](DramBench& b) {
         b.read(0, 0, 1);
         b.read(500, 0, 2);
       },
       Kind::kPrecharge, 0, Kind::kActivate, 1, [](const DramTiming& t) { return t.trp; }},
      {"tras", &DramTiming::tras, 40, as_is,
       [](DramBench& b) {
         b.read(0, 0, 1);
         b.read(0, 0, 2);
       },
       Kind::kActivate, 0, Kind::kPrecharge, 0, [](const DramTiming& t) { return t.tras; }},
      {"trc", &DramTiming::trc, 50, as_is,
       [](DramBench& b) {
         b.read(0, 0, 1);
         b.read(0, 0, 2);
       },
       Kind::kActivate, 0, Kind::kActivate, 1, [](const DramTiming& t) { return t.trc; }},
      {"trrd_s", &DramTiming::trrd_s, 6, two_groups,
       [](DramBench& b) {
         b.read(0, 0, 1);
         b.read(0, 1, 1);
       },
       Kind::kActivate, 0, Kind::kActivate, 1, [](const DramTiming& t) { return t.trrd_s; }},
      {"trrd_l", &DramTiming::trrd_l, 6, two_groups,
       [](DramBench& b) {
         b.read(0, 0, 1);
         b.read(0, 2, 1);
       },
       Kind::kActivate, 0, Kind::kActivate, 1, [](const DramTiming& t) { return t.trrd_l; }},
      {"tfaw", &DramTiming::tfaw, 30, as_is,
       [](DramBench& b) {
         for (u32 bank = 0; bank < 5; ++bank) b.read(0, bank, 1);
       },
       Kind::kActivate, 0, Kind::kActivate, 4, [](const DramTiming& t) { return t.tfaw; }},
      {"tccd_s", &DramTiming::tccd_s, 5, two_groups,
       [](DramBench& b) {
         open_rows(b, {0, 1});
         b.read(500, 0, 1);
         b.read(500, 1, 1);
       },
       Kind::kRead, 2, Kind::kRead, 3, [](const DramTiming& t) { return t.tccd_s; }},
      {"tccd_l", &DramTiming::tccd_l, 7, two_groups,
       [](DramBench& b) {
         open_rows(b, {0, 2});
         b.read(500, 0, 1);
         b.read(500, 2, 1);
       },
       Kind::kRead, 2, Kind::kRead, 3, [](const DramTiming& t) { return t.tccd_l; }},
      {"tccd_l_of_writes", &DramTiming::tccd_l, 7, two_groups,
       [](DramBench& b) {
         open_rows(b, {0, 2});
         b.write(500, 0, 1);
         b.write(500, 2, 1);
       },
       Kind::kWrite, 0, Kind::kWrite, 1, [](const DramTiming& t) { return t.tccd_l; }},
      {"twtr_s", &DramTiming::twtr_s, 9, two_groups,
       [](DramBench& b) {
         open_rows(b, {0, 1});
         b.write(500, 0, 1);
         b.read(501, 1, 1);
       },
       Kind::kWrite, 0, Kind::kRead, 2, [](const DramTiming& t) { return t.cwl + kBurst + t.twtr_s; }},
      {"twtr_l", &DramTiming::twtr_l, 9, two_groups,
       [](DramBench& b) {
         open_rows(b, {0, 2});
         b.write(500, 0, 1);
         b.read(501, 2, 1);
       },
       Kind::kWrite, 0, Kind::kRead, 2, [](const DramTiming& t) { return t.cwl + kBurst + t.twtr_l; }},
      {"cwl", &DramTiming::cwl, 8, as_is,
       [](DramBench& b) {
         open_rows(b, {0, 1});
         b.write(500, 0, 1);
         b.read(501, 1, 1);
       },
       Kind::kWrite, 0, Kind::kRead, 2, [](const DramTiming& t) { return t.cwl + kBurst + t.twtr_s; }},
      {"trtp", &DramTiming::trtp, 12, as_is,
       [](DramBench& b) {
         open_rows(b, {0});
         b.read(500, 0, 1);
         b.read(501, 0, 2);
       },
       Kind::kRead, 1, Kind::kPrecharge, 0, [](const DramTiming& t) { return t.trtp; }},
      {"twr", &DramTiming::twr, 12, as_is,
       [](DramBench& b) {
         open_rows(b, {0});
         b.write(500, 0, 1);
         b.read(501, 0, 2);
       },
       Kind::kWrite, 0, Kind::kPrecharge, 0, [](const DramTiming& t) { return t.cwl + kBurst + t.twr; }},
      {"turnaround", &DramTiming::turnaround, 5, as_is,
       [](DramBench& b) {
         open_rows(b, {0, 1});
         b.read(500, 0, 1);
         b.write(501, 1, 1);
       },
       Kind::kRead, 2, Kind::kWrite, 0, [](const DramTiming& t) { return t.cl + kBurst + t.turnaround - t.cwl; }},
      {"trtrs_between_reads", &DramTiming::trtrs, 5, two_ranks,
       [](DramBench& b) {
         open_rows(b, {0, 8});
         b.read(500, 0, 1);
         b.read(500, 8, 1);
       },
       Kind::kRead, 2, Kind::kRead, 3, [](const DramTiming& t) { return kBurst + t.trtrs; }},
      {"trtrs_between_writes", &DramTiming::trtrs, 5, two_ranks,
       [](DramBench& b) {
         open_rows(b, {0, 8});
         b.write(500, 0, 1);
         b.write(500, 8, 1);
       },
       Kind::kWrite, 0, Kind::kWrite, 1, [](const DramTiming& t) { return kBurst + t.trtrs; }},
      {"trtrs_from_write_to_read", &DramTiming::trtrs, 9, two_ranks,
       [](DramBench& b) {
         open_rows(b, {0, 8});
         b.write(500, 0, 1);
         b.read(501, 8, 1);
       },
       Kind::kWrite, 0, Kind::kRead, 2, [](const DramTiming& t) { return t.cwl + kBurst + t.trtrs - t.cl; }},
      {"trtrs_from_read_to_write", &DramTiming::trtrs, 9, two_ranks,
       [](DramBench& b) {
         open_rows(b, {0, 8});
         b.read(500, 0, 1);
         b.write(501, 8, 1);
       },
       Kind::kRead, 2, Kind::kWrite, 0, [](const DramTiming& t) { return t.cl + kBurst + t.trtrs - t.cwl; }},
      {"trfc", &DramTiming::trfc, 80, refreshed, [](DramBench& b) { b.read(1002, 0, 1); }, Kind::kRefresh, 0,
       Kind::kActivate, 0, [](const DramTiming& t) { return t.trfc; }},
      {"trp_before_a_refresh", &DramTiming::trp, 17, refreshed,
       [](DramBench& b) { b.read(900, 0, 1), b.read(1002, 0, 1); }, Kind::kPrecharge, 0, Kind::kRefresh, 0,
       [](const DramTiming& t) { return t.trp; }},
      {"trefi", &DramTiming::trefi, 1500, refreshed, [](DramBench& b) { b.read(9000, 0, 1); }, Kind::kRefresh, 0,
       Kind::kRefresh, 1, [](const DramTiming& t) { return t.trefi; }},
  };
  return kRules;
}

class DramRule : public testing::TestWithParam<Rule> {};

TEST_P(DramRule, HoldsTheCommandBackForJustThatLong) {
  const Rule& rule = GetParam();
  for (const u32 value : {rule.value, rule.value + 1, rule.value + 4}) {
    DramConfig config = plain();
    rule.shape(config);
    config.timing.*rule.time = value;
    DramBench bench(config, {.line_bytes = 32});
    rule.script(bench);
    ASSERT_EQ(bench.run(), Scheduler::End::kIdle);
    EXPECT_EQ(bench.cycle_of(rule.to, rule.to_nth) - bench.cycle_of(rule.from, rule.from_nth),
              rule.distance(config.timing))
        << rule.name << " = " << value << "\n"
        << testing::PrintToString(bench.commands);
  }
}

INSTANTIATE_TEST_SUITE_P(Times, DramRule, testing::ValuesIn(rules()),
                         [](const auto& tested) { return tested.param.name; });

TEST(DramRule, ReadDataComesClAfterTheCommand) {
  for (const u32 cl : {10u, 11u, 17u}) {
    DramConfig config = plain();
    config.timing.cl = cl;
    DramBench bench(config, {.line_bytes = 32});
    bench.read(0, 0, 1);
    bench.run();
    // One cycle of the reply link.
    EXPECT_EQ(bench.sources[0]->replies.at(0).at, bench.cycle_of(Kind::kRead) + cl + kBurst + 1);
  }
}

TEST(DramRule, OneCommandPerCycleOnOneBusAndARowAndAColumnCommandOnTwo) {
  for (const u32 buses : {1u, 2u}) {
    DramConfig config = plain();
    config.command_buses = buses;
    DramBench bench(config, {.line_bytes = 128});
    for (u32 i = 0; i < 200; ++i) bench.read(0, i % 8, i / 16);
    bench.run();
    std::vector<u64> rows, columns;
    for (const DramCommand& c : bench.commands) {
      const bool column = c.kind == Kind::kRead;
      for (u32 burst = 0; burst < (column ? 4 : 1); ++burst) (column ? columns : rows).push_back(c.cycle + burst * 2);
    }
    std::sort(columns.begin(), columns.end());
    EXPECT_EQ(std::adjacent_find(rows.begin(), rows.end()), rows.end());
    EXPECT_EQ(std::adjacent_find(columns.begin(), columns.end()), columns.end());
    std::vector<u64> both;
    std::set_intersection(rows.begin(), rows.end(), columns.begin(), columns.end(), std::back_inserter(both));
    EXPECT_EQ(both.empty(), buses == 1) << both.size() << " cycles carry two commands";
  }
}

TEST(DramTiming, AWriteTakesOnlyTheBurstsThatHaveWords) {
  const std::pair<u64, u32> kCases[] = {{~u64{0}, 4}, {1, 1}, {0xff00, 1}, {0x8000'0001, 2}};
  for (const auto& [words, bursts] : kCases) {
    DramBench bench(plain(), {.line_bytes = 128});
    bench.send({.place = {.row = 1}, .write = true, .words = words});
    bench.write(0, 0, 1, 128);
    bench.run();
    const auto writes = bench.of(Kind::kWrite);
    ASSERT_EQ(writes.size(), 2u);
    EXPECT_EQ(writes[1].cycle - writes[0].cycle, bursts * kBurst);
    EXPECT_EQ(bench.total(bench.channel.stats.data.bus_cycles), (4 + bursts) * kBurst);
  }
}

TEST(DramTiming, AReadTakesOnlyTheBurstsThatAreWanted) {
  const std::pair<u64, u32> kCases[] = {{~u64{0}, 4}, {0xff, 1}, {0xff00'0000, 1}, {0xff00'00ff, 2}};
  for (const auto& [words, bursts] : kCases) {
    DramBench bench(plain(), {.line_bytes = 128});
    bench.send({.place = {.row = 1}, .words = words});
    bench.read(0, 0, 1, 128);
    bench.run();
    const auto reads = bench.of(Kind::kRead);
    ASSERT_EQ(reads.size(), 2u);
    EXPECT_EQ(reads[1].cycle - reads[0].cycle, bursts * kBurst);
    EXPECT_EQ(bench.total(bench.channel.stats.data.bus_cycles), (4 + bursts) * kBurst);
  }
}

}  // namespace
}  // namespace terrace
