// The laws of time on the real machine: for every workload at size mini, on the machine of a paper that ran it and on
// one whose queues hold one or two entries, sleeping and the order of ticks change nothing, and all builds compute the
// same.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "config/loader.h"
#include "experiment/run.h"
#include "golden/golden.h"
#include "support/paths.h"

namespace terrace {
namespace {

struct Case {
  std::string workload, machine;
};

/// Each with a paper that ran it: mechanisms of the five papers, section 0.2.
std::vector<Case> cases() {
  return {{"gups", "dws_30sm"},     {"blk", "mask_maxwell30"}, {"mm", "dws_30sm"},        {"atax", "simt_8cu"},
          {"bfs", "vc_16cu"},       {"cp", "cd_24sm"},         {"mvt", "simt_8cu"},       {"bicg", "simt_8cu"},
          {"gesummv", "cd_24sm"},   {"3ds", "dws_30sm"},       {"bp", "simt_8cu"},        {"fft", "dws_30sm"},
          {"hs", "mask_maxwell30"}, {"nw", "vc_16cu"},         {"bino", "cd_24sm"},       {"lavamd", "cd_24sm"},
          {"lbm", "cd_24sm"},       {"sad", "dws_30sm"},       {"srad", "mask_maxwell30"}};
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
  return machine(
      name, {"sm.memory_queue=1", "l1.miss_entries=1", "l1.miss_merges=1", "noc.lane_packets=1", "l2.miss_entries=2",
             "l2.miss_merges=1", "l2.reply_entries=1", "l2.write_back_entries=1", "dram.read_entries=2",
             "dram.write_entries=2", "dram.write_high=2", "dram.write_low=1", "dram.return_entries=1"});
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
