// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>

#include "sweep/oracle_search.h"

namespace terrace {
namespace {

using Split = std::vector<u64>;

/// Concave in each share, so that no line has a second peak: sum of weight * n / (n + half).
double performance(const Split& split, const std::vector<std::pair<double, double>>& tenants) {
  double sum = 0;
  for (std::size_t i = 0; i < split.size(); ++i) {
    const auto n = static_cast<double>(split[i]);
    sum += tenants[i].first * n / (n + tenants[i].second);
  }
  return sum;
}

/// Every split of `sms`, tried.
Split best_by_hand(u64 sms, const std::vector<std::pair<double, double>>& tenants) {
  Split best, split(tenants.size(), 1);
  const std::function<void(std::size_t, u64)> go = [&](std::size_t i, u64 left) {
    if (i + 1 == split.size()) {
      split[i] = left;
      if (best.empty() || performance(split, tenants) > performance(best, tenants)) best = split;
      return;
    }
    for (u64 n = 1; n + (split.size() - i - 1) <= left; ++n) {
      split[i] = n;
      go(i + 1, left - n);
    }
  };
  go(0, sms);
  return best;
}

TEST(OracleSearch, TriesEverySplitOfTwoTenants) {
  std::map<Split, int> tried;
  const std::vector<std::pair<double, double>> tenants = {{1, 2}, {1, 30}};
  const SplitSearch found = search_split(24, 2, [&](const Split& split) {
    ++tried[split];
    return SplitScore{true, performance(split, tenants)};
  });
  EXPECT_TRUE(found.finished);
  EXPECT_EQ(found.best, best_by_hand(24, tenants));
  EXPECT_EQ(tried.size(), 23u);
  for (const auto& [split, times] : tried) EXPECT_EQ(times, 1);
}

TEST(OracleSearch, DescendsAlongCoordinatesToTheBestOfFourTenantsWithoutTryingAll) {
  const std::vector<std::pair<double, double>> tenants = {{1, 1}, {2, 9}, {1.5, 4}, {0.4, 20}};
  const SplitSearch found =
      search_split(24, 4, [&](const Split& split) { return SplitScore{true, performance(split, tenants)}; });
  EXPECT_TRUE(found.finished);
  EXPECT_EQ(found.best, best_by_hand(24, tenants));
  EXPECT_LT(found.tried, 600u);  // of 1,771 ways to share 24 among four
}

TEST(OracleSearch, AsksForAWholeLineAtOnceAndGoesOnWhenItIsKnown) {
  const std::vector<std::pair<double, double>> tenants = {{1, 2}, {1, 8}, {2, 5}};
  std::map<Split, bool> known;
  u64 rounds = 0, largest = 0;
  SplitSearch found;
  do {
    u64 asked = 0;
    found = search_split(12, 3, [&](const Split& split) {
      const bool there = known.contains(split);
      known[split] = true;
      asked += !there;
      return there ? SplitScore{true, performance(split, tenants)} : SplitScore{};
    });
    largest = std::max(largest, asked);
    ASSERT_LT(++rounds, 50u);
  } while (!found.finished);
  EXPECT_GT(rounds, 2u);
  EXPECT_EQ(largest, 7u);  // the first line: 8 SMs between two tenants
  EXPECT_EQ(found.best, best_by_hand(12, tenants));
}

TEST(OracleSearch, PassesOverSplitsThatFailed) {
  const SplitSearch found = search_split(6, 2, [](const Split& split) {
    return split[0] == 3 || split[0] == 5 ? SplitScore{true, std::nullopt}
                                          : SplitScore{true, static_cast<double>(split[0])};
  });
  EXPECT_EQ(found.best, (Split{4, 2}));
  EXPECT_FALSE(search_split(6, 2, [](const Split&) { return SplitScore{true, std::nullopt}; }).value.has_value());
}

}  // namespace
}  // namespace terrace
