// Lines that are fetched in sectors, on a whole machine: what moves, and which machines have none.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "stats/result_leaves.h"
#include "timing/tenant_runs.h"

namespace terrace {
namespace {

/// Bursts of 32 bytes, so that memory can give a sector and no more; an L2 that holds little of what is read.
RunResult run(const char* workload, const std::string& sector, std::vector<std::string> sets = {}) {
  sets.insert(sets.end(), {"dram.bus_bits=32", "l2.bytes=65536", "sector_bytes=" + sector});
  RunRequest request = tenant_run(workload, sets);
  request.check = true;
  RunResult result = simulate(request);
  EXPECT_TRUE(result.checks_passed) << workload;
  return result;
}

/// The sum of a counter over units and tenants.
u64 sum_of(const RunResult& result, const std::string& beginning, const std::string& end) {
  std::vector<ResultLeaf> leaves;
  flatten_result(*result.json.find("stats"), "", leaves);
  u64 sum = 0;
  for (const ResultLeaf& leaf : leaves) {
    const std::string counter = leaf.name.substr(0, leaf.name.find('{'));
    if (counter.starts_with(beginning) && counter.ends_with(end)) sum += std::get<u64>(leaf.value.value);
  }
  return sum;
}
u64 memory_cycles(const RunResult& result) {
  return sum_of(result, "gpu.dram.", ".bus_cycles");
}

TEST(Sectors, RandomReadsMoveAQuarterOfWhatWholeLinesDo) {
  const RunResult whole = run("gups", "0"), sectors = run("gups", "32");
  const double share = static_cast<double>(memory_cycles(sectors)) / static_cast<double>(memory_cycles(whole));
  EXPECT_GT(share, 0.2) << "a sector is a quarter of a line, and few are found twice";
  EXPECT_LT(share, 0.35);
  EXPECT_LT(sum_of(sectors, "gpu.noc.to_sm.", ".flits"), sum_of(whole, "gpu.noc.to_sm.", ".flits"));
}

TEST(Sectors, TwoOfHalfALineMoveHalf) {
  const double share =
      static_cast<double>(memory_cycles(run("gups", "64"))) / static_cast<double>(memory_cycles(run("gups", "0")));
  EXPECT_NEAR(share, 0.5, 0.1);
}

TEST(Sectors, AsLargeAsALineTheyChangeNothing) {
  EXPECT_EQ(digest_of(run("gups", "128")), digest_of(run("gups", "0")));
}

TEST(Sectors, ResultsAreRightWhereverTranslationStands) {
  for (const char* workload : {"mm", "lbm", "nw", "fft"}) {
    for (const char* where : {"ideal", "before_l1", "after_l1"})
      EXPECT_GT(memory_cycles(run(workload, "32", {std::string("translation=") + where})), 0u);
  }
}

TEST(Sectors, WhatCannotBeIsRefusedWithASentence) {
  const auto refused = [](const std::vector<std::string>& sets, const char* gpu = "dws_30sm") -> std::string {
    try {
      machine_with(gpu, {}, sets);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  const std::string sizes = "must be a power of two from 32 to line_bytes (128), or 0 for whole lines";
  EXPECT_EQ(refused({"sector_bytes=32"}), "accepted");
  EXPECT_EQ(refused({"sector_bytes=16"}), "--set: sector_bytes = 16 " + sizes);
  EXPECT_EQ(refused({"sector_bytes=96"}), "--set: sector_bytes = 96 " + sizes);
  EXPECT_EQ(refused({"sector_bytes=256"}), "--set: sector_bytes = 256 " + sizes);
  EXPECT_EQ(
      refused({"sector_bytes=32", "l2.partial_stores=fetch"}),
      "--set: sector_bytes = 32 must be 0 with l2.partial_stores = \"fetch\": a line that has sectors keeps track of "
      "its words (\"mask\")");
  EXPECT_EQ(refused({"sector_bytes=32", "translation=after_l2", "l2.slice_by=line", "mmu.walk_path.use=memory"}),
            "--set: sector_bytes = 32 must be 0 with translation = \"after_l2\": lines with virtual names are fetched "
            "whole");
}

}  // namespace
}  // namespace terrace
