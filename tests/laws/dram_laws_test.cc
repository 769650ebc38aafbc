// The laws of time for a memory channel: what it does depends neither on sleeping, nor on the order of ticks, nor on
// how often somebody looks, on any clock ratio, with queues of one or two entries and with sources that are slow to
// take replies.
// SPDX-License-Identifier: MIT
#include "golden/golden.h"
#include "support/dram_traffic.h"

namespace terrace {
namespace {

struct Case {
  std::string mix;
  std::string scheduler;
  u32 entries;
  DramStandardName standard;
  u32 clock_mhz, core_mhz;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const DramMix& mix : dram_mixes()) {
    for (const std::string& scheduler : Registry<DramScheduler>::instance().names()) {
      for (const u32 entries : {1u, 2u, 16u}) {
        all.push_back({mix.name, scheduler, entries, DramStandardName::kGddr5, 1674, 1020});
        all.push_back({mix.name, scheduler, entries, DramStandardName::kDdr3, 800, 2000});
        all.push_back({mix.name, scheduler, entries, DramStandardName::kHbm2, 1000, 1000});
        // A burst begins and ends within one cycle of so slow a core.
        if (entries == 2) all.push_back({mix.name, scheduler, entries, DramStandardName::kGddr5, 924, 24});
      }
    }
  }
  return all;
}

struct Disturbance {
  Cycle settle_every = 0;
  bool ask_anew = false;  // everything, in every cycle
};

std::string outcome(const Case& c, Scheduler::Options engine, u64* ticks = nullptr, Disturbance disturbance = {}) {
  DramConfig config;
  config.standard = c.standard;
  config.clock_mhz = c.clock_mhz;
  config.channels = 1;
  config.scheduler.use = c.scheduler;
  config.row_policy = c.entries == 2 ? RowPolicy::kClosed : RowPolicy::kOpen;
  config.read_entries = config.write_entries = c.entries;
  config.return_entries = c.entries;
  config.write_high = std::max(1u, c.entries / 2);
  config.write_low = config.write_high / 2;
  DramBench bench(config, {.core_mhz = c.core_mhz,
                           .sources = 3,
                           .tenants = 2,
                           .link_entries = c.entries == 16 ? 4u : 1u,
                           .reply_every = c.entries == 16 ? 1u : 13u,
                           .engine = engine});
  const auto mix = std::find_if(dram_mixes().begin(), dram_mixes().end(), [&](auto& m) { return m.name == c.mix; });
  add_traffic(bench, *mix, 250, 128, 2, 7);
  while (disturbance.settle_every != 0 &&
         bench.scheduler.run(bench.scheduler.now() + disturbance.settle_every) == Scheduler::End::kLimit)
    bench.channel.settle(bench.scheduler.now());
  while (disturbance.ask_anew && bench.scheduler.run(bench.scheduler.now() + 1) == Scheduler::End::kLimit)
    bench.channel.epoch(std::vector<TenantEpoch>(2), bench.scheduler.now());
  EXPECT_EQ(bench.run(), Scheduler::End::kIdle) << bench.scheduler.explain();
  if (ticks != nullptr) *ticks = bench.scheduler.ticks();
  std::string text = bench.statistics();
  for (const DramCommand& command : bench.commands) text += testing::PrintToString(command) + "\n";
  for (const auto& source : bench.sources)
    for (const SeenReply& reply : source->replies) text += fmt::format("{}@{} ", reply.tag, reply.at);
  return text;
}

std::string name_of(const Case& c) {
  return fmt::format("{}_{}_{}_{}_{}", c.mix, c.scheduler, c.entries, c.clock_mhz, c.core_mhz);
}

void PrintTo(const Case& c, std::ostream* out) {
  *out << name_of(c);
}

class DramLaws : public testing::TestWithParam<Case> {};

TEST_P(DramLaws, SleepingChangesNothing) {
  u64 slept = 0, awake = 0;
  const std::string sleeping = outcome(GetParam(), {}, &slept);
  EXPECT_EQ(sleeping, outcome(GetParam(), {.sleep = false}, &awake));
  EXPECT_LT(slept, awake) << "nobody slept, so nothing was tested";
}

TEST_P(DramLaws, TheOrderOfTicksChangesNothing) {
  const std::string straight = outcome(GetParam(), {});
  for (const u64 seed : {1, 2, 3}) EXPECT_EQ(straight, outcome(GetParam(), {.permute_seed = seed}));
}

TEST_P(DramLaws, LookingAtItsRefreshesChangesNothing) {
  EXPECT_EQ(outcome(GetParam(), {}), outcome(GetParam(), {}, nullptr, {.settle_every = 777}));
}

TEST_P(DramLaws, AskingEverythingAnewInEveryCycleFindsNothingEarlier) {
  EXPECT_EQ(outcome(GetParam(), {}), outcome(GetParam(), {.sleep = false}, nullptr, {.ask_anew = true}));
}

INSTANTIATE_TEST_SUITE_P(Cases, DramLaws, testing::ValuesIn(cases()),
                         [](const auto& tested) { return name_of(tested.param); });

TEST(DramLawsAcrossBuilds, EveryCompilerAndBuildComputesTheSame) {
  std::string all;
  for (const Case& c : cases()) {
    const std::string text = outcome(c, {});
    u64 hash = 0xcbf29ce484222325;  // FNV-1a
    for (const char byte : text) hash = (hash ^ static_cast<u8>(byte)) * 0x100000001b3;
    all += fmt::format("{} {:016x}\n", name_of(c), hash);
  }
  expect_golden("dram_channel.txt", all);
}

}  // namespace
}  // namespace terrace
