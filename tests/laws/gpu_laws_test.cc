// The laws of time on the real machine: for every workload at size mini, on the machine of a paper that ran it and on
// one whose queues hold one or two entries, sleeping and the order of ticks change nothing, and all builds compute the
// same.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>

#include "config/loader.h"
#include "experiment/run.h"
#include "frontend/workload.h"
#include "golden/golden.h"
#include "support/paths.h"

namespace terrace {
namespace {

struct Case {
  std::string workload, machine;
};

/// The machine of the first paper that ran the workload, or, so that every machine has some, of another one.
std::string machine_of(const WorkloadInfo& info) {
  static const std::map<std::string_view, std::string> kOthers{
      {"gups", "dws_30sm"}, {"mm", "dws_30sm"}, {"gesummv", "cd_24sm"}};
  static const std::map<std::string_view, std::string> kMachines{
      {"MASK", "mask_maxwell30"}, {"SIMT", "simt_8cu"}, {"DWS", "dws_30sm"}, {"CD", "cd_24sm"}, {"VC", "vc_16cu"}};
  const auto other = kOthers.find(info.name);
  return other != kOthers.end() ? other->second : kMachines.at(info.papers.substr(0, info.papers.find_first_of(", ")));
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Workload* workload : all_workloads())
    all.push_back({std::string(workload->info().name), machine_of(workload->info())});
  return all;
}

GpuConfig machine(const std::string& name, const std::vector<std::string>& sets = {}) {
  Layers layers;
  const std::string shown = "configs/gpu/" + name + ".toml";
  layers.gpu.push_back({source_folder() + "/" + shown, shown});
  for (const std::string& set : sets) layers.options.push_back(split_assignment(set, "--set"));
  return ConfigLoader<GpuConfig>(layers).config();
}

/// Every queue as small as it can be: everything pushes back.
GpuConfig tiny_queues(const std::string& name) {
  return machine(name, {"l1_tlb.miss_entries=1", "l1_tlb.miss_merges=1", "l2_tlb.miss_entries=2", "mmu.walkers=1",
                        "mmu.queue_entries=1", "sm.memory_queue=1", "l1.miss_entries=1", "l1.miss_merges=1",
                        "noc.lane_packets=1", "l2.miss_entries=2", "l2.miss_merges=1", "l2.reply_entries=1",
                        "l2.write_back_entries=1", "dram.read_entries=2", "dram.write_entries=2", "dram.write_high=2",
                        "dram.write_low=1", "dram.return_entries=1"});
}

struct Outcome {
  std::string digest;
  bool passed;
};
Outcome outcome(const GpuConfig& config, const std::string& workload, Scheduler::Options options = {}) {
  RunRequest request;
  request.config = config;
  request.config.run.tenants = workload;
  request.config.run.size = "mini";
  request.check = true;
  request.options = options;
  const RunResult result = simulate(request);
  return {std::get<std::string>(result.json.find("run")->find("digest")->value), result.checks_passed};
}

class GpuLaws : public testing::TestWithParam<Case> {};

TEST_P(GpuLaws, SleepingAndTheOrderOfTicksChangeNothing) {
  const GpuConfig config = machine(GetParam().machine);
  const Outcome straight = outcome(config, GetParam().workload);
  EXPECT_TRUE(straight.passed);
  EXPECT_EQ(straight.digest, outcome(config, GetParam().workload, {.sleep = false, .permute_seed = 1}).digest);
  EXPECT_EQ(straight.digest, outcome(config, GetParam().workload, {.sleep = true, .permute_seed = 2}).digest);
}

TEST_P(GpuLaws, SleepingAndTheOrderOfTicksChangeNothingWithTinyQueues) {
  const GpuConfig config = tiny_queues(GetParam().machine);
  const Outcome straight = outcome(config, GetParam().workload);
  EXPECT_TRUE(straight.passed);
  EXPECT_EQ(straight.digest, outcome(config, GetParam().workload, {.sleep = false, .permute_seed = 3}).digest);
  EXPECT_EQ(straight.digest, outcome(config, GetParam().workload, {.sleep = true, .permute_seed = 4}).digest);
}

std::string name_of(const testing::TestParamInfo<Case>& tested) {
  return tested.param.workload + "_on_" + tested.param.machine;
}
INSTANTIATE_TEST_SUITE_P(Workloads, GpuLaws, testing::ValuesIn(cases()), name_of);

/// Tenants side by side: also counts who waits for whom.
TEST(GpuLawsOfTenants, SleepingAndTheOrderOfTicksChangeNothing) {
  GpuConfig cut_off = tiny_queues("dws_30sm");
  cut_off.run.until = "cycles:30000";
  for (const GpuConfig& config :
       {machine("dws_30sm"), machine("dws_30sm", {"mmu.walk_scheduler.use=dws"}), machine("simt_8cu"), cut_off}) {
    const std::string straight = outcome(config, "gups mm fft").digest;
    EXPECT_EQ(straight, outcome(config, "gups mm fft", {.sleep = false, .permute_seed = 7}).digest);
    EXPECT_EQ(straight, outcome(config, "gups mm fft", {.sleep = true, .permute_seed = 8}).digest);
  }
}

/// Every workload on every machine: takes long, and runs in ./check --all.
TEST(GpuLawsMatrix, DISABLED_SleepingAndTheOrderOfTicksChangeNothing) {
  for (const char* name :
       {"dws_30sm", "mask_maxwell30", "mask_fermi", "mask_integrated", "simt_8cu", "vc_16cu", "cd_24sm"}) {
    for (const Case& c : cases()) {
      for (const GpuConfig& config : {machine(name), tiny_queues(name)}) {
        const Outcome straight = outcome(config, c.workload);
        EXPECT_TRUE(straight.passed) << c.workload << " on " << name;
        EXPECT_EQ(straight.digest, outcome(config, c.workload, {.sleep = false, .permute_seed = 5}).digest)
            << c.workload << " on " << name;
        EXPECT_EQ(straight.digest, outcome(config, c.workload, {.sleep = true, .permute_seed = 6}).digest)
            << c.workload << " on " << name;
      }
    }
  }
}

TEST(GpuLawsAcrossBuilds, EveryCompilerAndBuildComputesTheSame) {
  std::string all;
  for (const Case& c : cases())
    all += fmt::format("{} {} {}\n", c.workload, c.machine, outcome(machine(c.machine), c.workload).digest);
  all += fmt::format("gups+mm dws_30sm {}\n", outcome(machine("dws_30sm"), "gups mm").digest);
  expect_golden("gpu_mini.txt", all);
}

}  // namespace
}  // namespace terrace
