// The laws of time on the real machine: for every workload at size mini, on the machine of a paper that ran it and on
// one whose queues hold one or two entries, sleeping and the order of ticks change nothing, and all builds compute the
// same.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>

#include "frontend/workload.h"
#include "golden/golden.h"
#include "timing/tenant_runs.h"

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

RunRequest request_of(const Case& c, const std::vector<std::string>& sets = {}) {
  RunRequest request = tenant_run(c.workload, sets, {}, c.machine);
  request.check = true;
  return request;
}

class GpuLaws : public testing::TestWithParam<Case> {};

TEST_P(GpuLaws, SleepingAndTheOrderOfTicksChangeNothing) {
  EXPECT_TRUE(expect_laws(request_of(GetParam()), 1).checks_passed);
}

TEST_P(GpuLaws, SleepingAndTheOrderOfTicksChangeNothingWithTinyQueues) {
  EXPECT_TRUE(expect_laws(request_of(GetParam(), tiny_queues()), 3).checks_passed);
}

std::string name_of(const testing::TestParamInfo<Case>& tested) {
  return tested.param.workload + "_on_" + tested.param.machine;
}
INSTANTIATE_TEST_SUITE_P(Workloads, GpuLaws, testing::ValuesIn(cases()), name_of);

/// Tenants side by side: also counts who waits for whom.
TEST(GpuLawsOfTenants, SleepingAndTheOrderOfTicksChangeNothing) {
  const std::string three = "gups mm fft";
  expect_laws(request_of({three, "dws_30sm"}), 7);
  expect_laws(request_of({three, "dws_30sm"}, {"mmu.walk_scheduler.use=dws"}), 7);
  expect_laws(request_of({three, "simt_8cu"}), 7);
  RunRequest cut_off = request_of({three, "dws_30sm"}, tiny_queues());
  cut_off.config.run.until = "cycles:30000";
  expect_laws(cut_off, 7);
}

/// Lines that are there in part are joined with what memory gives, whoever ticks first.
TEST(GpuLawsOfPartialStores, SleepingAndTheOrderOfTicksChangeNothing) {
  std::vector<std::string> sets{"l2.bytes=65536"};
  EXPECT_TRUE(
      expect_laws(request_of({"lbm", "dws_30sm"}, {"l2.bytes=65536", "l2.partial_stores=fetch"}), 3).checks_passed);
  for (const char* workload : {"lbm", "gups", "nw"}) {
    SCOPED_TRACE(workload);
    EXPECT_TRUE(expect_laws(request_of({workload, "dws_30sm"}, sets), 3).checks_passed);
  }
  const std::vector<std::string> tiny = tiny_queues();
  sets.insert(sets.end(), tiny.begin(), tiny.end());
  EXPECT_TRUE(expect_laws(request_of({"gups", "dws_30sm"}, sets), 3).checks_passed);
}

/// Sectors of a line join in whatever order they come, whoever ticks first.
TEST(GpuLawsOfSectors, SleepingAndTheOrderOfTicksChangeNothing) {
  const std::vector<std::string> sets{"sector_bytes=32", "l2.bytes=65536"};
  for (const char* workload : {"gups", "nw", "mm"}) {
    SCOPED_TRACE(workload);
    EXPECT_TRUE(expect_laws(request_of({workload, "dws_30sm"}, sets), 3).checks_passed);
  }
  std::vector<std::string> after_l1 = sets;
  after_l1.push_back("translation=after_l1");
  EXPECT_TRUE(expect_laws(request_of({"nw", "dws_30sm"}, after_l1), 3).checks_passed);
  EXPECT_TRUE(expect_laws(request_of({"gups fft", "dws_30sm"}, sets), 3).checks_passed);
}

TEST(GpuLawsOfSectors, SleepingAndTheOrderOfTicksChangeNothingWithTinyQueues) {
  for (const char* merges : {"1", "3"}) {  // none, and some that wait for other sectors than the first
    std::vector<std::string> sets{"sector_bytes=32", "l2.bytes=65536"};
    for (const std::string& set : tiny_queues())
      sets.push_back(set.find("miss_merges") == set.npos ? set : set.substr(0, set.find('=') + 1) + merges);
    for (const char* workload : {"gups", "nw"}) {
      SCOPED_TRACE(workload);
      EXPECT_TRUE(expect_laws(request_of({workload, "dws_30sm"}, sets), 3).checks_passed);
    }
  }
}

/// Every workload on every machine: takes long, and runs in ./check --all.
TEST(GpuLawsMatrix, DISABLED_SleepingAndTheOrderOfTicksChangeNothing) {
  for (const char* name :
       {"dws_30sm", "mask_maxwell30", "mask_fermi", "mask_integrated", "simt_8cu", "vc_16cu", "cd_24sm"}) {
    for (const Case& c : cases()) {
      SCOPED_TRACE(c.workload + " on " + name);
      EXPECT_TRUE(expect_laws(request_of({c.workload, name}), 5).checks_passed);
      EXPECT_TRUE(expect_laws(request_of({c.workload, name}, tiny_queues()), 5).checks_passed);
    }
  }
}

TEST(GpuLawsAcrossBuilds, EveryCompilerAndBuildComputesTheSame) {
  std::string all;
  for (const Case& c : cases())
    all += fmt::format("{} {} {}\n", c.workload, c.machine, digest_of(simulate(request_of(c))));
  all += fmt::format("gups+mm dws_30sm {}\n", digest_of(simulate(request_of({"gups mm", "dws_30sm"}))));
  expect_golden("gpu_mini.txt", all);
}

}  // namespace
}  // namespace terrace
