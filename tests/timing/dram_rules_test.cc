// A second opinion: whatever a channel does under random traffic is checked, command by command, against the rules of
// the standard, written down here once more as distances between pairs of commands.
// SPDX-License-Identifier: MIT
#include <map>

#include "support/dram_traffic.h"

namespace terrace {
namespace {

using Kind = DramCommand::Kind;

/// One burst, or one row command.
struct Event {
  Kind kind;
  u32 bank, rank, group;
  i64 at;
  u32 row;
  bool closes;  // the last burst of a line with auto-precharge
};

class Referee {
 public:
  Referee(const DramConfig& full, u32 line_bytes) : c_(full), t_(full.timing), burst_(full.burst_cycles()) {
    slot_ = std::max<i64>(t_.tccd_s, burst_);
    bursts_ = std::max(1u, line_bytes / full.burst_bytes());
    const i64 group = full.bank_groups > 1 ? std::max<i64>(t_.tccd_l, slot_) : slot_;
    spacing_ = (group + slot_ - 1) / slot_ * slot_;
  }

  void check(const std::vector<DramCommand>& commands) {
    std::vector<Event> events;
    for (const DramCommand& c : commands) {
      const bool column = c.kind == Kind::kRead || c.kind == Kind::kWrite;
      const u32 rank = c.bank / c_.banks, group = rank * c_.bank_groups + c.bank % c_.bank_groups;
      for (u32 i = 0; i < (column ? bursts_ : 1); ++i)
        events.push_back({c.kind, c.bank, rank, group, static_cast<i64>(c.cycle) + i * spacing_, c.row,
                          c.closes && i + 1 == bursts_});
    }
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.at < b.at; });
    for (std::size_t i = 0; i < events.size(); ++i) {
      state(events[i]);
      // Nothing reaches further than a refresh.
      for (std::size_t j = i; j-- > 0 && events[i].at - events[j].at <= std::max(t_.trfc, t_.trc);)
        pair(events[j], events[i]);
    }
  }

 private:
  static bool column(const Event& e) { return e.kind == Kind::kRead || e.kind == Kind::kWrite; }

  void apart(const Event& a, const Event& b, i64 least, const char* rule) {
    EXPECT_GE(b.at - a.at, least) << rule << ": kinds " << int(a.kind) << " bank " << a.bank << " @" << a.at << " and "
                                  << int(b.kind) << " bank " << b.bank << " @" << b.at;
  }

  void state(const Event& e) {
    if (e.kind == Kind::kActivate) {
      EXPECT_FALSE(open_.contains(e.bank)) << "activate of an open bank @" << e.at;
      open_[e.bank] = e.row;
      auto& last = activates_[e.rank];
      last.push_back(e.at);
      if (last.size() > 4) {
        EXPECT_GE(e.at - last[last.size() - 5], t_.tfaw) << "tFAW @" << e.at;
      }
    } else if (column(e)) {
      EXPECT_TRUE(open_.contains(e.bank) && open_[e.bank] == e.row) << "wrong row @" << e.at;
      if (e.closes) open_.erase(e.bank);
    } else if (e.kind == Kind::kPrecharge) {
      EXPECT_TRUE(open_.erase(e.bank)) << "precharge of a closed bank @" << e.at;
    } else {
      for (u32 bank = e.rank * c_.banks; bank < (e.rank + 1) * c_.banks; ++bank)
        EXPECT_FALSE(open_.contains(bank)) << "refresh with an open row @" << e.at;
    }
  }

  void pair(const Event& a, const Event& b) {
    if (a.bank == b.bank) same_bank(a, b);
    if (a.rank == b.rank) same_rank(a, b);
    if (column(a) && column(b)) columns(a, b);
    const bool together = a.kind == Kind::kPrecharge && b.kind == Kind::kPrecharge && a.rank == b.rank;
    if (!together && (c_.command_buses == 1 || column(a) == column(b))) apart(a, b, 1, "one command per bus and cycle");
  }

  void same_bank(const Event& a, const Event& b) {
    const i64 write_recovery = t_.cwl + burst_ + t_.twr;
    if (a.kind == Kind::kActivate && column(b)) apart(a, b, t_.trcd, "tRCD");
    if (a.kind == Kind::kActivate && b.kind == Kind::kPrecharge) apart(a, b, t_.tras, "tRAS");
    if (a.kind == Kind::kActivate && b.kind == Kind::kActivate) apart(a, b, t_.trc, "tRC");
    if (a.kind == Kind::kPrecharge && b.kind == Kind::kActivate) apart(a, b, t_.trp, "tRP");
    if (a.kind == Kind::kRead && b.kind == Kind::kPrecharge) apart(a, b, t_.trtp, "tRTP");
    if (a.kind == Kind::kWrite && b.kind == Kind::kPrecharge) apart(a, b, write_recovery, "tWR");
    if (a.closes && b.kind == Kind::kActivate)
      apart(a, b, t_.trp + (a.kind == Kind::kRead ? t_.trtp : write_recovery), "auto-precharge, then tRP");
  }

  void same_rank(const Event& a, const Event& b) {
    const bool group = a.group == b.group;
    if (a.kind == Kind::kActivate && b.kind == Kind::kActivate) apart(a, b, group ? t_.trrd_l : t_.trrd_s, "tRRD");
    if (a.kind == Kind::kWrite && b.kind == Kind::kRead)
      apart(a, b, t_.cwl + burst_ + (group ? t_.twtr_l : t_.twtr_s), "tWTR");
    if (a.kind == Kind::kPrecharge && b.kind == Kind::kRefresh) apart(a, b, t_.trp, "tRP before a refresh");
    if (a.kind == Kind::kRefresh) apart(a, b, t_.trfc, "tRFC");
  }

  void columns(const Event& a, const Event& b) {
    apart(a, b, slot_, "tCCD_S");
    if (a.group == b.group && c_.bank_groups > 1) apart(a, b, t_.tccd_l, "tCCD_L");
    if (a.kind == b.kind && a.rank != b.rank) apart(a, b, burst_ + t_.trtrs, "tRTRS");
    if (a.kind == Kind::kRead && b.kind == Kind::kWrite)
      apart(a, b, static_cast<i64>(t_.cl) + burst_ + t_.turnaround - t_.cwl, "read to write");
    if (a.kind == Kind::kWrite && b.kind == Kind::kRead && a.rank != b.rank)
      apart(a, b, static_cast<i64>(t_.cwl) + burst_ + t_.trtrs - t_.cl, "write to read of another rank");
  }

  const DramConfig& c_;
  const DramTiming& t_;
  i64 burst_, slot_, spacing_;
  u32 bursts_;
  std::map<u32, u32> open_;
  std::map<u32, std::vector<i64>> activates_;
};

struct Case {
  DramMix mix;
  DramStandardName standard;
  u32 ranks;
  RowPolicy rows;
};

class DramRules : public testing::TestWithParam<Case> {};

TEST_P(DramRules, AreKeptUnderRandomTraffic) {
  for (const std::string& scheduler : Registry<DramScheduler>::instance().names()) {
    DramConfig config;
    config.channels = 1;
    config.standard = GetParam().standard;
    config.ranks = GetParam().ranks;
    config.row_policy = GetParam().rows;
    config.scheduler.use = scheduler;
    DramBench bench(config, {.sources = 2});
    add_traffic(bench, GetParam().mix, 1500, 128, 1, 3);
    ASSERT_EQ(bench.run(), Scheduler::End::kIdle);
    ASSERT_GE(bench.commands.size(), 3000u);
    Referee(bench.full, 128).check(bench.commands);
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const DramMix& mix : dram_mixes())
    for (const auto standard : {DramStandardName::kGddr5, DramStandardName::kDdr3, DramStandardName::kHbm2})
      for (const u32 ranks : {1u, 2u})
        for (const auto rows : {RowPolicy::kOpen, RowPolicy::kClosed}) all.push_back({mix, standard, ranks, rows});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Traffic, DramRules, testing::ValuesIn(cases()), [](const auto& tested) {
  const Case& c = tested.param;
  return fmt::format("{}_{}_{}_ranks_{}", c.mix.name, find_standard(c.standard)->name, c.ranks,
                     c.rows == RowPolicy::kOpen ? "open" : "closed");
});

}  // namespace
}  // namespace terrace
