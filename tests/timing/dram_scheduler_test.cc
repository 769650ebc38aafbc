// The order in which the schedulers of a channel serve what waits.
// SPDX-License-Identifier: MIT
#include "config/assign.h"
#include "support/dram_bench.h"

namespace terrace {
namespace {

using Kind = DramCommand::Kind;

DramConfig with(const char* scheduler) {
  DramConfig config;
  config.channels = 1;
  config.channel_hash = config.bank_hash = false;
  config.refresh = false;
  config.scheduler.use = scheduler;
  return config;
}

std::vector<u32> order(const DramBench& bench) {
  std::vector<u32> tags;
  for (const SeenReply& reply : bench.sources[0]->replies) tags.push_back(reply.tag);
  return tags;
}

TEST(Frfcfs, ServesYoungerRowHitsBeforeAnOlderConflict) {
  DramBench bench(with("frfcfs"), {.link_entries = 16});
  bench.read(0, 0, 1);
  bench.read(0, 0, 2);
  for (u32 i = 1; i < 4; ++i) bench.read(0, 0, 1, i * 128);
  bench.run();
  EXPECT_EQ(order(bench), (std::vector<u32>{0, 2, 3, 4, 1}));
}

TEST(Frfcfs, ServesRowHitsThatArriveWhileTheRowMustStayOpenAnyway) {
  DramBench bench(with("frfcfs"), {});
  bench.read(0, 0, 1);
  bench.read(0, 0, 2);
  bench.read(20, 0, 1, 128);  // tRAS still holds the row open
  bench.run();
  EXPECT_EQ(order(bench), (std::vector<u32>{0, 2, 1}));
}

/// How many younger row hits pass the one request that wants another row.
u32 passed(u32 limit) {
  DramConfig config = with("frfcfs");
  Given given{.path = "bypass_limit", .value = Tree(u64{limit}), .bare_text = false, .origin = {}};
  struct Holder {
    PolicyParams& params;
    void describe(Fields& v) { params.describe(v); }
  } holder{config.scheduler.params("frfcfs")};
  assign(holder, given);
  DramBench bench(config, {});
  bench.read(0, 0, 1);
  bench.read(0, 0, 2);
  for (u32 i = 0; i < 200; ++i) bench.read(0, 0, 1, i % 16 * 128);
  bench.run();
  const auto tags = order(bench);
  return static_cast<u32>(std::find(tags.begin(), tags.end(), 1u) - tags.begin()) - 1;
}

TEST(Frfcfs, TheOldestRequestOfABankIsPassedOverExactlyAsOftenAsAllowed) {
  for (const u32 limit : {0u, 1u, 5u, 16u, 100u}) EXPECT_EQ(passed(limit), limit);
}

TEST(Frfcfs, RowHitsOfOneRankDoNotStarveTheOther) {
  DramConfig config = with("frfcfs");
  config.ranks = 2;
  DramBench bench(config, {});
  for (const u32 bank : {0u, 1u, 16u}) bench.read(0, bank, 1);
  const auto hits = [&](u32 count) {
    for (u32 i = 0; i < count; ++i) bench.read(1000, i % 2, 1, i / 2 % 16 * 128);
  };
  hits(100);
  bench.read(1000, 16, 1);  // changing the rank costs a bus cycle, so the other rank is always ready first
  hits(400);
  bench.run();
  const u32 other = 103;
  u32 younger = 0;
  for (const u32 tag : order(bench)) {
    if (tag == other) break;
    younger += tag > other;
  }
  EXPECT_GE(younger, 1u) << "nobody passes, so nothing was tested";
  EXPECT_LE(younger, 17u);
}

TEST(Fcfs, ReadsAreServedInTheOrderOfArrivalAndSoAreWrites) {
  DramBench bench(with("fcfs"), {});
  u32 mixed = 12345;
  for (u32 i = 0; i < 500; ++i) {
    mixed = mixed * 1664525 + 1013904223;  // Numerical Recipes' generator: any mixture will do
    bench.send({0, {0, mixed >> 8 & 15, mixed >> 16 & 3, (mixed >> 20 & 15) * 128}, (mixed >> 28) < 4});
  }
  bench.run();
  u32 last = 0;
  for (const u32 tag : order(bench)) {
    EXPECT_GE(tag, last);
    last = tag;
  }
  std::vector<u32> expected, banks;
  for (const ScriptedRequest& request : bench.sources[0]->script)
    if (request.write) expected.push_back(request.place.bank);
  for (const DramCommand& c : bench.of(Kind::kWrite)) banks.push_back(c.bank);
  EXPECT_EQ(banks, expected);
}

TEST(Fcfs, OpensRowsOfOtherBanksAheadOfTime) {
  DramBench bench(with("fcfs"), {});
  for (u32 i = 0; i < 4; ++i) bench.read(0, i, 1);
  bench.run();
  EXPECT_LT(bench.cycle_of(Kind::kActivate, 1), bench.cycle_of(Kind::kRead, 0));
}

TEST(FrRrFcfs, TenantsTakeTurnsInABankAndRowHitsGoFirst) {
  const auto scheduler = Registry<DramScheduler>::instance().make(
      "fr_rr_fcfs", {.banks = 2, .read_entries = 8, .write_entries = 1, .tenants = 3});
  u16 entry = 0;
  const auto offer = [&](u32 tenant, u32 row) {
    scheduler->offer({.entry = entry, .tenant = TenantId(tenant), .row = row, .age = entry}, 0);
    return entry++;
  };
  const auto serve = [&](u32 open_row = BankView::kClosed) {
    const u16 chosen = scheduler->next({0, open_row, false}).entry;
    if (chosen != DramScheduler::kNone) scheduler->take(chosen, 0);
    return chosen;
  };
  const u16 a1 = offer(0, 1), a2 = offer(0, 2), a3 = offer(0, 3), c1 = offer(2, 5), b1 = offer(1, 9);
  EXPECT_EQ(serve(), a1);
  EXPECT_EQ(serve(), b1) << "the next tenant's, although the first has older ones";
  EXPECT_EQ(serve(3), a3) << "a row hit is no turn, and the oldest one goes first";
  EXPECT_EQ(serve(), c1);
  EXPECT_EQ(serve(), a2);
  EXPECT_EQ(serve(), DramScheduler::kNone);
}

}  // namespace
}  // namespace terrace
