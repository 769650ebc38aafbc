// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "engine/check.h"
#include "report/plot.h"
#include "report/report.h"
#include "report/site/board.h"
#include "report/site/runs.h"
#include "store/store.h"
#include "support/scratch.h"

namespace terrace {
namespace {

using ::testing::HasSubstr;

/// Made up: what verdicts look like, not what any paper says.
std::vector<BoardRow> made_up_rows() {
  BoardRow holds;
  holds.id = "alpha.gain", holds.paper = "alpha", holds.statement = "Alpha raises throughput";
  holds.printed = "+20 %", holds.measured = "+18.4 %", holds.verdict = "holds", holds.size = "tiny";
  holds.printed_value = 20.0, holds.measured_value = 18.4;
  holds.check = "simulation", holds.headline = true;
  holds.workloads = 6, holds.of_workloads = 35, holds.seeds = 5;
  holds.shortest_cycles = holds.longest_cycles = 2'000'000;
  BoardRow fails;
  fails.id = "beta.order", fails.paper = "beta", fails.statement = "Beta </script> comes before <Gamma>";
  fails.printed = "beta > gamma", fails.measured = "gamma > beta", fails.verdict = "does not hold";
  fails.check = "simulation", fails.link = "configs/experiments/beta_why.toml";
  BoardRow real;
  real.id = "beta.silicon", real.paper = "beta", real.statement = "On real hardware", real.printed = "1.3";
  real.verdict = "not measured", real.reason = "the paper measured a real GPU", real.check = "hardware";
  return {holds, fails, real};
}

TEST(ReportBoard, APageSaysWhatAVerdictRestsOn) {
  const Tree holds = tree_of(made_up_rows()[0]), real = tree_of(made_up_rows()[2]);
  EXPECT_EQ(*holds.find("workloads"), Tree("6 of 35"));
  EXPECT_EQ(*holds.find("seeds"), Tree("5"));
  EXPECT_EQ(*holds.find("run_length"), Tree("2 M cycles"));
  EXPECT_EQ(*holds.find("printed_number"), Tree(20.0));
  EXPECT_EQ(*real.find("measured_number"), Tree());
  EXPECT_EQ(*real.find("hardware"), Tree(true));
  EXPECT_EQ(*real.find("workloads"), Tree("")) << "it was not measured";
}

/// A run of 100,000 cycles, so that a pixel is 100 of them.
TEST(ReportRuns, LaunchesThatFollowEachOtherCloselyAreOneBarOfTheTimeline) {
  const Scratch scratch;
  Store store((scratch.path() / "a.db").string());
  Tree::List kernels;
  const auto add = [&](u64 tenant, const char* name, u64 began, u64 ended) {
    kernels.push_back({{"tenant", tenant},
                       {"name", name},
                       {"cycles", ended - began},
                       {"warp_instructions", u64{1}},
                       {"thread_instructions", u64{32}},
                       {"ipc", 1.0},
                       {"began", began},
                       {"ended", ended}});
  };
  add(0, "k", 0, 5'000);
  add(0, "k", 5'050, 9'000);    // close
  add(1, "k", 9'000, 9'500);    // another tenant's
  add(0, "l", 9'010, 9'400);    // another kernel
  add(0, "k", 9'090, 20'000);   // still close to the second
  add(0, "k", 20'200, 30'000);  // not close
  const Tree tenant = parse_json(R"({"name": "t", "workload": "t", "ptx_hash": "p", "sms": 1, "cycles": 9,
    "warp_instructions": 1, "thread_instructions": 32, "ipc": 1.0, "warp_ipc": 1.0, "completed_runs": 1,
    "capped": false, "faults": []})",
                                 "tenant");
  Tree result = parse_json(R"({"schema": "terrace.run/1",
    "run": {"cycles": 100000, "warp_instructions": 1, "thread_instructions": 32, "wall_seconds": 1.0,
      "warp_instructions_per_second": 1, "cycles_per_second": 1, "peak_rss_bytes": 1, "digest": "d"},
    "metrics": {"total_ipc": 1.0}, "stats": {}})",
                           "result");
  result["tenants"] = Tree(Tree::List{tenant, tenant});
  result["kernels"] = Tree(std::exchange(kernels, {}));
  add(1, "l", 99'000, 100'000);
  result["kernels_under_way"] = Tree(std::move(kernels));
  Job job;
  job.id = "0a";
  job.tenants = "t t";
  store.put_result(job, result, 1);
  const Tree page = StoredRuns(store).page("0a");
  std::vector<std::string> spans;
  for (const Tree& span : page.find("spans")->items())
    spans.push_back(fmt::format("{} {} {}-{} {}", span.find("tenant")->text(),
                                std::get<std::string>(span.find("name")->value), span.find("from")->text(),
                                span.find("to")->text(), span.find("launches")->text()));
  EXPECT_THAT(spans, ::testing::ElementsAre("0 k 0-20000 3", "0 l 9010-9400 1", "0 k 20200-30000 1", "1 k 9000-9500 1",
                                            "1 l 99000-100000 1"));
}

TEST(ReportPlot, StackedBarsStandOnEachOther) {
  Chart chart;
  chart.bars = chart.stacked = true;
  chart.panels[""]["a"] = {{"pair", 30}};
  chart.panels[""]["b"] = {{"pair", 10}};
  const std::string svg = chart_svg(chart);
  std::vector<std::array<double, 4>> bars;  // x, y, width, height
  for (std::size_t at = 0; (at = svg.find("<rect x=", at)) != svg.npos; ++at) {
    std::array<double, 4> bar{};
    if (std::sscanf(svg.c_str() + at, R"(<rect x="%lf" y="%lf" width="%lf" height="%lf")", &bar[0], &bar[1], &bar[2],
                    &bar[3]) == 4 &&
        bar[2] > 9)
      bars.push_back(bar);  // wider than the squares of the legend
  }
  ASSERT_EQ(bars.size(), 2u) << svg;
  EXPECT_EQ(bars[0][0], bars[1][0]);
  EXPECT_NEAR(bars[1][1] + bars[1][3], bars[0][1], 0.15);  // written to a tenth
  EXPECT_NEAR(bars[0][3], 3 * bars[1][3], 0.4);
}

/// scripts/check_report looks at this folder with a browser.
TEST(ReportSite, ABoardIsOnTheFirstPageAndCannotEndItsScript) {
  const Scratch scratch;
  const char* keep = std::getenv("TERRACE_KEEP_REPORT");
  const std::filesystem::path out = keep != nullptr ? std::filesystem::path(keep) : scratch.path() / "report";
  const std::string path = (scratch.path() / "empty.db").string();
  {
    Store store(path);
  }
  const std::string said = write_report({path, out.string(), false, made_up_rows()});
  EXPECT_THAT(said, HasSubstr("index.html"));
  const std::string page = read_file((out / "index.html").string());
  EXPECT_THAT(page, HasSubstr(R"("verdict":"does not hold")"));
  EXPECT_THAT(page, HasSubstr(R"(Beta <\/script> comes before <Gamma>)"));
  EXPECT_THAT(page, HasSubstr("Chart.js v"));
  for (const char* outside : {"src=\"http", "href=\"http", "url(", "@import"})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
}

}  // namespace
}  // namespace terrace
