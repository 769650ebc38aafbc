// The board: what is read from results, and what is said where there are none.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "claims/board.h"
#include "claims/board_text.h"
#include "engine/check.h"
#include "support/paths.h"

namespace terrace {
namespace {

using testing::HasSubstr;

/// Cycles of runs by design, mix and seed.
class FakeResults final : public ResultSource {
 public:
  void add(const std::string& design, const std::string& mix, const std::string& seed, double cycles) {
    labels_.push_back({{"design", design}, {"mix", mix}, {"seed", seed}, {"size", "tiny"}});
    cycles_.push_back(cycles);
  }
  std::size_t points() const override { return labels_.size(); }
  const Labels& labels(std::size_t point) const override { return labels_[point]; }
  std::optional<double> value(std::size_t point, const Quantity& quantity) override {
    if (quantity.name == "search_end") return search_end;
    if (quantity.name == "first_completion") return first_completion;
    if (quantity.name != "cycles") return std::nullopt;
    return cycles_[point];
  }
  std::optional<double> search_end, first_completion;  // of every run

 private:
  std::vector<Labels> labels_;
  std::vector<double> cycles_;
};

constexpr const char* kCatalogue = R"(
paper = "p"
title = "T"
venue = "V"
[[workloads]]
name = "four"
meaning = "four programs"
count = 4
[[least]]
designs = ["slow"]
cycles = 500
reason = "it learns"
[[claim]]
id = "p.gain"
source = "Fig. 1"
kind = "performance"
headline = true
statement = "It is faster."
metric = "speedup"
workloads = ["four"]
machine = "m"
value = 100
unit = "percent_change"
direction = "increase"
bound = "approx"
check = "simulation"
[[claim]]
id = "p.each"
source = "Fig. 2"
kind = "performance"
statement = "Nobody loses."
metric = "speedup"
workloads = ["four"]
machine = "m"
value = 60
unit = "percent_change"
direction = "increase"
bound = "ge"
check = "simulation"
[[claim]]
id = "p.order"
source = "Fig. 3"
kind = "performance"
statement = "Fast is faster."
metric = "speedup"
machine = "m"
value = 1
unit = "ordering"
direction = "order:fast>slow"
bound = "eq"
check = "simulation"
[[claim]]
id = "p.real"
source = "Sec. 1"
kind = "characterisation"
statement = "On a real GPU."
metric = "time"
machine = "real"
value = 3
unit = "absolute"
direction = "equal"
bound = "approx"
check = "hardware"
)";

constexpr const char* kMeasures = R"toml(
paper = "p"
[[grid]]
gpu = "m"
workload = ["a", "b"]
[[claim]]
id = "p.gain"
value = '100 * (mean(cycles[design=slow] / cycles[design=fast]) - 1)'
why = "configs/experiments/x_why.toml"
[[claim]]
id = "p.each"
value = '100 * (cycles[design=slow] / cycles[design=fast] - 1)'
[[claim]]
id = "p.order"
values = ["fast = mean(1 / cycles[design=fast])", "slow = mean(1 / cycles[design=slow])"]
)toml";

SweepFile file_of(const std::string& text) {
  Mistakes mistakes("m.toml");
  SweepFile file = parse_sweep("m.toml", text, "", mistakes);
  mistakes.raise();
  return file;
}

/// Two seeds: a is 1.5 and b is 3 times as fast.
FakeResults results_of(double scale) {
  FakeResults results;
  for (const char* seed : {"1", "2"}) {
    results.add("slow", "a", seed, 300 * scale);
    results.add("slow", "b", seed, 600 * scale);
    results.add("fast", "a", seed, 200 * scale);
    results.add("fast", "b", seed, 200 * scale);
  }
  return results;
}

class ClaimBoard : public testing::Test {
 protected:
  PaperClaims paper_ = parse_claims("c.toml", kCatalogue);
  SweepFile file_ = file_of(kMeasures);
};

TEST_F(ClaimBoard, ARowTellsWhatItRestsOn) {
  FakeResults results = results_of(10);
  const std::vector<BoardRow> rows = board_of(paper_, file_, &results, "p_tiny");
  ASSERT_EQ(rows.size(), 4u);
  const BoardRow& gain = rows[0];
  EXPECT_EQ(gain.printed, "+100 %");
  EXPECT_DOUBLE_EQ(*gain.measured_value, 125);
  EXPECT_EQ(gain.verdict, "holds");
  EXPECT_EQ(gain.size, "tiny");
  EXPECT_EQ(k_of_n_text(gain), "2 of 4");
  EXPECT_EQ(gain.seeds, 2u);
  EXPECT_EQ(gain.shortest_cycles, 2000u);
  EXPECT_EQ(gain.longest_cycles, 6000u);
  EXPECT_EQ(gain.sweep, "p_tiny");
  EXPECT_EQ(gain.link, "");
}

TEST_F(ClaimBoard, AClaimAboutEachWorkloadNamesThoseThatFail) {
  FakeResults results = results_of(10);
  const BoardRow row = board_of(paper_, file_, &results, "p_tiny")[1];
  EXPECT_EQ(row.verdict, "direction holds");  // a gains 50 of at least 60 percent
  EXPECT_EQ(row.measured, "+50 to +200 %");
  EXPECT_EQ(row.reason, "1 of 2 differ: A +50");
}

TEST_F(ClaimBoard, AnOrderingShowsTheValuesItCompares) {
  FakeResults results = results_of(10);
  const BoardRow row = board_of(paper_, file_, &results, "p_tiny")[2];
  EXPECT_EQ(row.printed, "fast > slow");
  EXPECT_EQ(row.verdict, "holds");
  EXPECT_THAT(row.measured, HasSubstr("fast "));
  EXPECT_EQ(row.order_values.size(), 2u);
}

TEST_F(ClaimBoard, ShortRunsOfADesignThatNeedsTimeAreTooShort) {
  FakeResults results = results_of(1);
  const BoardRow row = board_of(paper_, file_, &results, "p_tiny")[0];
  EXPECT_EQ(row.verdict, "too short");
  EXPECT_THAT(row.reason, HasSubstr("it learns"));
}

/// Verdicts of runs whose search ends so; `asked` is whether the catalogue wants it to end before a tenant completes.
TEST_F(ClaimBoard, ASearchThatEndsAfterATenantHasCompletedProvesNothing) {
  FakeResults results = results_of(10);
  const auto row_with = [&](std::optional<double> end, std::optional<double> completion, bool asked) {
    results.search_end = end, results.first_completion = completion;
    paper_.least.front().search_ends = asked;
    return board_of(paper_, file_, &results, "p_tiny")[0];
  };
  const BoardRow late = row_with(1500, 1400, true);
  EXPECT_EQ(late.verdict, "too short");
  EXPECT_EQ(late.reason,
            "A: the search ends in cycle 1500, after the first tenant has completed in cycle 1400: it learns (2 of 2 "
            "workloads)");
  EXPECT_EQ(row_with(3000, {}, true).verdict, "too short");
  EXPECT_EQ(row_with(1500, 1600, true).verdict, "holds");
  EXPECT_EQ(row_with(1500, {}, true).verdict, "holds");
  EXPECT_EQ(row_with({}, 1400, true).verdict, "holds") << "nobody knows";
  EXPECT_EQ(row_with(1500, 1400, false).verdict, "holds");
}

TEST_F(ClaimBoard, ClaimsAboutRealHardwareAreMarked) {
  FakeResults results = results_of(10);
  const BoardRow row = board_of(paper_, file_, &results, "p_tiny")[3];
  EXPECT_EQ(row.verdict, "not measured");
  EXPECT_EQ(row.check, "hardware");
  EXPECT_THAT(row.reason, HasSubstr("real hardware"));
}

TEST_F(ClaimBoard, WhatCannotBeComputedIsNotMeasuredAndSaysWhy) {
  FakeResults results;
  results.add("slow", "a", "1", 5000);
  const std::vector<BoardRow> rows = board_of(paper_, file_, &results, "p_tiny");
  EXPECT_EQ(rows[0].verdict, "not measured");
  EXPECT_THAT(rows[0].reason, HasSubstr("no run of the sweep matches"));
  EXPECT_FALSE(rows[0].measured_value);
  EXPECT_EQ(board_of(paper_, file_, nullptr, "")[0].reason, "no run is stored");
}

TEST_F(ClaimBoard, ADivisionByZeroIsNoMeasurement) {
  FakeResults results;
  results.add("slow", "a", "1", 5000);
  results.add("fast", "a", "1", 0);
  const BoardRow row = board_of(paper_, file_, &results, "p_tiny")[0];
  EXPECT_EQ(row.verdict, "not measured");
  EXPECT_THAT(row.reason, HasSubstr("what it divides by is 0"));
}

TEST_F(ClaimBoard, WhatDoesNotHoldLinksToItsExplanation) {
  FakeResults results;
  results.add("slow", "a", "1", 5000);
  results.add("fast", "a", "1", 6000);
  const BoardRow row = board_of(paper_, file_, &results, "p_tiny")[0];
  EXPECT_EQ(row.verdict, "does not hold");
  EXPECT_EQ(row.link, "configs/experiments/x_why.toml");
  EXPECT_FALSE(row.unexplained);
}

TEST_F(ClaimBoard, AHeadlineThatFailsWithoutAnExplanationSaysSo) {
  FakeResults results;
  results.add("slow", "a", "1", 5000);
  results.add("fast", "a", "1", 6000);
  for (Claim& claim : file_.claims) claim.why.clear();
  const std::vector<BoardRow> rows = board_of(paper_, file_, &results, "p_tiny");
  EXPECT_TRUE(rows[0].unexplained);
  EXPECT_THAT(board_text(rows), HasSubstr("No experiment explains yet: p.gain"));
  EXPECT_THAT(board_markdown(rows, ""), HasSubstr("no experiment explains it yet"));
}

TEST_F(ClaimBoard, PagesAndJsonHoldEveryRow) {
  FakeResults results = results_of(10);
  const std::vector<BoardRow> rows = board_of(paper_, file_, &results, "p_tiny");
  const Tree json = parse_json(board_json(rows), "board.json");
  ASSERT_EQ(json.find("rows")->items().size(), rows.size());
  EXPECT_EQ(*json.find("rows")->items()[0].find("verdict"), Tree("holds"));
  const std::string page = board_markdown(rows, "About."), text = board_text(rows);
  for (const BoardRow& row : rows) EXPECT_THAT(page, HasSubstr(row.id));
  EXPECT_THAT(text, HasSubstr("* p.gain"));
  EXPECT_THAT(text, HasSubstr("1 headline"));
}

TEST_F(ClaimBoard, AFileWithWrongIdsOrItemsIsRefused) {
  const auto refusal = [&](const std::string& text) {
    Mistakes mistakes("m.toml");
    check_measures(paper_, file_of(text), mistakes);
    try {
      mistakes.raise();
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal(kMeasures), "");
  EXPECT_THAT(refusal(std::string(kMeasures) + "[[claim]]\nid = \"p.gian\"\nvalue = \"cycles\"\n"),
              testing::AllOf(HasSubstr("no claim \"p.gian\""), HasSubstr("p.gain")));
  EXPECT_THAT(refusal("paper = \"p\"\n[[grid]]\ngpu = \"m\"\nworkload = \"a\"\n"), HasSubstr("neither measured nor"));
  EXPECT_THAT(refusal("paper = \"p\"\n[[grid]]\ngpu = \"m\"\nworkload = \"a\"\n[[claim]]\nid = \"p.order\"\n"
                      "values = [\"fast = 1\", \"slwo = 2\"]\n"),
              HasSubstr("orders fast, slow"));
  EXPECT_THAT(refusal(std::string(kMeasures) +
                      "[[plot]]\nname = \"f\"\ny = \"cycles\"\nx = \"mix\"\nprinted = [[\"\", \"\", \"p.gian\"]]\n"),
              HasSubstr("printed: the catalogue has no claim \"p.gian\""));
  EXPECT_THAT(refusal(std::string(kMeasures) + "[[not_measured]]\nids = [\"p.gain\"]\nreason = \"none\"\n"),
              HasSubstr("is measured, or named twice"));
}

/// The files that are shipped: every claim of every paper has a measurement or a reason, in the catalogue's units, and the
/// experiments they point to exist.
TEST(ClaimFiles, EveryClaimIsMeasuredOrSaysWhyNot) {
  for (const std::string& name : claim_papers()) {
    const std::string path = source_folder() + "/configs/reproduce/" + name + ".toml";
    for (const char* size : {"tiny", "small", "paper"}) {
      Mistakes mistakes(path);
      const SweepFile file = parse_sweep(path, read_file(path), size, mistakes);
      EXPECT_EQ(file.paper, name);
      EXPECT_EQ(file.name, name + "_" + size);
      check_measures(read_claims(source_folder(), name), file, mistakes);
      EXPECT_NO_THROW(mistakes.raise());
      for (const Claim& claim : file.claims)
        EXPECT_TRUE(claim.why.empty() || std::filesystem::exists(source_folder() + "/" + claim.why)) << claim.id;
    }
  }
}

/// How long runs are: outside tiny, MASK and the CD-search have two million cycles and DWS has 1 G thread instructions.
/// MASK has ten epochs and the search one million cycles at tiny.
TEST(ClaimFiles, RunsAreAsLongAsTheirMechanismsNeed) {
  for (const char* name : {"mask", "cdsearch", "dws"}) {
    const std::string path = source_folder() + "/configs/reproduce/" + name + ".toml";
    for (const std::string size : {"tiny", "small", "paper"}) {
      Mistakes mistakes(path);
      for (const Grid& grid : parse_sweep(path, read_file(path), size, mistakes).grids) {
        if (grid.name == "by_dram") continue;  // it classifies, and is done with that after 45,000 cycles
        const std::string where = path + " " + size + " " + grid.name;
        ASSERT_EQ(grid.untils.size(), 1u) << where;
        const std::string& until = grid.untils.front();
        if (std::string_view(name) != "dws" || until != "completed") {
          EXPECT_EQ(until, size == "tiny" ? "window:1000000" : "window:2000000") << where;
          continue;
        }
        const auto cap = std::find_if(grid.axes.begin(), grid.axes.end(),
                                      [](const Axis& axis) { return axis.key == "run.instruction_cap"; });
        ASSERT_NE(cap, grid.axes.end()) << where;
        EXPECT_EQ(cap->values, std::vector{Tree(u64{size == "tiny" ? 32'000'000u : 1'000'000'000u})}) << where;
      }
    }
  }
}

/// An expression of a percent change yields percent: it has the factor 100, and a ratio does not.
TEST(ClaimFiles, UnitsAgreeWithTheCatalogue) {
  for (const std::string& name : claim_papers()) {
    const PaperClaims paper = read_claims(source_folder(), name);
    const std::string path = source_folder() + "/configs/reproduce/" + name + ".toml";
    Mistakes mistakes(path);
    for (const Claim& claim : parse_sweep(path, read_file(path), "tiny", mistakes).claims) {
      const PrintedClaim& printed = *paper.find(claim.id);
      if (printed.check != ClaimCheck::kSimulation || printed.unit == ClaimUnit::kOrdering) continue;
      const bool percent = printed.unit == ClaimUnit::kPercentChange || printed.dim == "percent";
      EXPECT_EQ(claim.value.starts_with("100 "), percent) << claim.id << ": " << claim.value;
    }
  }
}

}  // namespace
}  // namespace terrace
