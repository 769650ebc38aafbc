// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "engine/check.h"
#include "sweep/expression.h"

namespace terrace {
namespace {

/// total_ipc of two designs over three mixes; mix c has no run under "slow" unless told.
class Expressions : public ::testing::Test, public ResultSource {
 protected:
  void SetUp() override {
    add("fast", "a", 20);
    add("fast", "b", 30);
    add("fast", "c", 80);
    add("slow", "a", 10);
    add("slow", "b", 10);
    add("slow", "c", 10);
  }
  void add(const std::string& design, const std::string& mix, std::optional<double> value) {
    labels_.push_back({{"design", design}, {"mix", mix}, {"mmu.walkers", "16"}});
    values_.push_back(value);
  }
  std::size_t points() const override { return labels_.size(); }
  const Labels& labels(std::size_t point) const override { return labels_[point]; }
  std::optional<double> value(std::size_t point, const Quantity& quantity) override {
    if (quantity.name == "alone_stat") return 20.0 + static_cast<double>(*quantity.tenant);
    if (quantity.name == "stat") return quantity.pattern == "l2.*.hits" ? 7.0 : 0.0;
    if (quantity.tenant) return 100.0 * static_cast<double>(*quantity.tenant) + static_cast<double>(point);
    return values_[point];
  }
  double number(const std::string& text) {
    const Values values = Expression(text).evaluate(*this);
    EXPECT_TRUE(values.scalar()) << text;
    return values.rows.begin()->second;
  }
  std::string refusal(const std::string& text) {
    try {
      Expression(text).evaluate(*this);
    } catch (const InputError& error) {
      return error.what();
    }
    return "nothing was refused";
  }

  std::vector<Labels> labels_;
  std::vector<std::optional<double>> values_;
};

TEST_F(Expressions, JoinTwoDesignsMixByMix) {
  EXPECT_DOUBLE_EQ(number("mean(total_ipc[design=\"fast\"] / total_ipc[design=\"slow\"])"), (2.0 + 3 + 8) / 3);
  EXPECT_NEAR(number("gmean(total_ipc[design=\"fast\"] / total_ipc[design=\"slow\"])"), 3.63424118566428, 1e-12);
  EXPECT_DOUBLE_EQ(number("median(total_ipc)"), 15);
}

TEST_F(Expressions, SelectSeveralValuesOfALabelWithBarsAndKeepIt) {
  EXPECT_DOUBLE_EQ(number("mean(total_ipc[design=fast, mix=\"a|c\"] / total_ipc[design=slow, mix=\"a|c\"])"), 5);
  const Values values = Expression("mean(total_ipc[mix=\"a|b\"], \"mix\")").evaluate(*this);
  EXPECT_EQ(values.rows.size(), 2u);
  const auto choices = Expression("total_ipc[mix=\"a|b\"]").choices();
  EXPECT_EQ(choices, (std::vector<std::pair<std::string, std::string>>{{"mix", "a"}, {"mix", "b"}}));
}

TEST_F(Expressions, TakeALabelsValueWithoutQuotesWhenItIsAWord) {
  EXPECT_DOUBLE_EQ(number("max(total_ipc[design=slow])"), 10);
}

TEST_F(Expressions, KeepTheLabelsThatAMeanIsToldToKeep) {
  const Values values = Expression("max(total_ipc, \"design\")").evaluate(*this);
  EXPECT_EQ(values.labels, std::vector<std::string>{"design"});
  EXPECT_EQ(values.rows, (decltype(values.rows){{{"fast"}, 80}, {{"slow"}, 10}}));
  EXPECT_DOUBLE_EQ(number("min(total_ipc / max(total_ipc, \"design\"))"), 0.25);
}

TEST_F(Expressions, FollowTheRulesOfArithmetic) {
  EXPECT_DOUBLE_EQ(number("1 + 2 * 3 - -4 / (1 + 1)"), 9);
  EXPECT_DOUBLE_EQ(number("abs(1 - 2.5e1)"), 24);
  EXPECT_DOUBLE_EQ(number("2 - 1 - 1"), 0);
  EXPECT_EQ(number("1 + sqrt(2 * 8) / 2"), 3);
  EXPECT_EQ(number("sqrt(0)"), 0);
}

TEST_F(Expressions, TakeRootsPointByPoint) {
  const Values values = Expression("sqrt(max(total_ipc, \"design\") / 5)").evaluate(*this);
  EXPECT_EQ(values.labels, std::vector<std::string>{"design"});
  EXPECT_EQ(values.rows.at({"fast"}), 4);
  // A standard deviation from sums of numbers and of their squares, which is what gpu.samples counts.
  EXPECT_EQ(number("sqrt((1 + 9) / 2 - ((1 + 3) / 2) * ((1 + 3) / 2))"), 1);
}

TEST_F(Expressions, CompareInChains) {
  EXPECT_EQ(number("3 > 2 > 1"), 1);
  EXPECT_EQ(number("3 > 2 > 2"), 0);
  EXPECT_EQ(number("1 <= 1 and 2 == 2"), 1);
  EXPECT_EQ(number("sum(total_ipc[design=\"fast\"] > 25)"), 2);
}

TEST_F(Expressions, ReachTenantsStatisticsAndSettings) {
  EXPECT_EQ(number("max(ipc(1))"), 105);
  EXPECT_EQ(number("sum(stat(\"l2.*.hits\"))"), 42);
  EXPECT_EQ(number("count(total_ipc[mmu.walkers=16])"), 6);
  EXPECT_EQ(number("max(alone_stat(\"l2.*.misses\", 1))"), 21) << "of the run alone";
  EXPECT_EQ(refusal("decisions(\"memory\")"), "\"decisions(\"memory\")\": expected \",\" at \")\"");
  EXPECT_EQ(refusal("alone_stat(\"l2.*.misses\")"), "\"alone_stat(\"l2.*.misses\")\": expected \",\" at \")\"");
}

TEST_F(Expressions, RefuseWhatIsMissingAndNameIt) {
  values_[5] = std::nullopt;
  EXPECT_EQ(refusal("mean(total_ipc)"),
            "total_ipc: 1 of 6 runs have no value, the first is design=slow, mix=c, mmu.walkers=16");
  EXPECT_EQ(refusal("total_ipc[design=\"none\"]"), "total_ipc: no run of the sweep matches");
}

TEST_F(Expressions, RefuseRunsWithoutACounterpart) {
  labels_.pop_back();
  values_.pop_back();
  EXPECT_EQ(refusal("total_ipc[design=\"fast\"] / total_ipc[design=\"slow\"]"),
            "no counterpart for mix=c, mmu.walkers=16");
  EXPECT_EQ(refusal("total_ipc[design=\"slow\"] / total_ipc[design=\"fast\"]"),
            "no counterpart for mix=c, mmu.walkers=16");
}

TEST_F(Expressions, SayWhereTheyAreWrong) {
  EXPECT_EQ(refusal("mean(total_ipc"), "\"mean(total_ipc\": expected \")\" at the end");
  EXPECT_EQ(refusal("1 + * 2"), "\"1 + * 2\": expected a number, a quantity or a bracket at \"* 2\"");
  EXPECT_EQ(refusal("ipc"), "\"ipc\": expected \"(\" at the end");
  EXPECT_TRUE(refusal("totl_ipc").ends_with("; did you mean \"total_ipc\"?")) << refusal("totl_ipc");
  EXPECT_EQ(refusal("1 2"), "\"1 2\": expected an operator at \"2\"");
  EXPECT_EQ(refusal("gmean(0 - total_ipc)"), "gmean of -80: a geometric mean needs positive numbers");
  EXPECT_EQ(refusal("sqrt(0 - total_ipc[design=slow])").substr(0, 9), "sqrt of -");
  EXPECT_EQ(refusal("sqrt(4, \"design\")"), "\"sqrt(4, \"design\")\": expected \")\" at \", \"design\")\"");
  EXPECT_EQ(refusal("mean(total_ipc, \"size\")"), "mean: its values have no label \"size\"");
  EXPECT_TRUE(refusal(std::string(100'000, '(')).find("deeper") != std::string::npos);
}

TEST_F(Expressions, TellWhichLabelsTheyChooseBy) {
  const auto choices = Expression("total_ipc[design=\"x\"] / ipc(0)[mix=\"y\", mmu.walkers=8]").choices();
  EXPECT_EQ(choices,
            (std::vector<std::pair<std::string, std::string>>{{"design", "x"}, {"mix", "y"}, {"mmu.walkers", "8"}}));
}

}  // namespace
}  // namespace terrace
