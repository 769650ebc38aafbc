// Who waits for whom on the whole machine: the books close in every run, and what must be true of the matrices is.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "stats/result_leaves.h"
#include "timing/tenant_runs.h"

namespace terrace {
namespace {

struct Cell {
  std::string structure;  // "gpu.mmu.0.blame.walkers"
  std::string tenant, holder;
  u64 cycles;
};

/// Every cell of every matrix of a run.
std::vector<Cell> blame_of(const RunRequest& request) {
  std::vector<ResultLeaf> leaves;
  flatten_result(*simulate(request).json.find("stats"), "", leaves);
  std::vector<Cell> cells;
  for (const ResultLeaf& leaf : leaves) {
    const std::size_t brace = leaf.name.find("{tenant="), holder = leaf.name.find(" holder=");
    if (holder == std::string::npos) continue;
    cells.push_back({leaf.name.substr(0, brace), leaf.name.substr(brace + 8, holder - brace - 8),
                     leaf.name.substr(holder + 8, leaf.name.size() - holder - 9), std::get<u64>(leaf.value.value)});
  }
  return cells;
}

/// Summed over structures whose name contains `structure`; "" is any tenant, or any holder.
u64 cycles(const std::vector<Cell>& cells, const std::string& structure, const std::string& tenant = "",
           const std::string& holder = "") {
  u64 total = 0;
  for (const Cell& cell : cells) {
    if (cell.structure.find(structure) == std::string::npos) continue;
    if ((tenant.empty() || cell.tenant == tenant) && (holder.empty() || cell.holder == holder)) total += cell.cycles;
  }
  return total;
}

/// A walker for each tenant.
const std::vector<std::string> kTinyQueues = tiny_queues(2);

TEST(GpuBlame, ATenantAloneIsNotWatched) {
  EXPECT_TRUE(blame_of(tenant_run("gups")).empty());
}

TEST(GpuBlame, WatchingChangesNothingElse) {
  RunRequest request = tenant_run("gups mm");
  const RunResult watched = simulate(request);
  request.config.tenancy.blame = false;
  const RunResult unwatched = simulate(request);
  EXPECT_TRUE(blame_of(request).empty());
  std::vector<ResultLeaf> before, after;
  flatten_result(*unwatched.json.find("stats"), "", before);
  flatten_result(*watched.json.find("stats"), "", after);
  std::erase_if(after, [](const ResultLeaf& leaf) { return leaf.name.find(".blame.") != std::string::npos; });
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].name, after[i].name);
    EXPECT_EQ(before[i].value, after[i].value) << before[i].name;
  }
}

class GpuBlameOf : public testing::TestWithParam<std::string> {};

/// The identity is checked in simulate: a run in which it did not hold would throw.
TEST_P(GpuBlameOf, TheBooksCloseOnEveryDesign) {
  for (const std::string pair : {"gups mm", "mm fft bp"}) {
    const std::vector<Cell> cells = blame_of(tenant_run(pair, {}, {GetParam()}));
    EXPECT_GT(cycles(cells, ".blame."), 0u) << pair;
  }
}
TEST_P(GpuBlameOf, TheBooksCloseWithTinyQueues) {
  RunRequest request = tenant_run("gups mm", kTinyQueues, {GetParam()});
  request.config.run.until = "cycles:60000";  // cut off in the middle of everything
  EXPECT_GT(cycles(blame_of(request), ".blame."), 0u);
}
TEST_P(GpuBlameOf, TheBooksCloseAfterAWarmUp) {
  RunRequest request = tenant_run("gups mm", {}, {GetParam()});
  request.config.run.warmup = 1500;
  request.config.run.until = "cycles:3001";
  EXPECT_GT(cycles(blame_of(request), ".blame."), 0u);
}
INSTANTIATE_TEST_SUITE_P(Designs, GpuBlameOf,
                         testing::Values("baseline", "s_tlb", "s_tlb_ptw", "static_walkers", "dws", "dws_pp"),
                         [](const auto& tested) { return tested.param; });

TEST(GpuBlame, TheBooksCloseOnEveryMachine) {
  for (const char* gpu : {"mask_maxwell30", "mask_fermi", "mask_integrated", "simt_8cu", "vc_16cu", "cd_24sm"}) {
    EXPECT_GT(cycles(blame_of(tenant_run("gups mm", {}, {}, gpu)), "dram"), 0u) << gpu;
    RunRequest tiny = tenant_run("gups mm", kTinyQueues, {}, gpu);
    tiny.config.run.until = "cycles:30000";
    EXPECT_GT(cycles(blame_of(tiny), "dram"), 0u) << gpu;
  }
}

/// A table of a few pages, so that misses wait for pages to leave; and one as large as the paper's.
TEST(GpuBlame, TheBooksCloseWithVirtualCaches) {
  for (const char* design : {"l1_vc_32", "vc_no_opt", "vc_opt"}) {
    const bool table = std::string(design) != "l1_vc_32";
    const std::vector<Cell> cells = blame_of(tenant_run("gups mm", {}, {design}, "vc_16cu"));
    EXPECT_EQ(cycles(cells, "fbt.blame.ports") > 0, table) << design;
    std::vector<std::string> tiny = kTinyQueues;
    if (table) tiny.push_back("fbt.entries=16");
    RunRequest request = tenant_run("gups mm", tiny, {design}, "vc_16cu");
    request.config.run.until = "cycles:30000";
    const std::vector<Cell> of_tiny = blame_of(request);
    EXPECT_GT(cycles(of_tiny, ".blame."), 0u) << design;
    EXPECT_EQ(cycles(of_tiny, "fbt.blame.pages", "1", "0") > 0, table) << design << ": mm waits for pages of gups";
    EXPECT_EQ(cycles(of_tiny, "fbt.blame.pages", "", "nobody"), 0u) << design;
  }
}

TEST(GpuBlame, TheTableOfWaitsNamesTheForwardBackwardTable) {
  const RunResult result = simulate(tenant_run("gups mm", {}, {"vc_opt"}, "vc_16cu"));
  EXPECT_NE(result.text.find(" forward-backward table "), std::string::npos) << result.text;
  EXPECT_NE(result.json.find("blame")->find("causes")->find("fbt.ports"), nullptr);
}

TEST(GpuBlame, TheBooksCloseWhenTenantsComeAndGoAndWalkersAreDividedAnew) {
  for (const char* design : {"baseline", "static_walkers", "dws", "dws_pp"}) {
    const std::string tenants = "gups gups:arrive=2000,leave=9000 mm:arrive=4000 gups:arrive=6001";
    EXPECT_GT(cycles(blame_of(tenant_run(tenants, {}, {design})), ".blame.walkers"), 0u) << design;
  }
}

TEST(GpuBlame, TheBooksCloseWhenTenantsTakeTurns) {
  const std::vector<std::string> turns{"tenancy.sharing=time", "tenancy.quantum=1500", "tenancy.switch_cycles=200"};
  EXPECT_GT(cycles(blame_of(tenant_run("gups mm", turns, {"baseline"})), ".blame."), 0u);
}

TEST(GpuBlame, SixteenTenantsAreKeptApart) {
  std::string tenants = "gups";
  for (u32 i = 1; i < 16; ++i) tenants += " mm";
  RunRequest request = tenant_run(tenants, {}, {"dws"});
  request.config.run.until = "cycles:20000";
  const RunResult result = simulate(request);
  const Tree::List& total = result.json.find("blame")->find("total")->items();
  ASSERT_EQ(total.size(), 16u);
  for (const Tree& row : total) EXPECT_EQ(row.items().size(), 17u);
  EXPECT_NE(result.text.find("by others"), std::string::npos);
}

TEST(GpuBlame, TheResultFileSumsAllUnitsAndTheTableIsPrinted) {
  const RunRequest request = tenant_run("mm gups");
  const RunResult result = simulate(request);
  const std::vector<Cell> cells = blame_of(request);
  const Tree& total = *result.json.find("blame")->find("total");
  for (const u32 tenant : {0u, 1u}) {
    for (const u32 holder : {0u, 1u}) {
      EXPECT_EQ(std::get<u64>(total.items()[tenant].items()[holder].value),
                cycles(cells, ".blame.", fmt::format("{}", tenant), fmt::format("{}", holder)));
    }
  }
  EXPECT_NE(result.text.find("Cycles that requests spent waiting"), std::string::npos);
  EXPECT_EQ(simulate(tenant_run("mm")).json.find("blame"), nullptr);
}

TEST(GpuBlame, ALightTenantWaitsForWalkersThatAHeavyOneHolds) {
  const std::vector<Cell> cells = blame_of(tenant_run("mm gups", {}, {"baseline"}));
  EXPECT_GT(cycles(cells, "mmu.0.blame.walkers", "0", "1"), cycles(cells, "mmu.0.blame.walkers", "0", "0"));
}

TEST(GpuBlame, WhereWalkersAreNotLentNobodyWaitsForAnothersWalks) {
  for (const char* design : {"static_walkers", "s_tlb_ptw"}) {
    const std::vector<Cell> cells = blame_of(tenant_run("mm gups", {}, {design}));
    EXPECT_GT(cycles(cells, ".blame.walkers", "1", "1"), 0u) << design;
    EXPECT_EQ(cycles(cells, ".blame.walkers", "0", "1"), 0u) << design;
    EXPECT_EQ(cycles(cells, ".blame.walkers", "1", "0"), 0u) << design;
    EXPECT_EQ(cycles(cells, ".blame.places", "0", "1") + cycles(cells, ".blame.places", "1", "0"), 0u) << design;
  }
}

TEST(GpuBlame, StealingTakesBlameFromTheHeavyTenantInTheQueuesForWalkers) {
  const std::vector<Cell> shared = blame_of(tenant_run("mm gups", {}, {"baseline"}));
  const std::vector<Cell> stealing = blame_of(tenant_run("mm gups", {}, {"dws"}));
  EXPECT_LT(cycles(stealing, ".blame.walkers", "0", "1"), cycles(shared, ".blame.walkers", "0", "1"));
}

}  // namespace
}  // namespace terrace
