// Epochs: what is told at their end, and that they change nothing by themselves.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "timing/scripted_tenants.h"
#include "timing/tenant_runs.h"

namespace terrace {
namespace {

GpuConfig epoch_machine(Cycle epoch) {
  GpuConfig config;
  config.sm.count = 2;
  config.translation = TranslateAt::kNowhere;
  config.tenancy.launch_gap = 0;
  config.run.epoch = epoch;
  return config;
}

/// A load of a line that no other warp touches, and work on it.
ScriptedTenant loads(u32 rounds, u32 blocks) {
  const auto address = [](const ScriptPlace& at, u32 lane) {
    return 0x1'0000'0000ull + (at.block * 64 + at.round) * 128 + lane * 4;
  };
  return {.script = {{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {}, {1}), address},
                     {plain_inst(InstClass::kInteger, {1}, {2})}},
          .rounds = rounds,
          .blocks = blocks};
}

TEST(Epochs, TellWhatEachTenantDid) {
  struct Seen {
    Cycle at;
    std::vector<TenantEpoch> epoch;
  };
  std::vector<Seen> seen;
  auto partitioner = std::make_unique<ScriptedPartitioner>([&](const SmPartitioner::Situation& now, SmPlan plan) {
    if (now.occasion == SmPartitioner::Occasion::kEpoch) seen.push_back({now.now, now.epoch});
    return plan;
  });
  // The second tenant's line is always the same, so that the L1 answers after the first time.
  ScriptedTenant hits = loads(40, 1);
  hits.script[0].address = [](const ScriptPlace&, u32 lane) { return 0x1'0000'0000ull + lane * 4; };
  ScriptedTenants tenants(epoch_machine(500), {loads(40, 8), hits}, {}, std::move(partitioner));
  tenants.gpu().run({.relaunch = false});
  ASSERT_GT(seen.size(), 3u);
  TenantEpoch sum[2];
  for (u32 i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].at, 500 * (i + 1)) << "an epoch ends every 500 cycles";
    for (u32 tenant = 0; tenant < 2; ++tenant) {
      const TenantEpoch& epoch = seen[i].epoch[tenant];
      EXPECT_EQ(epoch.cycles, 500u);
      EXPECT_EQ(epoch.thread_instructions, 32 * epoch.warp_instructions) << "all lanes are active";
      EXPECT_LE(epoch.l2_hits, epoch.l2_requests);
      sum[tenant].warp_instructions += epoch.warp_instructions;
      sum[tenant].l2_requests += epoch.l2_requests;
      sum[tenant].dram_lines += epoch.dram_lines;
      sum[tenant].blocks_done += epoch.blocks_done;
    }
  }
  EXPECT_EQ(sum[1].warp_instructions, 2 * 40u + 1) << "two a round, and the exit";
  EXPECT_EQ(sum[1].l2_requests, 1u) << "one line, once";
  EXPECT_EQ(sum[1].dram_lines, 1u);
  EXPECT_EQ(sum[1].blocks_done, 1u);
  EXPECT_GT(sum[0].l2_requests, 100u) << "every round another line";
}

TEST(Epochs, AloneChangeNothing) {
  for (const std::string tenants : {"mm gups", "mm gups:leave=20000 mm:arrive=5000"}) {
    const std::string none = digest_of(simulate(tenant_run(tenants)));
    for (const char* length : {"run.epoch=100", "run.epoch=1777", "run.epoch=1000000000"}) {
      EXPECT_EQ(digest_of(simulate(tenant_run(tenants, {length}))), none) << tenants << " " << length;
    }
  }
}

TEST(Timeline, HasALineForEachEpochAndOneForTheRest) {
  ScriptedTenants tenants(epoch_machine(500), {loads(40, 8)});
  tenants.gpu().sample_epochs({"gpu.sm.0.warp_instructions", "gpu.sm.1.warp_instructions", "gpu.sm.0.stall_cycles"});
  tenants.gpu().run({});
  std::istringstream lines(tenants.gpu().timeline());
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line,
            "cycle,\"gpu.sm.0.warp_instructions{tenant=0}\",\"gpu.sm.0.stall_cycles\","
            "\"gpu.sm.1.warp_instructions{tenant=0}\"");
  u64 issued = 0, epochs = 0, last = 0;
  for (; std::getline(lines, line); ++epochs) {
    std::istringstream fields(line);
    u64 cycle = 0, first = 0, stalled = 0, second = 0;
    char comma = 0;
    fields >> cycle >> comma >> first >> comma >> stalled >> comma >> second;
    EXPECT_LE(cycle - last, 500u);
    EXPECT_LE(stalled, cycle - last) << "closed at the end of the epoch, not carried into the next";
    issued += first + second;
    last = cycle;
  }
  EXPECT_EQ(last, tenants.gpu().now());
  EXPECT_EQ(epochs, last / 500 + (last % 500 != 0));
  EXPECT_EQ(issued, 8 * (2 * 40u + 1));
}

TEST(Timeline, NeedsEpochs) {
  ScriptedTenants tenants(epoch_machine(0), {loads(1, 1)});
  EXPECT_THROW(tenants.gpu().sample_epochs(), InputError);
}

TEST(Samples, CountWhatWaitsForTranslationAndChangeNothing) {
  const RunResult plain = simulate(tenant_run("gups mm"));
  const RunResult sampled = simulate(tenant_run("gups mm", {"run.sample=100"}));
  EXPECT_EQ(number(*plain.json.find("run"), "cycles"), number(*sampled.json.find("run"), "cycles"));
  const Tree& samples = *sampled.json.find("stats")->find("gpu")->find("samples");
  const u64 taken = number(*samples.find("samples"), "value");
  EXPECT_EQ(taken, number(*sampled.json.find("run"), "cycles") / 100);
  u64 walks = 0;
  for (const u32 tenant : {0u, 1u}) {
    walks += per_tenant(samples, "walks", tenant);
    EXPECT_GE(per_tenant(samples, "stalled", tenant), per_tenant(samples, "misses", tenant)) << "a warp for each page";
  }
  EXPECT_GT(walks, 0u);
  EXPECT_LE(walks, taken * 16) << "no more than there are walkers";
}

// Buckets of one value each up to 31 and the machine's 16 walkers: the histogram tells the extremes too.
TEST(Samples, KnowTheFewestAndTheMostOfAllSamples) {
  const RunResult sampled = simulate(tenant_run("gups mm", {"run.sample=100", "sm.warps=24"}));
  const Tree& samples = *sampled.json.find("stats")->find("gpu")->find("samples");
  const auto lowest_and_highest = [&](std::string_view name) {
    std::pair<u64, u64> ends{~u64{0}, 0};
    // Pairs of the smallest value and how often it fell there; none are empty.
    for (const Tree& bucket : samples.find(name)->find("buckets")->items()) {
      const u64 from = std::get<u64>(bucket.items().at(0).value);
      ends = {std::min(ends.first, from), std::max(ends.second, from)};
    }
    return ends;
  };
  const auto value = [&](std::string_view name) { return number(*samples.find(name), "value"); };
  const auto [fewest_walks, most_walks] = lowest_and_highest("concurrent_walks");
  EXPECT_EQ(value("most_walks"), most_walks);
  EXPECT_EQ(16 - value("most_idle_walkers"), fewest_walks);
  EXPECT_LT(fewest_walks, most_walks);
  const auto [fewest_warps, most_warps] = lowest_and_highest("stalled_warps");
  EXPECT_EQ(value("most_stalled"), most_warps);
  EXPECT_EQ(24 - value("most_unstalled"), fewest_warps);
  EXPECT_LT(fewest_warps, most_warps);
}

}  // namespace
}  // namespace terrace
