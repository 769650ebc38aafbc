// Runs of a fixed length (run.until = window:N): who completes starts again to the end, and nothing ends them earlier.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "gpu/until.h"
#include "support/scratch.h"
#include "timing/tenant_runs.h"

namespace terrace {
namespace {

TEST(Until, HasFourFormsAndNoOther) {
  using Kind = Until::Kind;
  const auto parsed = [](const char* text) {
    const std::optional<Until> until = parse_until(text);
    return until ? std::pair(until->kind, until->count) : std::pair(Kind::kCompleted, u64{99});
  };
  EXPECT_EQ(parsed("completed"), std::pair(Kind::kCompleted, u64{0}));
  EXPECT_EQ(parsed("cycles:5"), std::pair(Kind::kCycles, u64{5}));
  EXPECT_EQ(parsed("instructions:6"), std::pair(Kind::kInstructions, u64{6}));
  EXPECT_EQ(parsed("window:7"), std::pair(Kind::kWindow, u64{7}));
  for (const char* text :
       {"window", "window:", "window:0", "window:-1", "window:7 ", "windows:7", "Window:7", ":7", ""})
    EXPECT_FALSE(parse_until(text)) << text;
  EXPECT_TRUE(is_window("window:7"));
  EXPECT_FALSE(is_window("cycles:7"));
  EXPECT_FALSE(is_window("nonsense"));
}

RunRequest window_of(const std::string& tenants, u64 cycles, std::vector<std::string> sets = {}) {
  sets.push_back(fmt::format("run.until=window:{}", cycles));
  return tenant_run(tenants, sets);
}
u64 cycles_of(const RunResult& result) {
  return number(*result.json.find("run"), "cycles");
}
double ipc_of(const RunResult& result, u32 tenant) {
  return std::get<double>(tenant_of(result, tenant).find("ipc")->value);
}

TEST(Window, RunsAShortProgramAgainToItsEnd) {
  const RunResult one = simulate(tenant_run("mm"));
  const u64 once = cycles_of(one);
  const u64 cycles = 5 * once + once / 2;
  RunRequest request = window_of("mm", cycles);
  request.check = true;
  const RunResult result = simulate(request);
  EXPECT_TRUE(result.checks_passed);
  EXPECT_EQ(cycles_of(result), cycles);
  const Tree& tenant = tenant_of(result, 0);
  // Later executions find pages in TLBs, so that there may be more than five.
  EXPECT_GE(number(tenant, "completed_runs"), 5u);
  EXPECT_EQ(number(tenant, "first_completion"), number(tenant_of(one, 0), "first_completion"));
  EXPECT_EQ(one.json.find("kernels_under_way"), nullptr) << "it had ended";
  EXPECT_EQ(*tenant.find("capped"), Tree(false));
  EXPECT_EQ(number(tenant, "cycles"), cycles);
  EXPECT_DOUBLE_EQ(ipc_of(result, 0),
                   static_cast<double>(number(tenant, "thread_instructions")) / static_cast<double>(cycles))
      << "over the window, with what the last, unfinished execution issued";
}

TEST(Window, ShorterThanTheProgramCutsItOff) {
  const RunResult window = simulate(window_of("mm gups", 3000));
  EXPECT_EQ(cycles_of(window), 3000u);
  for (const u32 tenant : {0u, 1u}) {
    EXPECT_EQ(number(tenant_of(window, tenant), "completed_runs"), 0u);
    EXPECT_EQ(*tenant_of(window, tenant).find("capped"), Tree(true));
    EXPECT_EQ(tenant_of(window, tenant).find("first_completion"), nullptr);
    EXPECT_EQ(number(window.json.find("kernels_under_way")->items()[tenant], "tenant"), tenant);
    EXPECT_GT(ipc_of(window, tenant), 0.0);
  }
  const RunResult limit = simulate(tenant_run("mm gups", {"run.until=cycles:3000"}));
  EXPECT_EQ(digest_of(window), digest_of(limit)) << "before anybody completes it is a limit like any other";
}

TEST(Window, GoesOnWhenEverybodyHasCompletedAndObeysTheLaws) {
  const u64 both = cycles_of(simulate(tenant_run("mm blk")));
  const RunResult result = expect_laws(window_of("mm blk", 3 * both));
  EXPECT_EQ(cycles_of(result), 3 * both);
  for (const u32 tenant : {0u, 1u}) EXPECT_GE(number(tenant_of(result, tenant), "completed_runs"), 2u);
}

TEST(Window, CountsFromTheArrivalOfATenantToItsLeaving) {
  const RunResult result = simulate(window_of("mm gups:arrive=2000,leave=9000", 12'000));
  EXPECT_EQ(cycles_of(result), 12'000u);
  EXPECT_EQ(number(tenant_of(result, 0), "cycles"), 12'000u);
  EXPECT_EQ(number(tenant_of(result, 1), "cycles"), 7000u);
}

TEST(Window, EndsEarlierOnlyWhenNobodyIsLeft) {
  EXPECT_EQ(cycles_of(simulate(window_of("mm gups:leave=3000", 50'000))), 50'000u);
  const u64 cycles = cycles_of(simulate(window_of("mm:leave=6000 gups:leave=3000", 5'000'000)));
  EXPECT_GE(cycles, 6000u);
  EXPECT_LT(cycles, 10'000u);
}

TEST(Window, OutlastsTheFaultOfOneTenant) {
  const Scratch scratch;
  scratch.write("bad.ptx", R"(.version 7.8
.target sm_70
.address_size 64
.visible .entry bad() {
  .reg .b64 %rd<2>; .reg .b32 %r<2>;
  mov.u64 %rd1, 64;
  ld.global.u32 %r1, [%rd1];
  ret;
}
)");
  const std::string bad =
      scratch.write("bad.toml", "source = \"bad.ptx\"\n[[launch]]\nkernel = \"bad\"\ngrid = [1]\nblock = [32]\n");
  const RunResult one = simulate(window_of("mm " + bad, 60'000));
  EXPECT_EQ(one.faults.size(), 1u);
  EXPECT_EQ(cycles_of(one), 60'000u);
  const RunResult all = simulate(window_of(bad, 60'000));
  EXPECT_TRUE(all.all_faulted);
  EXPECT_LT(cycles_of(all), 10'000u);
}

TEST(Window, KeepsTenantsTakingTurns) {
  const RunResult result = simulate(
      window_of("mm blk", 200'000, {"tenancy.sharing=time", "tenancy.quantum=1500", "tenancy.switch_cycles=200"}));
  const Tree& turns = *result.json.find("stats")->find("gpu")->find("turns");
  const u64 spent = per_tenant(turns, "turn_cycles", 0) + per_tenant(turns, "turn_cycles", 1) +
                    number(*turns.find("drain_cycles"), "value") + number(*turns.find("switch_cycles"), "value");
  EXPECT_EQ(spent, 200'000u);
  EXPECT_GT(number(*turns.find("switches"), "value"), 80u) << "to the end, not only while somebody has not completed";
}

}  // namespace
}  // namespace terrace
