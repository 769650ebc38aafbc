// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stats/summed_series.h"

namespace terrace {
namespace {

struct UnitStats {
  PerTenant<Counter> hits;
  Counter flushes;
  Histogram wait{1};
  void describe(StatFields& v) {
    v("hits", hits, "look-ups", "that hit");
    v("flushes", flushes, "flushes", "of everything");
    v("wait", wait, "cycles", "until an answer");
  }
};

class SeriesOfTwoUnits : public ::testing::Test {
 protected:
  SeriesOfTwoUnits() : tree_(2) {
    tree_.add("gpu.l2.0", units_[0]);
    tree_.add("gpu.l2.1", units_[1]);
  }
  static std::vector<u64> numbers(const Tree& series, const std::string& name) {
    std::vector<u64> found;
    const Tree* list = series.find("series")->find(name);
    if (list != nullptr)
      for (const Tree& item : list->items()) found.push_back(std::get<u64>(item.value));
    return found;
  }
  UnitStats units_[2];
  StatTree tree_;
};

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(SeriesOfTwoUnits, ValuesAreWhatGrewInEachIntervalSummedOverUnits) {
  units_[0].hits[TenantId{1}] += 100;  // before the series begins
  SummedSeries series(tree_, 10);
  EXPECT_EQ(series.due(), 10u);
  units_[0].hits[TenantId{1}] += 3;
  units_[1].hits[TenantId{1}] += 4;
  series.sample(12);  // a little late
  EXPECT_EQ(series.due(), 20u);
  units_[1].hits[TenantId{1}] += 5;
  units_[1].wait.add(2);
  series.sample(20);
  series.sample(20);  // the end of the run, where an interval ended
  const Tree json = series.json();
  EXPECT_EQ(*json.find("every"), Tree(u64{10}));
  EXPECT_EQ(*json.find("ends"), Tree(Tree::List{Tree(u64{12}), Tree(u64{20})}));
  EXPECT_THAT(numbers(json, "gpu.l2.*.hits{tenant=1}"), ElementsAre(7, 5));
  // What never grew is left out, and so are the buckets of histograms.
  EXPECT_THAT(numbers(json, "gpu.l2.*.hits{tenant=0}"), IsEmpty());
  EXPECT_THAT(numbers(json, "gpu.l2.*.flushes"), IsEmpty());
  for (const auto& [name, values] : json.find("series")->members())
    EXPECT_EQ(name.find("{from="), std::string::npos) << name;
}

TEST_F(SeriesOfTwoUnits, MoreIntervalsThanAreKeptBecomeLongerOnes) {
  SummedSeries series(tree_, 1);
  constexpr u64 kCycles = 5 * SummedSeries::kMostIntervals + 7;
  u64 taken = 0;
  for (Cycle now = 1; now <= kCycles; ++now) {
    ++units_[0].flushes;
    if (now >= series.due()) series.sample(now), ++taken;
  }
  series.sample(kCycles);
  EXPECT_LT(taken, kCycles);
  EXPECT_LE(series.intervals(), SummedSeries::kMostIntervals);
  const Tree json = series.json();
  EXPECT_EQ(*json.find("every"), Tree(u64{8}));
  // Nothing is lost, and each interval still says how long it was.
  u64 sum = 0, last = 0;
  const std::vector<u64> growth = numbers(json, "gpu.l2.*.flushes");
  for (std::size_t i = 0; i < growth.size(); ++i) {
    const u64 end = std::get<u64>(json.find("ends")->items()[i].value);
    EXPECT_EQ(growth[i], end - last);
    sum += growth[i], last = end;
  }
  EXPECT_EQ(sum, kCycles);
  EXPECT_EQ(last, kCycles);
}

}  // namespace
}  // namespace terrace
