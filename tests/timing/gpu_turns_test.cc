// Tenants that share the GPU in time: turns, drains, switches, and that nothing is lost on the way.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "timing/tenant_runs.h"

namespace terrace {
namespace {

RunRequest request_of(const std::string& tenants, std::vector<std::string> sets = {}) {
  sets.push_back("tenancy.sharing=time");
  return tenant_run(tenants, sets);
}

u64 cycles_of(const RunResult& result) {
  return number(*result.json.find("run"), "cycles");
}
const Tree& turns_of(const RunResult& result) {
  return *result.json.find("stats")->find("gpu")->find("turns");
}
u64 counter(const RunResult& result, const char* name) {
  return number(*turns_of(result).find(name), "value");
}
u64 turn_cycles(const RunResult& result, u32 tenant) {
  return per_tenant(turns_of(result), "turn_cycles", tenant);
}

/// Of turns, drains and switches together.
u64 counted_cycles(const RunResult& result, u32 tenants) {
  u64 sum = counter(result, "drain_cycles") + counter(result, "switch_cycles");
  for (u32 i = 0; i < tenants; ++i) sum += turn_cycles(result, i);
  return sum;
}

TEST(Turns, EveryCycleIsSomebodysTurnADrainOrASwitch) {
  RunRequest request = request_of("gups mm gups", {"tenancy.quantum=1500", "tenancy.switch_cycles=200"});
  request.check = true;
  const RunResult result = simulate(request);
  EXPECT_TRUE(result.checks_passed);
  for (u32 i = 0; i < 3; ++i) EXPECT_GT(turn_cycles(result, i), 0u);
  EXPECT_GT(counter(result, "switches"), 6u);
  EXPECT_GT(counter(result, "drain_cycles"), 0u) << "accesses were under way when turns ended";
  EXPECT_EQ(counter(result, "switch_cycles"), 200 * counter(result, "switches"));
  EXPECT_EQ(counted_cycles(result, 3), cycles_of(result));
}

TEST(Turns, ASwitchThatTheEndCutsShortCountsAsFarAsItWent) {
  const RunResult result = simulate(
      request_of("mm gups", {"tenancy.quantum=1500", "tenancy.switch_cycles=100000", "run.until=cycles:50000"}));
  EXPECT_EQ(cycles_of(result), 50'000u);
  EXPECT_EQ(counter(result, "switches"), 1u);
  EXPECT_EQ(turn_cycles(result, 1), 0u) << "it ended during the switch to it";
  EXPECT_EQ(counted_cycles(result, 2), 50'000u);
}

TEST(Turns, ATenantThatLeavesDuringTheSwitchToItHadNoTurn) {
  const RunResult result =
      simulate(request_of("mm gups:leave=20000", {"tenancy.quantum=1500", "tenancy.switch_cycles=100000"}));
  EXPECT_EQ(counter(result, "switches"), 2u) << "to it, and back when it left";
  EXPECT_EQ(turn_cycles(result, 1), 0u);
  EXPECT_LT(counter(result, "switch_cycles"), 120'000u) << "the first switch ended in cycle 20000";
  EXPECT_GT(counter(result, "switch_cycles"), 100'000u);
  EXPECT_EQ(counted_cycles(result, 2), cycles_of(result));
}

TEST(Turns, ATurnThatIsLongEnoughMakesTwoTenantsRunOneAfterTheOther) {
  const std::vector<std::string> sets{"tenancy.quantum=100000000", "tenancy.switch_cycles=5000", "run.relaunch=false"};
  const RunResult both = simulate(request_of("mm gups", sets));
  const u64 first = cycles_of(simulate(request_of("mm", sets))), second = cycles_of(simulate(request_of("gups", sets)));
  EXPECT_EQ(counter(both, "switches"), 1u);
  // The gap before the second one's first block passes in the first one's turn.
  EXPECT_NEAR(static_cast<double>(cycles_of(both)), static_cast<double>(first + second - 1000 + 5000),
              0.02 * static_cast<double>(first + second));
}

TEST(Turns, SwitchesCostWhatTheySay) {
  const auto run = [](const std::string& cost) {
    return simulate(
        request_of("mm mm", {"tenancy.quantum=2000", "run.relaunch=false", "tenancy.switch_cycles=" + cost}));
  };
  const RunResult cheap = run("0"), dear = run("10000");
  EXPECT_GT(counter(dear, "switches"), 2u);
  EXPECT_GT(cycles_of(dear), cycles_of(cheap) + 9'000 * counter(dear, "switches"));
  EXPECT_LT(cycles_of(dear), cycles_of(cheap) + 11'000 * counter(dear, "switches"));
}

TEST(Turns, WhoIsAloneNeverSwitches) {
  RunRequest time = request_of("mm", {"tenancy.quantum=1000"});
  RunRequest space = time;
  space.config.tenancy.sharing = TenancyConfig::Sharing::kSpatial;
  const RunResult alone = simulate(time);
  EXPECT_EQ(counter(alone, "switches"), 0u);
  EXPECT_EQ(cycles_of(alone), cycles_of(simulate(space))) << "it has the GPU as if there were no turns";
}

TEST(Turns, AnSmThatForgetsTranslationsAsksForMore) {
  const auto asked = [](const std::string& flush) {
    const RunResult result = simulate(
        request_of("mm mm", {"tenancy.quantum=1500", "tenancy.switch_cycles=10", "tenancy.flush_on_switch=" + flush}));
    return number(*tenant_of(result, 0).find("translation"), "l2_tlb_lookups");
  };
  EXPECT_GT(asked("true"), asked("false"));
}

TEST(Turns, WhatSmsShareForgetsTheOldTenantTooIfAsked) {
  const auto walks = [](const std::string& flush) {
    const RunResult result = simulate(request_of(
        "mm mm", {"tenancy.quantum=1500", "tenancy.switch_cycles=10", "tenancy.flush_shared_on_switch=" + flush}));
    return number(*tenant_of(result, 0).find("translation"), "walks");
  };
  EXPECT_GT(walks("true"), walks("false"));
}

TEST(Turns, MoreTenantsThanSmsCanTakeThem) {
  const std::vector<std::string> sets{"sm.count=2", "tenancy.quantum=5000", "tenancy.switch_cycles=10"};
  RunRequest request = request_of("mm mm mm", sets);
  request.check = true;
  const RunResult result = simulate(request);
  EXPECT_TRUE(result.checks_passed);
  for (u32 i = 0; i < 3; ++i) EXPECT_EQ(number(tenant_of(result, i), "sms"), 2u);
}

TEST(Turns, TenantsComeAndGoBetweenTurns) {
  RunRequest request = request_of("gups mm:arrive=3000 gups:arrive=1000,leave=9000",
                                  {"tenancy.quantum=1200", "tenancy.switch_cycles=100"});
  request.check = true;
  const RunResult result = simulate(request);
  EXPECT_EQ(*tenant_of(result, 0).find("check")->find("passed"), Tree(true));
  EXPECT_EQ(*tenant_of(result, 1).find("check")->find("passed"), Tree(true));
  EXPECT_EQ(number(tenant_of(result, 2), "left"), 9000u);
  EXPECT_GT(number(tenant_of(result, 2), "warp_instructions"), 0u);
}

TEST(Turns, SleepingAndTheOrderOfTicksChangeNothing) {
  for (std::vector<std::string> sets : {std::vector<std::string>{}, tiny_queues()}) {
    sets.insert(sets.end(), {"tenancy.quantum=1700", "tenancy.switch_cycles=300"});
    EXPECT_GT(counter(expect_laws(request_of("mm gups:leave=20000 mm:arrive=5000", sets)), "switches"), 3u);
  }
}

}  // namespace
}  // namespace terrace
