// Which line of a set an L2 victim policy gives up.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "cache/l2_victim.h"

namespace terrace {
namespace {

constexpr u32 kWays = 8;

std::unique_ptr<L2Victim> make(const char* name, u64 seed = 1, u32 slice = 0) {
  return Registry<L2Victim>::instance().make(name, {.tenants = 1, .ways = kWays, .slice = slice, .seed = seed});
}

/// A set of its own, filled line by line as a slice would.
class OneSet {
 public:
  explicit OneSet(std::unique_ptr<L2Victim> policy)
      : policy_(std::move(policy)), tags_({.entries = kWays, .ways = kWays}) {}
  /// Whether the line was there.
  bool access(u64 line) {
    if (const i32 entry = tags_.find(line); entry >= 0) {
      tags_.touch(static_cast<u32>(entry));
      return true;
    }
    const L2Set set(tags_, line);
    last_ = policy_->victim(set, {});
    tags_.fill(set.first() + last_, line) = {};
    return false;
  }
  u32 last_victim() const { return last_; }

 private:
  std::unique_ptr<L2Victim> policy_;
  TagArray<L2Line> tags_;
  u32 last_ = 0;
};

TEST(L2Victims, RandomTakesFreeWaysFirst) {
  OneSet set(make("random"));
  std::set<u32> ways;
  for (u64 line = 0; line < kWays; ++line) {
    set.access(line);
    ways.insert(set.last_victim());
  }
  EXPECT_EQ(ways.size(), kWays);
}

TEST(L2Victims, RandomGivesUpEveryWayAboutAsOften) {
  OneSet set(make("random"));
  for (u64 line = 0; line < kWays; ++line) set.access(line);
  std::vector<u32> times(kWays);
  constexpr u32 kFills = 8000;
  for (u64 line = kWays; line < kWays + kFills; ++line) {
    set.access(line);
    ++times[set.last_victim()];
  }
  // Each of 8 ways: 1,000 expected, with a deviation of 30.
  EXPECT_THAT(times, testing::Each(testing::AllOf(testing::Gt(850u), testing::Lt(1150u))));
}

TEST(L2Victims, ALoopOverOneLineMoreThanFitsNeverHitsUnderLruAndOftenUnderRandom) {
  OneSet lru(make("lru")), random(make("random"));
  u32 lru_hits = 0, random_hits = 0;
  for (u64 i = 0; i < 9000; ++i) {
    lru_hits += lru.access(i % (kWays + 1));
    random_hits += random.access(i % (kWays + 1));
  }
  EXPECT_EQ(lru_hits, 0u);
  EXPECT_GT(random_hits, 9000u / 2);
}

TEST(L2Victims, RandomFollowsTheSeedAndTheSlice) {
  const auto ways = [](u64 seed, u32 slice) {
    OneSet set(make("random", seed, slice));
    std::vector<u32> taken;
    for (u64 line = 0; line < 40; ++line) {
      set.access(line);
      taken.push_back(set.last_victim());
    }
    return taken;
  };
  EXPECT_EQ(ways(1, 0), ways(1, 0));
  EXPECT_NE(ways(1, 0), ways(2, 0));
  EXPECT_NE(ways(1, 0), ways(1, 1));
}

}  // namespace
}  // namespace terrace
