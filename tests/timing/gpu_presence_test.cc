// Tenants that arrive and leave during a run, what is divided anew among those who are there, and SMs that change
// hands.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <set>

#include "run/tenant_spec.h"
#include "timing/tenant_runs.h"

namespace terrace {
namespace {

u64 blocks_on(const RunResult& result, u32 sm, u32 tenant) {
  const Tree* its = result.json.find("stats")->find("gpu")->find("sm")->find(std::to_string(sm));
  return per_tenant(*its, "blocks_started", tenant);
}

TEST(TenantSpec, ArriveAndLeaveAreNoParametersOfTheWorkload) {
  const TenantSpec spec = parse_tenant("bfs:arrive=50,graph=uniform,leave=70,vertices=9");
  EXPECT_EQ(spec.program, "bfs:graph=uniform,vertices=9");
  EXPECT_EQ(spec.name(), "bfs");
  EXPECT_EQ(spec.arrive, 50u);
  EXPECT_EQ(spec.leave, 70u);
  EXPECT_EQ(parse_tenant("my.toml:leave=3").program, "my.toml");
  EXPECT_TRUE(parse_tenant("my.toml:leave=3").is_file());
  EXPECT_FALSE(spec.is_file());
  EXPECT_EQ(parse_tenant("gups").leave, kNever);
}

TEST(TenantSpec, ASeedDrawsHowLateATenantIs) {
  RunConfig run;
  const TenantSpec spec = parse_tenant("mm:arrive=50,leave=70");
  EXPECT_EQ(delayed(spec, run, 0).arrive, 50u) << "unless asked for, not at all";
  run.arrival_spread = 1000;
  std::set<Cycle> lates;
  for (run.seed = 1; run.seed <= 200; ++run.seed) {
    const TenantSpec late = delayed(spec, run, 0);
    EXPECT_EQ(late.arrive, delayed(spec, run, 0).arrive) << "the same every time";
    EXPECT_EQ(late.leave - late.arrive, 20u) << "its stay keeps its length";
    lates.insert(late.arrive - 50);
  }
  EXPECT_GT(lates.size(), 150u) << "another number for nearly every seed";
  EXPECT_LT(*lates.begin(), 50u);
  EXPECT_GT(*lates.rbegin(), 950u);
  EXPECT_LE(*lates.rbegin(), 1000u);
  run.seed = 1;
  EXPECT_NE(delayed(spec, run, 0).arrive, delayed(spec, run, 1).arrive) << "and for every tenant";
  EXPECT_EQ(delayed(parse_tenant("mm"), run, 0).leave, kNever);
}

TEST(Presence, ArrivalsAreSpreadByTheSeed) {
  const auto arrivals = [](u64 seed, const std::string& spread) {
    RunRequest request = tenant_run("mm gups", {spread, "run.until=cycles:3000"});
    request.config.run.seed = seed;
    const RunResult result = expect_laws(request);
    const auto arrived = [&](u32 tenant) {
      const Tree* at = tenant_of(result, tenant).find("arrived");
      return at ? std::get<u64>(at->value) : 0;
    };
    return std::pair(arrived(0), arrived(1));
  };
  const auto none = arrivals(2, "run.arrival_spread=0"), first = arrivals(1, "run.arrival_spread=1000"),
             second = arrivals(2, "run.arrival_spread=1000");
  EXPECT_EQ(none, (std::pair<u64, u64>(0, 0)));
  EXPECT_EQ(first, arrivals(1, "run.arrival_spread=1000"));
  EXPECT_NE(first, second);
  RunConfig run;
  run.arrival_spread = 1000;
  EXPECT_EQ(first.first, delayed({}, run, 0).arrive);
  EXPECT_EQ(first.second, delayed({}, run, 1).arrive);
}

TEST(Presence, ATenantThatLeavesEndsThereWithoutAFault) {
  RunRequest request = tenant_run("mm gups:leave=5000");
  request.check = true;
  const RunResult result = simulate(request);
  EXPECT_EQ(*tenant_of(result, 0).find("check")->find("passed"), Tree(true));
  EXPECT_EQ(number(tenant_of(result, 1), "left"), 5000u);
  EXPECT_EQ(number(tenant_of(result, 1), "cycles"), 5000u);
  EXPECT_EQ(number(tenant_of(result, 1), "completed_runs"), 0u);
  EXPECT_GT(number(tenant_of(result, 1), "warp_instructions"), 0u);
  EXPECT_TRUE(tenant_of(result, 1).find("faults")->items().empty());
}

TEST(Presence, ATenantMayLeaveBeforeItsFirstBlock) {
  const RunResult result = simulate(tenant_run("mm gups:leave=500"));
  EXPECT_EQ(number(tenant_of(result, 0), "completed_runs"), 1u);
  EXPECT_EQ(number(tenant_of(result, 1), "warp_instructions"), 0u);
  EXPECT_EQ(number(tenant_of(result, 1), "left"), 500u);
}

TEST(Presence, WhoArrivesLaterOnAPartOfItsOwnTakesExactlyAsLong) {
  const auto cycles = [](const std::string& tenants) {
    RunRequest request = tenant_run(
        tenants, {"translation=ideal", "dram.partition=channels", "dram.refresh=false", "run.relaunch=false"});
    const RunResult result = simulate(request);
    return number(tenant_of(result, 1), "cycles");
  };
  // Memory's clock is at 675 of 1137 MHz: after 379 core cycles both meet again.
  EXPECT_EQ(cycles("gups mm"), cycles("gups mm:arrive=3790"));
}

TEST(Presence, TheRunWaitsForATenantThatComesWhenAllOthersHaveEnded) {
  RunRequest request = tenant_run("mm mm:arrive=8000000", {"run.relaunch=false"});
  const RunResult result = simulate(request);
  EXPECT_EQ(number(tenant_of(result, 1), "completed_runs"), 1u) << "and the wait is no livelock";
  EXPECT_EQ(number(tenant_of(result, 1), "arrived"), 8'000'000u);
  EXPECT_LT(number(tenant_of(result, 1), "cycles"), 100'000u) << "counted from its arrival";
}

TEST(Presence, WalkersOfATenantThatIsNotThereServeTheOthers) {
  const auto cycles = [](const std::string& tenants) {
    RunRequest request =
        tenant_run(tenants, {"mmu.walkers=2", "mmu.walk_scheduler.use=static_partition", "run.relaunch=false"});
    const RunResult result = simulate(request);
    return number(tenant_of(result, 0), "cycles");
  };
  const u64 both = cycles("gups mm"), late = cycles("gups mm:arrive=1000000"), left = cycles("gups mm:leave=1200");
  EXPECT_LT(late, both * 3 / 4) << "two walkers instead of one";
  EXPECT_LT(left, both * 3 / 4) << "one, and soon two";
}

/// The scheduler's own check (a walk waits for at most one foreign walk) is on in every run.
TEST(Presence, WalkersAreDividedAnewUnderEveryScheduler) {
  for (const char* scheduler : {"shared", "static_partition", "dws", "dws_pp"}) {
    RunRequest request = tenant_run("gups gups:arrive=2000,leave=9000 mm:arrive=4000 gups:arrive=6001",
                                    {std::string("mmu.walk_scheduler.use=") + scheduler, "mmu.walkers=6",
                                     "mmu.queue_entries=24", "mmu.back_pressure=tenant"});
    request.check = true;
    SCOPED_TRACE(scheduler);
    const RunResult result = expect_laws(request);
    for (const u32 tenant : {0u, 2u, 3u})
      EXPECT_EQ(*tenant_of(result, tenant).find("check")->find("passed"), Tree(true));
    EXPECT_EQ(number(tenant_of(result, 1), "left"), 9000u);
  }
}

TEST(Presence, SmsOfATenantThatIsNotThereStayIdleUnlessTheyAreShared) {
  const std::string tenants = "blk:arrive=9000 blk";  // 16 blocks each
  const RunResult fixed = simulate(tenant_run(tenants));
  const RunResult shared = simulate(tenant_run(tenants, {"tenancy.partition.use=present"}));
  u32 lent = 0, returned = 0;
  for (u32 sm = 0; sm < 15; ++sm) {
    EXPECT_EQ(blocks_on(fixed, sm, 1), 0u);
    lent += blocks_on(shared, sm, 1) > 0;
    returned += blocks_on(shared, sm, 1) > 0 && blocks_on(shared, sm, 0) > 0;
    EXPECT_EQ(blocks_on(shared, sm + 15, 0), 0u) << "two tenants have 15 each";
  }
  EXPECT_EQ(lent, 15u);
  EXPECT_EQ(returned, 15u) << "SMs go to their owner when that one comes";
}

TEST(Presence, SixteenTenantsComeAndGo) {
  std::string tenants;
  for (u32 i = 0; i < 16; ++i) {
    tenants += i % 2 == 0 ? "mm:arrive=" + std::to_string(i * 500) : "gups:arrive=" + std::to_string(i * 300);
    if (i % 5 == 4) tenants += ",leave=" + std::to_string(20000 + i * 200);
    tenants += " ";
  }
  RunRequest request = tenant_run(tenants, {"mmu.walk_scheduler.use=dws", "mmu.back_pressure=tenant",
                                            "tenancy.partition.use=present", "mmu.walkers=24"});
  request.check = true;
  const RunResult result = simulate(request);
  for (u32 i = 0; i < 16; ++i) {
    const Tree& tenant = tenant_of(result, i);
    EXPECT_TRUE(tenant.find("faults")->items().empty());
    const Tree* check = tenant.find("check");
    EXPECT_EQ(check != nullptr, number(tenant, "completed_runs") > 0);
    EXPECT_TRUE(check == nullptr || *check->find("passed") == Tree(true)) << i;
    EXPECT_TRUE(i % 5 == 4 || check != nullptr) << i << " stays until it has completed";
  }
}

}  // namespace
}  // namespace terrace
