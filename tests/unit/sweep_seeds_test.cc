// Points that are repeated under several seeds: how expressions pair them, and how tables, claims and plots show them.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/check.h"
#include "report/estimate.h"
#include "report/sweep_report.h"

namespace terrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// total_ipc by design, mix and seed.
class Seeds : public ::testing::Test, public ResultSource {
 protected:
  /// The values of seeds 1, 2, ...
  void add(const std::string& design, const std::string& mix, const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      labels_.push_back({{"design", design}, {"mix", mix}, {"seed", std::to_string(i + 1)}});
      values_.push_back(values[i]);
    }
  }
  std::size_t points() const override { return labels_.size(); }
  const Labels& labels(std::size_t point) const override { return labels_[point]; }
  std::optional<double> value(std::size_t point, const Quantity&) override { return values_[point]; }

  Estimate estimate(const std::string& text, std::optional<double> neutral = {}) {
    const Estimates estimates = estimates_of(Expression(text).evaluate(*this), {}, neutral);
    EXPECT_TRUE(estimates.scalar()) << text;
    return estimates.rows.begin()->second;
  }

  std::vector<Labels> labels_;
  std::vector<double> values_;
};

Plot plot_by(const std::string& x, const std::string& y, bool bars, std::optional<double> neutral = {}) {
  Plot plot;
  plot.name = "p";
  plot.x = x;
  plot.y = y;
  plot.bars = bars;
  plot.neutral = neutral;
  return plot;
}

ResultTable table_by(const std::string& rows, std::vector<ResultTable::Column> columns) {
  ResultTable table;
  table.name = "t";
  table.rows = rows;
  table.columns = std::move(columns);
  return table;
}

constexpr const char* kDifference = "mean(total_ipc[design=\"fast\"]) - mean(total_ipc[design=\"slow\"])";
constexpr const char* kFaster = "mean(total_ipc[design=\"fast\"]) > mean(total_ipc[design=\"slow\"])";

TEST_F(Seeds, AreComparedEachWithItself) {
  // Seeds spread by a factor of five, and each gains two percent: unpaired it would be lost in the spread.
  add("slow", "a", {10, 20, 30, 40, 50});
  add("fast", "a", {10.2, 20.4, 30.6, 40.8, 51});
  const Estimate difference = estimate(kDifference, 0);
  EXPECT_NEAR(difference.value.mean, 0.6, 1e-12);
  // Differences 0.2 to 1.0: variance 0.1, standard error sqrt(0.02).
  EXPECT_NEAR(difference.value.half_width, 2.77644511 * std::sqrt(0.02), 1e-9);
  EXPECT_EQ(difference.within_noise, false);
  EXPECT_EQ(claim_text(estimate(kFaster)), "holds (5 seeds)");
  const Estimate ratio = estimate("mean(total_ipc[design=\"fast\"] / total_ipc[design=\"slow\"])", 1);
  EXPECT_NEAR(ratio.value.mean, 1.02, 1e-12);
  EXPECT_LT(ratio.value.half_width, 1e-9);
}

TEST_F(Seeds, WithTheSameMeansButOtherPairsAreNoise) {
  add("slow", "a", {10, 20, 30, 40, 50});
  add("fast", "a", {51, 40.8, 30.6, 20.4, 10.2});
  const Estimate difference = estimate(kDifference, 0);
  EXPECT_NEAR(difference.value.mean, 0.6, 1e-12);
  EXPECT_EQ(difference.within_noise, true);
  EXPECT_EQ(claim_text(estimate(kFaster)), "within noise (5 seeds)");
  EXPECT_EQ(estimate(kFaster).value.mean, 0) << "it does not hold";
}

TEST_F(Seeds, StayApartThroughAggregationsOverEverythingElse) {
  add("none", "a", {2, 8});
  add("none", "b", {8, 50});
  const Values values = Expression("gmean(total_ipc)").evaluate(*this);
  EXPECT_THAT(values.labels, ElementsAre("seed"));
  ASSERT_EQ(values.rows.size(), 2u);
  EXPECT_DOUBLE_EQ(values.rows.at({"1"}), 4);
  EXPECT_DOUBLE_EQ(values.rows.at({"2"}), 20);
  const Estimate estimate_of_both = estimate("gmean(total_ipc)");
  EXPECT_DOUBLE_EQ(estimate_of_both.value.mean, 12);
  EXPECT_DOUBLE_EQ(estimate_of_both.value.half_width, 8 * student_t(1));
  EXPECT_EQ(estimate("count(total_ipc)").value.mean, 2) << "mixes, not runs";
  const Values by_mix = Expression("max(total_ipc, \"mix\")").evaluate(*this);
  EXPECT_THAT(by_mix.labels, ElementsAre("mix", "seed"));
}

TEST_F(Seeds, AreALabelLikeAnyOtherWhereAnAggregationNamesThem) {
  add("none", "a", {10, 20, 40});
  const Values spread =
      Expression("(max(mean(total_ipc, \"seed\")) - min(mean(total_ipc, \"seed\"))) / 10").evaluate(*this);
  ASSERT_TRUE(spread.scalar());
  EXPECT_EQ(spread.rows.begin()->second, 3);
  EXPECT_EQ(Expression("sum(mean(total_ipc, \"seed\") > 15)").evaluate(*this).rows.begin()->second, 2) << "runs";
}

TEST_F(Seeds, ThatAreChosenAreNotRepeated) {
  add("none", "a", {10, 20, 40});
  const Estimate second = estimate("mean(total_ipc[seed=2])");
  EXPECT_EQ(second.value.mean, 20);
  EXPECT_FALSE(second.value.known());
}

TEST_F(Seeds, OfDifferentPointsAreNoRepetition) {
  add("slow", "a", {10});
  labels_.push_back({{"design", "fast"}, {"mix", "a"}, {"seed", "7"}});
  values_.push_back(30);
  const Values values = Expression("mean(total_ipc)").evaluate(*this);
  ASSERT_TRUE(values.scalar()) << "two designs with a seed each";
  EXPECT_EQ(values.rows.begin()->second, 20);
}

TEST_F(Seeds, OfAPointThatIsThereTwiceAreNoRepetition) {
  for (int twice = 0; twice < 2; ++twice) add("slow", "a", {10}), add("fast", "a", {30});
  EXPECT_EQ(cell_text(estimate(kFaster)), "1") << "one run, one number";
}

TEST_F(Seeds, ThatAreMissingOnOneSideHaveNoCounterpart) {
  add("slow", "a", {10, 20});
  add("fast", "a", {10, 20, 30});
  EXPECT_THROW(Expression(kDifference).evaluate(*this), InputError);
}

TEST_F(Seeds, AreInAChartOfTheirOwnWhenItShowsThem) {
  add("none", "a", {10, 20, 40});
  const ShownPlot apart = plot_of(plot_by("seed", "mean(total_ipc)", false), *this);
  EXPECT_EQ(apart.chart.panels.at("").at("").size(), 3u);
  EXPECT_EQ(apart.chart.note, "");
  const ShownTable table = table_of(table_by("seed", {{"x", "mean(total_ipc)"}}), *this);
  EXPECT_THAT(table.text.rows, ElementsAre(ElementsAre("1", "10"), ElementsAre("2", "20"), ElementsAre("3", "40")));
}

class Comparisons : public Seeds {
 protected:
  void SetUp() override {
    add("slow", "a", {10, 10, 10});
    add("fast", "a", {12, 13, 12});  // certainly more
    add("slow", "b", {10, 10, 10});
    add("fast", "b", {9, 12, 10});  // perhaps
    add("slow", "c", {10, 10, 10});
    add("fast", "c", {7, 6, 7});  // certainly less
  }
  static std::string faster(const std::string& mix, const std::string& op = ">") {
    return fmt::format(
        "mean(total_ipc[design=\"fast\", mix=\"{0}\"]) {1} mean(total_ipc[design=\"slow\", mix=\"{0}\"])", mix, op);
  }
  std::string said(const std::string& text) { return cell_text(estimate(text)); }
};

TEST_F(Comparisons, HoldFailOrAreWithinNoise) {
  EXPECT_EQ(said(faster("a")), "holds");
  EXPECT_EQ(said(faster("b")), "within noise");
  EXPECT_EQ(said(faster("c")), "fails");
  EXPECT_EQ(said(faster("a", "<=")), "fails");
  EXPECT_EQ(said(faster("b", "<=")), "within noise");
  EXPECT_EQ(said(faster("c", "<=")), "holds");
  EXPECT_EQ(said(faster("b", "==")), "within noise");
}

TEST_F(Comparisons, OfWhatIsTheSameInEverySeedAreExact) {
  const std::string same = "mean(total_ipc[design=\"slow\", mix=\"a\"]) {} mean(total_ipc[design=\"slow\", mix=\"b\"])";
  EXPECT_EQ(said(fmt::format(fmt::runtime(same), "==")), "holds");
  EXPECT_EQ(said(fmt::format(fmt::runtime(same), ">=")), "holds");
  EXPECT_EQ(said(fmt::format(fmt::runtime(same), ">")), "fails");
}

TEST_F(Comparisons, TogetherAreAsCertainAsTheyMustBe) {
  EXPECT_EQ(said(faster("a") + " and " + faster("b")), "within noise");
  EXPECT_EQ(said(faster("b") + " and " + faster("c")), "fails") << "whatever the first is";
  EXPECT_EQ(said(faster("a") + " > 1"), "holds") << "a chain";
  EXPECT_EQ(said(faster("b") + " > 100"), "fails");
  const std::string each = "total_ipc[design=\"fast\"] > total_ipc[design=\"slow\"]";
  EXPECT_EQ(said("min(" + each + ")"), "fails");
  EXPECT_EQ(said("max(" + each + ")"), "holds");
  EXPECT_EQ(estimate("sum(" + each + ")").value.mean, 1) << "those that hold";
  EXPECT_FALSE(estimate("sum(" + each + ")").verdict) << "a number";
}

constexpr const char* kGain = "100 * (total_ipc[design=\"fast\"] / total_ipc[design=\"slow\"] - 1)";

TEST_F(Comparisons, TablesMuteDifferencesWithinNoise) {
  const ResultTable table = table_by("mix", {{"gain", kGain, 0}, {"ipc", "total_ipc[design=\"fast\"]"}});
  const ShownTable shown = table_of(table, *this);
  // Gains 20, 30, 20: mean 23.3, standard deviation 10 / sqrt(3), half-width 4.303 * 10 / 3 = 14.3.
  EXPECT_THAT(shown.text.rows,
              ElementsAre(ElementsAre("a", "23 ± 14", "12.3 ± 1.4"), ElementsAre("b", "≈ 3 ± 38", "10.3 ± 3.8"),
                          ElementsAre("c", "-33 ± 14", "6.7 ± 1.4")));
  EXPECT_THAT(shown.muted, ElementsAre(ElementsAre(false, false, false), ElementsAre(false, true, false),
                                       ElementsAre(false, false, false)));
  EXPECT_THAT(shown.text.plain(), HasSubstr("mix      gain         ipc\n"
                                            "a     23 ± 14  12.3 ± 1.4\n"
                                            "b    ≈ 3 ± 38  10.3 ± 3.8\n"));
  EXPECT_THAT(shown.notes, ElementsAre("±: half of the 95 % interval of the mean over 3 seeds.",
                                       "≈: within noise; the interval holds the value that means no difference."));
  ASSERT_EQ(shown.records.size(), 6u);
  EXPECT_EQ(shown.records[1].back(), Cell(i64{1}));
  EXPECT_EQ(shown.records[2].back(), Cell(i64{0}));
  EXPECT_EQ(shown.records[3].back(), Cell()) << "nobody said which IPC means no difference";
  EXPECT_EQ(shown.records[3][5], Cell(i64{3})) << "seeds";
}

u64 occurrences(const std::string& text, const std::string& of) {
  u64 count = 0;
  for (std::size_t at = text.find(of); at != text.npos; at = text.find(of, at + 1)) ++count;
  return count;
}

TEST_F(Comparisons, PlotsHaveErrorBarsAndPaleBars) {
  Plot plot = plot_by("mix", kGain, true, 0);
  const ShownPlot drawn = plot_of(plot, *this);
  const std::string svg = chart_svg(drawn.chart);
  EXPECT_EQ(occurrences(svg, "<path class=\"error\""), 3u);
  EXPECT_EQ(occurrences(svg, "class=\"muted\""), 1u);
  EXPECT_EQ(occurrences(svg, "class=\"neutral\""), 1u);
  EXPECT_THAT(svg, HasSubstr("Error bars: 95 % interval of the mean over 3 seeds. Pale: within noise."));
  plot.bars = false;
  const std::string lines = chart_svg(plot_of(plot, *this).chart);
  EXPECT_EQ(occurrences(lines, "<path class=\"error\""), 3u);
  EXPECT_EQ(occurrences(lines, "r=\"2.5\" fill=\"white\""), 1u) << "a hollow point";
}

TEST_F(Seeds, OneSeedShowsNothingOfThis) {
  add("slow", "a", {10});
  add("fast", "a", {12});
  const ResultTable table =
      table_by("mix", {{"gain", kGain, 0}, {"more", "total_ipc[design=\"fast\"] > total_ipc[design=\"slow\"]"}});
  const ShownTable shown = table_of(table, *this);
  EXPECT_THAT(shown.text.rows, ElementsAre(ElementsAre("a", "20.0", "1")));
  EXPECT_TRUE(shown.notes.empty());
  EXPECT_EQ(claim_text(estimate(kFaster)), "1");
  const std::string svg = chart_svg(plot_of(plot_by("mix", kGain, true), *this).chart);
  EXPECT_THAT(svg, Not(HasSubstr("error")));
}

TEST(Chart, ErrorBarsReachFromEndToEndAndTheScaleHoldsThem) {
  Chart chart;
  chart.bars = true;
  chart.panels[""][""] = {{"a", 10, 5}};
  // 220 pixels high below 28: the scale ends at 15 * 1.05, so 15 is at 28 + 220 * (1 - 1 / 1.05), 5 at a third of it.
  EXPECT_THAT(chart_svg(chart), HasSubstr("38.5V178.2"));
}

TEST(Chart, BarsBelowZeroHangFromIt) {
  Chart chart;
  chart.bars = true;
  chart.panels[""][""] = {{"a", 10}, {"b", -10}};
  const std::string svg = chart_svg(chart);
  // Zero is in the middle, 110 pixels below the top of 28; ten reaches 110 / 1.05 pixels.
  EXPECT_THAT(svg, HasSubstr("y=\"33.2\" width=\"168.0\" height=\"104.8\""));
  EXPECT_THAT(svg, HasSubstr("y=\"138.0\" width=\"168.0\" height=\"104.8\""));
  EXPECT_THAT(svg, HasSubstr(">-10</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("<path")));
}

}  // namespace
}  // namespace terrace
