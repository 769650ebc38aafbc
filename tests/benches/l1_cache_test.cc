// The L1 cache alone. It has no clock: its SM asks what a line would do, and then does it.
// SPDX-License-Identifier: MIT
#include "cache/l1_cache.h"

#include <gtest/gtest.h>

#include <vector>

namespace terrace {
namespace {

using Outcome = L1Cache::Outcome;
constexpr TenantId kTenant{0};

/// Two lines in one set, two misses of at most two loads each.
class L1Bench : public testing::Test {
 protected:
  Outcome look(u64 line) const { return l1.look(LineKey::physical(line)); }
  Outcome load(u64 line, u32 record = 0) {
    const Outcome outcome = look(line);
    if (outcome != Outcome::kRefused) l1.load(LineKey::physical(line), outcome, {.record = record}, kTenant);
    return outcome;
  }
  /// The line arrives; who waited for it, in order.
  std::vector<u32> fill(u64 line) {
    std::vector<u32> records;
    l1.fill(LineKey::physical(line), {}, [&](const L1Cache::Waiter& waiter) { records.push_back(waiter.record); });
    return records;
  }
  void fetch(u64 line) {
    ASSERT_EQ(load(line), Outcome::kMiss);
    fill(line);
  }

  L1Cache l1{{.bytes = 256, .ways = 2, .miss_entries = 2, .miss_merges = 2}, 128};
};

TEST_F(L1Bench, LookingChangesNothing) {
  EXPECT_EQ(look(1), Outcome::kMiss);
  EXPECT_EQ(look(1), Outcome::kMiss);
  EXPECT_EQ(l1.misses_under_way(), 0u);
  EXPECT_EQ(l1.stats.loads[kTenant].value, 0u);
}

TEST_F(L1Bench, ALoadHitsWhenItsLineHasArrived) {
  EXPECT_EQ(load(1), Outcome::kMiss);
  EXPECT_EQ(look(1), Outcome::kMerged) << "not yet";
  fill(1);
  EXPECT_EQ(load(1), Outcome::kHit);
}

TEST_F(L1Bench, LoadsOfALineThatIsFetchedJoinAndAreToldInOrder) {
  load(1, 7);
  EXPECT_EQ(load(1, 5), Outcome::kMerged);
  EXPECT_EQ(fill(1), (std::vector<u32>{7, 5}));
}

TEST_F(L1Bench, NoMoreJoinThanMayMerge) {
  load(1);
  load(1);
  EXPECT_EQ(look(1), Outcome::kRefused);
  EXPECT_EQ(look(2), Outcome::kMiss) << "another line may";
}

TEST_F(L1Bench, NoMoreLinesAreFetchedThanThereAreEntries) {
  load(1);
  load(2);
  EXPECT_EQ(look(3), Outcome::kRefused);
  fill(1);
  EXPECT_EQ(look(3), Outcome::kMiss);
}

TEST_F(L1Bench, ALoadRenewsTheRecencyOfItsLine) {
  fetch(1);
  fetch(2);
  load(1);
  fetch(3);
  EXPECT_EQ(look(1), Outcome::kHit);
  EXPECT_EQ(look(2), Outcome::kMiss);
  EXPECT_EQ(l1.stats.evictions.value, 1u);
}

TEST_F(L1Bench, LookingDoesNot) {
  fetch(1);
  fetch(2);
  look(1);
  fetch(3);
  EXPECT_EQ(look(1), Outcome::kMiss);
}

TEST_F(L1Bench, AStoreBringsInNoLineAndRenewsOneThatIsThere) {
  fetch(1);
  fetch(2);
  EXPECT_EQ(l1.store(LineKey::physical(3), kTenant), nullptr);
  EXPECT_EQ(look(3), Outcome::kMiss);
  EXPECT_NE(l1.store(LineKey::physical(1), kTenant), nullptr);
  fetch(3);
  EXPECT_EQ(look(1), Outcome::kHit);
  EXPECT_EQ(look(2), Outcome::kMiss);
}

TEST_F(L1Bench, AnAtomicDropsItsLineAndNoOther) {
  fetch(1);
  fetch(2);
  l1.atomic(LineKey::physical(1), kTenant);
  EXPECT_EQ(look(1), Outcome::kMiss);
  EXPECT_EQ(look(2), Outcome::kHit);
}

TEST_F(L1Bench, ALineThatIsOutdatedWhileOneIsFetchedAnewIsKeptTheNextTime) {
  load(1);
  l1.store(LineKey::physical(1), kTenant);
  fill(1);
  EXPECT_EQ(look(1), Outcome::kMiss);
  fetch(1);
  EXPECT_EQ(look(1), Outcome::kHit);
}

TEST_F(L1Bench, ClearingForgetsLinesAndWhatIsFetchedIsForThoseWhoWaitAlready) {
  fetch(1);
  load(2, 9);
  l1.clear();
  EXPECT_EQ(look(1), Outcome::kMiss);
  EXPECT_EQ(look(2), Outcome::kRefused) << "what arrives may be from before";
  EXPECT_EQ(fill(2), std::vector<u32>{9});
  EXPECT_EQ(look(2), Outcome::kMiss);
  fetch(2);
  EXPECT_EQ(look(2), Outcome::kHit);
}

TEST_F(L1Bench, TenantsWithVirtualNamesDoNotMeet) {
  const LineKey one = LineKey::of_tenant(TenantId{0}, 1), other = LineKey::of_tenant(TenantId{1}, 1);
  l1.load(one, l1.look(one), {}, TenantId{0});
  l1.fill(one, {}, [](const L1Cache::Waiter&) {});
  EXPECT_EQ(l1.look(one), Outcome::kHit);
  EXPECT_EQ(l1.look(other), Outcome::kMiss);
}

}  // namespace
}  // namespace terrace
