// CD-search (ICS'18) and SMs that tenants share: whole runs, the machine and the workloads. A test of a claim of the
// catalogue carries its name. The rules are in cd_search_policies_test.cc and intra_sm_policies_test.cc.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "frontend/stream_kind.h"
#include "frontend/workload.h"
#include "papers/designs.h"
#include "stats/decision_log.h"
#include "sweep/mix_lists.h"
#include "sweep/sweep_file.h"
#include "timing/tenant_runs.h"

namespace terrace {
namespace {

TEST(CdSearch, TheModelsConstantsFollowFromTheMachine) {
  const RunResult result = simulate(tenant_run("cp lbm", {"run.until=window:41000"}, {"cd_search"}, "cd_24sm"));
  const std::string first = std::get<std::string>(result.json.find("decisions")->items()[1].find("text")->value);
  EXPECT_EQ(first,
            "off-SM bandwidth in bytes/cycle: crossbar 384.0, L2 1536.0, DRAM 253.4, of which 50 % count; issue "
            "width 2, 24 SMs");
}

TEST(Claim, cdsearch_sec6_config) {
  const GpuConfig config = machine_with("cd_24sm", {"even"});
  EXPECT_EQ(config.sm.count, 24u);
  EXPECT_EQ(config.l1.bytes, 16u << 10);
  EXPECT_EQ(config.dram.channels, 6u);
  EXPECT_EQ(config.l2.slices, 2u * 6);
  EXPECT_EQ(config.l2.bytes / config.l2.slices, 128u << 10);
  EXPECT_EQ(config.l2.bytes, 1536u << 10);
  EXPECT_EQ(config.translation, TranslateAt::kNowhere) << "no address translation is involved";
}

/// The grids of table 1, in blocks.
const std::map<std::string, u64>& grids() {
  static const std::map<std::string, u64> all{{"dxtc", 16384},      {"tpacf", 201},   {"bino", 512},
                                              {"leu", 596},         {"cp", 32 * 128}, {"merge", 4096},
                                              {"pathfinder", 9260}, {"lavamd", 1000}, {"gaussian", 512 * 512},
                                              {"lbm", 120 * 150},   {"dwt2d", 97824}, {"gesummv", 128},
                                              {"pvc", 46875},       {"sc", 512}};
  return all;
}

const std::set<std::string> kMemory{"lavamd", "gaussian", "lbm", "dwt2d", "gesummv", "pvc", "sc"};
const std::set<std::string> kCompute{"dxtc", "tpacf", "bino", "leu", "cp", "merge", "pathfinder"};

/// Pairs of these, each once.
u64 pairs_within(u64 programs) {
  return programs * (programs - 1) / 2;
}

TEST(Claim, cdsearch_table1_workloads) {
  ASSERT_EQ(kMemory.size() + kCompute.size(), grids().size());
  EXPECT_EQ(kMemory.size() * kCompute.size() + pairs_within(kMemory.size()) + pairs_within(kCompute.size()), 91u);
  for (const auto& [name, blocks] : grids()) {
    ProgramInstance instance = make_workload(parse_workload(name + ":variant=cd", InputSize::kPaper));
    GuestMemory memory(PageSize(4096));
    const std::unique_ptr<InstStream> stream = make_stream(instance.code, memory, 32);
    instance.program->allocate(memory);  // grids follow from the sizes of buffers, whatever these hold
    std::vector<u64> begins;             // of the first launches
    while (begins.size() < 2) {
      const LaunchBatch batch = next_batch(*instance.program, memory);
      if (batch.launches.empty()) break;
      for (const Launch& launch : batch.launches) begins.push_back(launch.blocks());
    }
    EXPECT_THAT(begins, testing::Contains(blocks)) << name;
  }
}

/// The pairs of a list: how many, and that all are of the classes that its name says.
TEST(CdSearch, TheNamedListsHoldEveryPairOnce) {
  const std::string path = source_folder() + "/configs/sets/cd.toml";
  std::map<std::string, std::set<std::set<std::string>>> pairs;  // by list
  for (const MixList& list : read_mix_lists({.path = path, .shown = path})) {
    if (list.name != "heterogeneous" && list.name != "memory_pairs" && list.name != "compute_pairs") continue;
    for (const std::vector<std::string>& mix : list.mixes) {
      std::set<std::string> pair;
      u32 memory = 0;
      for (const std::string& tenant : mix) {
        EXPECT_TRUE(tenant.ends_with(":variant=cd")) << tenant;
        const std::string name = tenant.substr(0, tenant.find(':'));
        EXPECT_TRUE(grids().contains(name)) << name;
        memory += kMemory.contains(name);
        pair.insert(name);
      }
      ASSERT_EQ(pair.size(), 2u) << list.name;
      EXPECT_EQ(memory, list.name == "heterogeneous" ? 1u : list.name == "memory_pairs" ? 2u : 0u) << mix[0] << mix[1];
      pairs[list.name].insert(pair);
    }
    EXPECT_EQ(pairs[list.name].size(), list.mixes.size()) << list.name << ": each once";
  }
  EXPECT_EQ(pairs["heterogeneous"].size(), 49u);
  EXPECT_EQ(pairs["memory_pairs"].size(), 21u);
  EXPECT_EQ(pairs["compute_pairs"].size(), 21u);
}

TEST(CdSearch, TheExperimentHasEveryPairOfItsProgramsForAsLongAsThePaper) {
  const std::string path = source_folder() + "/configs/experiments/cd_pairs.toml";
  Mistakes mistakes(path);
  const SweepFile file = parse_sweep(path, read_file(path), "", mistakes);
  mistakes.raise();
  ASSERT_EQ(file.grids.size(), 1u);
  EXPECT_EQ(file.grids[0].untils, std::vector<std::string>{"window:2000000"});
  std::map<std::string, std::set<std::string>> pairs;  // by list
  std::set<std::string> memory, compute;               // the programs met
  for (const Mix& mix : file.grids[0].mixes) {
    ASSERT_EQ(mix.tenants.size(), 2u) << mix.label;
    std::vector<bool> is_memory;
    for (const std::string& tenant : mix.tenants) {
      EXPECT_TRUE(tenant.ends_with(":variant=cd")) << tenant;
      const std::string name = tenant.substr(0, tenant.find(':'));
      EXPECT_TRUE(grids().contains(name)) << name;
      is_memory.push_back(kMemory.contains(name));
      (is_memory.back() ? memory : compute).insert(name);
    }
    EXPECT_EQ(mix.list, is_memory[0] != is_memory[1] ? "heterogeneous" : is_memory[0] ? "memory" : "compute");
    EXPECT_TRUE(mix.list != "heterogeneous" || is_memory[0]) << mix.label << ": the memory-intensive one comes first";
    pairs[mix.list].insert(mix.label);
  }
  EXPECT_EQ(pairs["heterogeneous"].size(), memory.size() * compute.size());
  EXPECT_EQ(pairs["memory"].size(), pairs_within(memory.size()));
  EXPECT_EQ(pairs["compute"].size(), pairs_within(compute.size()));
  EXPECT_GE(memory.size() + compute.size(), 5u);
}

/// Windows short enough for programs of size mini.
const std::vector<std::string> kShort{"tenancy.partition.cd_search.window.warm_up=500",
                                      "tenancy.partition.cd_search.window.profile=500", "tenancy.launch_gap=100"};

TEST(CdSearch, ProgramsPassTheirOwnChecksAndRunsObeyTheLaws) {
  u32 moves = 0;
  for (const std::string tenants : {"lbm cp", "lavamd gesummv", "lbm gesummv bino", "lavamd cp lbm bino"}) {
    RunRequest request = tenant_run(tenants, kShort, {"cd_search"}, "cd_24sm");
    request.check = true;
    const RunResult result = expect_laws(request);
    EXPECT_TRUE(result.checks_passed) << tenants << "\n" << result.text;
    EXPECT_FALSE(result.json.find("decisions")->items().empty());
    moves += result.text.find("SMs have changed hands, ") != std::string::npos;
  }
  EXPECT_GT(moves, 0u) << "the log says when blocks had left SMs that others got";
}

/// Verdicts rest on it: a search that ends after a tenant has completed proves nothing.
TEST(CdSearch, TheLogSaysWhenTheSearchHasEnded) {
  std::vector<std::string> sets = kShort;
  sets.emplace_back("run.until=window:20000");
  const RunResult result = simulate(tenant_run("lbm cp", sets, {"cd_search"}, "cd_24sm"));
  const auto text = [](const Tree& each) { return std::get<std::string>(each.find("text")->value); };
  const auto& log = result.json.find("decisions")->items();
  const auto ended = std::find_if(log.begin(), log.end(), [&](const Tree& each) { return text(each) == kSearchEnded; });
  ASSERT_NE(ended, log.end());
  ASSERT_NE(ended, log.begin());
  const std::string last = text(*(ended - 1));
  EXPECT_TRUE(last.starts_with("gets ") || last.ends_with("shares stay even") || last.ends_with("lose their power"))
      << last;
  EXPECT_EQ(*ended->find("cycle"), *(ended - 1)->find("cycle"));
  EXPECT_EQ(std::count_if(log.begin(), log.end(), [&](const Tree& each) { return text(each) == kSearchEnded; }), 1);
}

/// SMs of each tenant that the log says from an entry on.
std::vector<u64> shares(const Tree& entry) {
  std::vector<u64> sms;
  if (const Tree* given = entry.find("sms"))
    for (const Tree& each : given->items()) sms.push_back(std::get<u64>(each.value));
  return sms;
}

TEST(CdSearch, StartsAgainWhenATenantArrivesAndWhenOneLeaves) {
  std::vector<std::string> sets = kShort;
  sets.emplace_back("run.until=window:60000");
  const RunResult result =
      expect_laws(tenant_run("lbm cp:arrive=3000 bino:arrive=20000,leave=40000", sets, {"cd_search"}, "cd_24sm"));
  const auto& log = result.json.find("decisions")->items();
  std::vector<u64> begins;
  std::vector<std::vector<u64>> even;
  u32 ended = 0;
  for (const Tree& entry : log) {
    const std::string text = std::get<std::string>(entry.find("text")->value);
    ended += text == kSearchEnded;
    if (!text.starts_with("even shares; classify")) continue;
    begins.push_back(number(entry, "cycle"));
    even.push_back(shares(entry));
  }
  ASSERT_EQ(begins.size(), 4u) << result.text;
  EXPECT_EQ((std::vector<u64>(begins.begin(), begins.begin() + 3)), (std::vector<u64>{0, 3000, 20000}));
  EXPECT_GE(begins[3], 40000u);
  EXPECT_LT(begins[3], 45000u) << "its last accesses return first";
  EXPECT_EQ(even, (std::vector<std::vector<u64>>{{24, 0, 0}, {12, 12, 0}, {8, 8, 8}, {12, 12, 0}}));
  EXPECT_EQ(ended, 3u) << "the first newcomer cut a search short, the others came to their end\n" << result.text;
}

TEST(CdSearch, ATimelineSaysWhatWasDecidedInEachEpoch) {
  std::vector<std::string> sets = kShort;
  sets.insert(sets.end(), {"run.epoch=1000", "run.until=window:5000"});
  RunRequest request = tenant_run("lbm cp", sets, {"cd_search"}, "cd_24sm");
  request.timeline = true;
  request.timeline_of = {"gpu.partition"};
  const RunResult result = simulate(request);
  EXPECT_NE(result.timeline.find(",decisions\n"), std::string::npos) << result.timeline;
  EXPECT_NE(result.timeline.find("tenant 0: memory-intensive"), std::string::npos) << result.timeline;
  EXPECT_NE(result.text.find("What the SM partitioner measured and decided"), std::string::npos);
}

TEST(SharedSms, RunsObeyTheLawsAndProgramsPassTheirOwnChecks) {
  for (const std::string design : {"smk", "maestro", "maestro_cd_search"}) {
    for (const std::string tenants : {"lbm cp", "lavamd gesummv bino"}) {
      const std::string policy = design == "smk" ? "smk" : "maestro";
      RunRequest request = tenant_run(tenants,
                                      {"tenancy.partition." + policy + ".window.warm_up=400",
                                       "tenancy.partition." + policy + ".window.profile=400", "tenancy.launch_gap=100"},
                                      {design}, "cd_24sm");
      request.check = true;
      const RunResult result = expect_laws(request);
      EXPECT_TRUE(result.checks_passed) << design << "\n" << result.text;
    }
  }
}

TEST(SharedSms, KeepAddressSpacesApart) {
  // With translation, on the machines of the other papers too; dev builds check every line that an SM reads.
  for (const std::string gpu : {"dws_30sm", "mask_maxwell30", "simt_8cu"}) {
    RunRequest request = tenant_run("mm gups hs",
                                    {"tenancy.partition.use=smk", "tenancy.partition.smk.window.warm_up=300",
                                     "tenancy.partition.smk.window.profile=300"},
                                    {}, gpu);
    request.check = true;
    const RunResult result = expect_laws(request);
    EXPECT_TRUE(result.checks_passed) << gpu << "\n" << result.text;
    EXPECT_NE(result.text.find("blocks on every SM"), std::string::npos) << "they shared SMs\n" << result.text;
  }
}

}  // namespace
}  // namespace terrace
