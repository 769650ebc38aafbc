// Runs of small tenants on the machines of the papers, what their results say, and the laws that hold for each.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "papers/designs.h"
#include "run/run.h"

namespace terrace {

inline RunRequest tenant_run(const std::string& tenants, const std::vector<std::string>& sets = {},
                             const std::vector<std::string>& designs = {}, const std::string& gpu = "dws_30sm") {
  RunRequest request;
  request.config = machine_with(gpu, designs, sets);
  request.config.run.tenants = tenants;
  request.config.run.size = "mini";
  return request;
}

/// Every queue as small as it can be: everything pushes back.
inline std::vector<std::string> tiny_queues(u32 walkers = 1) {
  return {"l1_tlb.miss_entries=1",
          "l1_tlb.miss_merges=1",
          "l2_tlb.miss_entries=2",
          "sm.memory_queue=1",
          "l1.miss_entries=1",
          "l1.miss_merges=1",
          "noc.queue_packets=1",
          "l2.miss_entries=2",
          "l2.miss_merges=1",
          "l2.reply_entries=1",
          "dram.read_entries=2",
          "l2.write_back_entries=1",
          "dram.write_entries=2",
          "dram.write_high=2",
          "dram.write_low=1",
          "dram.return_entries=1",
          fmt::format("mmu.walkers={}", walkers),
          fmt::format("mmu.queue_entries={}", walkers)};
}

inline const Tree& tenant_of(const RunResult& result, u32 tenant) {
  return result.json.find("tenants")->items()[tenant];
}
inline u64 number(const Tree& tree, const char* name) {
  return std::get<u64>(tree.find(name)->value);
}
/// A unit's counter, as it stands for one tenant.
inline u64 per_tenant(const Tree& unit, const char* name, u32 tenant) {
  return std::get<u64>(unit.find(name)->find("tenants")->items()[tenant].value);
}
inline std::string digest_of(const RunResult& result) {
  return std::get<std::string>(result.json.find("run")->find("digest")->value);
}

/// Runs it; and again without sleeping, with units in other orders, and with units that tick at once on several threads,
/// which must change nothing.
inline RunResult expect_laws(RunRequest request, u64 seed = 1) {
  RunResult straight = simulate(request);
  request.options = {.sleep = false, .permute_seed = seed};
  EXPECT_EQ(digest_of(simulate(request)), digest_of(straight)) << "awake, in another order";
  request.options = {.permute_seed = seed + 1, .threads = 2, .share_from = 1};
  EXPECT_EQ(digest_of(simulate(request)), digest_of(straight)) << "in another order, on two threads";
  return straight;
}

}  // namespace terrace
