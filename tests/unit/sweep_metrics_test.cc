// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>

#include "run/metrics.h"

namespace terrace {
namespace {

std::map<std::string, double> by_name(const std::vector<TenantRate>& rates) {
  std::map<std::string, double> metrics;
  for (const Metric& metric : relative_metrics(rates)) metrics[std::string(metric.name)] = metric.value;
  return metrics;
}

TEST(Metrics, AreWhatThePapersDefine) {
  // Speedups 1/2 and 1/4: by hand.
  const auto metrics = by_name({{10, 20}, {5, 20}});
  for (const char* sum : {"weighted_speedup", "weighted_ipc", "stp"}) EXPECT_DOUBLE_EQ(metrics.at(sum), 0.75) << sum;
  EXPECT_DOUBLE_EQ(metrics.at("max_slowdown"), 4);
  EXPECT_DOUBLE_EQ(metrics.at("fairness"), 0.5);
  EXPECT_DOUBLE_EQ(metrics.at("antt"), 3);
  EXPECT_DOUBLE_EQ(total_ipc(std::vector<TenantRate>{{10, 20}, {5, 20}}), 15);
}

TEST(Metrics, OneTenantUndisturbedIsAtOne) {
  const auto metrics = by_name({{7, 7}});
  for (const auto& [name, value] : metrics) EXPECT_DOUBLE_EQ(value, 1) << name;
  EXPECT_EQ(metrics.size(), metric_names().size() - 1);
}

TEST(Metrics, ATenantThatDidNothingLeavesThemOut) {
  EXPECT_TRUE(by_name({{0, 20}, {5, 20}}).empty());
  EXPECT_TRUE(by_name({{3, 20}, {5, 0}}).empty());
  EXPECT_TRUE(by_name({}).empty());
}

}  // namespace
}  // namespace terrace
