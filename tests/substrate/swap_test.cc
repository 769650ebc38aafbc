// Tenants have no rank: swapping two of them changes nothing but names, beyond noise, in every design and machine. A unit
// that asks tenant 0 first shows here: with a full queue it takes every place that falls free.
//
// Two tenants that both walk without end, from several seeds that also draw when each arrives: means of the order
// (a, b) and of (b, a) differ by noise alone.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/rng.h"
#include "substrate/machines.h"

namespace terrace {
namespace {

constexpr u32 kSeeds = 4;
constexpr u32 kCycles = 30'000;

struct Case {
  std::string machine, design;
  u32 sms;             // of each tenant
  u32 tlb_misses = 0;  // of the L2 TLB; 0: the machine's own
};
void PrintTo(const Case& which, std::ostream* out) {
  *out << which.machine << " under " << which.design;
}

class Swap : public testing::TestWithParam<Case> {};

/// IPC of gups and of sad, in this order, whoever comes first.
std::pair<double, double> ipcs(const Case& which, bool swapped, u64 seed) {
  // Both arrive within what a launch takes, drawn for each seed.
  Rng rng(seed, "swap_test");
  const u64 first = rng.below(1000), second = rng.below(1000);
  const std::string gups = fmt::format("gups:arrive={}", first), sad = fmt::format("sad:arrive={}", second);
  std::vector<std::string> sets{fmt::format("run.seed={}", seed), fmt::format("run.until=cycles:{}", kCycles),
                                fmt::format("run.sms=[{0}, {0}]", which.sms)};
  if (which.tlb_misses > 0) sets.push_back(fmt::format("l2_tlb.miss_entries={}", which.tlb_misses));
  const RunResult result = run_on(which.machine, which.design, swapped ? sad + " " + gups : gups + " " + sad, sets);
  const auto ipc = [&](u32 tenant) {
    return std::get<double>(result.json.find("tenants")->items()[tenant].find("ipc")->value);
  };
  return swapped ? std::pair(ipc(1), ipc(0)) : std::pair(ipc(0), ipc(1));
}

TEST_P(Swap, ChangesNothingButNames) {
  double gups[2] = {}, sad[2] = {};
  for (const bool swapped : {false, true}) {
    for (u64 seed = 1; seed <= kSeeds; ++seed) {
      const auto [g, s] = ipcs(GetParam(), swapped, seed);
      gups[swapped] += g / kSeeds;
      sad[swapped] += s / kSeeds;
    }
  }
  // Single runs differ by up to 15 %, and by 21 % under static_walkers, in either direction.
  EXPECT_NEAR(gups[0] / gups[1], 1, 0.1) << gups[0] << " as the first, " << gups[1] << " as the second";
  EXPECT_NEAR(sad[0] / sad[1], 1, 0.1) << sad[0] << " as the first, " << sad[1] << " as the second";
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Machine& machine : machines()) {
    all.push_back({machine.name, "ideal", machine.sms / 2});
    for (const std::string& design : machine.designs) all.push_back({machine.name, design, machine.sms / 2});
  }
  // 192 misses never fill the 208 places for walks of DWS's machine; with 512, tenants meet at the door.
  for (const char* design : {"baseline_tenant_stalls", "s_tlb"}) all.push_back({"dws_30sm", design, 15, 512});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Machines, Swap, testing::ValuesIn(cases()), [](const auto& test) {
  const std::string door = test.param.tlb_misses > 0 ? "_at_the_door" : "";
  return test.param.machine + "_" + test.param.design + door;
});

}  // namespace
}  // namespace terrace
