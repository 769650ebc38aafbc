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
    l1.fill(LineKey::physical(line), LineKey::physical(line), {},
            [&](const L1Cache::Waiter& waiter) { records.push_back(waiter.record); });
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
  l1.fill(one, one, {}, [](const L1Cache::Waiter&) {});
  EXPECT_EQ(l1.look(one), Outcome::kHit);
  EXPECT_EQ(l1.look(other), Outcome::kMiss);
}

/// An L1 of four lines in one set, called by virtual names, with a filter of two pages of 32 lines.
class L1FilterBench : public testing::Test {
 protected:
  L1FilterBench() { l1.keep_filter(2, 5); }
  static LineKey line(u64 page, u64 place, TenantId tenant = kTenant) {
    return LineKey::of_tenant(tenant, page * 32 + place);
  }
  void load(LineKey name, u32 record = 0) {
    const Outcome outcome = l1.look(name);
    ASSERT_NE(outcome, Outcome::kRefused);
    l1.load(name, outcome, {.record = record}, kTenant);
  }
  std::vector<u32> fill(LineKey name, LineKey leading, bool writable = true) {
    std::vector<u32> records;
    l1.fill(name, leading, {}, [&](const L1Cache::Waiter& waiter) { records.push_back(waiter.record); }, writable);
    return records;
  }
  void fetch(LineKey name, bool writable = true) {
    load(name);
    fill(name, name, writable);
  }
  bool has(LineKey name) const { return l1.look(name) == Outcome::kHit; }
  const L1FilterStats& filter() { return *l1.filter_stats(); }

  L1Cache l1{{.bytes = 512, .ways = 4, .miss_entries = 4, .miss_merges = 2}, 128};
};

TEST_F(L1FilterBench, APageOfWhichALineIsHereEmptiesAll) {
  fetch(line(1, 3));
  fetch(line(2, 0));
  l1.drop_page(line(1, 0));
  EXPECT_FALSE(has(line(1, 3)));
  EXPECT_FALSE(has(line(2, 0))) << "not only the lines of that page";
  EXPECT_EQ(filter().checks.value, 1u);
  EXPECT_EQ(filter().matches.value, 1u);
  EXPECT_EQ(l1.stats.invalidations.value, 1u);
}

TEST_F(L1FilterBench, APageOfWhichNothingIsHereLeavesAllAsItWas) {
  fetch(line(1, 3));
  fetch(line(2, 31));
  l1.drop_page(line(3, 0));
  l1.drop_page(line(1, 0, TenantId{1}));
  EXPECT_TRUE(has(line(1, 3)));
  EXPECT_TRUE(has(line(2, 31)));
  EXPECT_EQ(filter().checks.value, 2u);
  EXPECT_EQ(filter().matches.value, 0u);
}

TEST_F(L1FilterBench, WhenItIsEmptiedNoPageMatches) {
  fetch(line(1, 3));
  l1.clear();
  l1.drop_page(line(1, 0));
  EXPECT_EQ(filter().matches.value, 0u);
}

TEST_F(L1FilterBench, ALineThatIsAwaitedCountsAndIsNotKept) {
  fetch(line(2, 0));
  load(line(1, 3), 7);
  l1.drop_page(line(1, 0));
  EXPECT_EQ(filter().matches.value, 1u);
  EXPECT_FALSE(has(line(2, 0)));
  EXPECT_EQ(fill(line(1, 3), line(1, 3)), std::vector<u32>{7}) << "who waited gets it";
  EXPECT_FALSE(has(line(1, 3)));
}

TEST_F(L1FilterBench, ALineOfAnotherPageThatIsAwaitedDoesNotCountAndIsKept) {
  load(line(1, 3));
  l1.drop_page(line(2, 0));
  EXPECT_EQ(filter().matches.value, 0u);
  fill(line(1, 3), line(1, 3));
  EXPECT_TRUE(has(line(1, 3)));
}

TEST_F(L1FilterBench, APageWhoseLastLineWasEvictedMatchesNoMore) {
  fetch(line(1, 0));
  fetch(line(1, 1));
  for (u64 place = 0; place < 3; ++place) fetch(line(2, place));  // the last one takes the place of line 0
  l1.drop_page(line(3, 0));
  l1.drop_page(line(1, 0));
  EXPECT_EQ(filter().matches.value, 1u) << "line 1 is still here";
  for (u64 place = 0; place < 4; ++place) fetch(line(2, place));
  fetch(line(1, 1));
  for (u64 place = 4; place < 8; ++place) fetch(line(2, place));
  l1.drop_page(line(1, 0));
  EXPECT_EQ(filter().matches.value, 1u);
  EXPECT_TRUE(has(line(2, 7)));
}

TEST_F(L1FilterBench, ALineThatAnAtomicDropsCountsNoMore) {
  fetch(line(1, 0));
  l1.atomic(line(1, 0), kTenant);
  l1.drop_page(line(1, 0));
  EXPECT_EQ(filter().matches.value, 0u);
}

TEST_F(L1FilterBench, APageThatFindsNoEntryEmptiesAllAndIsNotKept) {
  fetch(line(1, 0));
  fetch(line(2, 0));
  fetch(line(2, 1));
  EXPECT_EQ(filter().overflows.value, 0u) << "another line of a page needs no entry";
  load(line(3, 0), 7);
  EXPECT_EQ(fill(line(3, 0), line(3, 0)), std::vector<u32>{7});
  EXPECT_EQ(filter().overflows.value, 1u);
  for (const LineKey gone : {line(1, 0), line(2, 0), line(2, 1), line(3, 0)}) EXPECT_FALSE(has(gone));
  EXPECT_EQ(l1.misses_under_way(), 0u);
  fetch(line(3, 0));
  EXPECT_TRUE(has(line(3, 0))) << "the next time there is room";
}

TEST_F(L1FilterBench, APageWhoseLinesHaveGoneLeavesItsEntry) {
  fetch(line(1, 0));
  fetch(line(2, 0));
  l1.atomic(line(1, 0), kTenant);
  fetch(line(3, 0));
  EXPECT_EQ(filter().overflows.value, 0u);
  EXPECT_TRUE(has(line(3, 0)));
}

TEST_F(L1FilterBench, ASynonymIsKeptUnderTheNameThatLeads) {
  const LineKey synonym = line(5, 3), leading = line(1, 3);
  load(synonym, 7);
  EXPECT_EQ(fill(synonym, leading), std::vector<u32>{7}) << "whoever asked, by whatever name";
  EXPECT_TRUE(has(leading));
  EXPECT_FALSE(has(synonym)) << "it misses every time";
  l1.drop_page(line(5, 0));
  EXPECT_TRUE(has(leading));
  l1.drop_page(line(1, 0));
  EXPECT_FALSE(has(leading));
}

TEST(L1Filter, ASynonymIsKeptInTheSetOfTheNameThatLeads) {
  L1Cache l1{{.bytes = 64 * 128, .ways = 1, .miss_entries = 4, .miss_merges = 2}, 128};
  l1.keep_filter(8, 5);
  const LineKey synonym = LineKey::of_tenant(kTenant, 2 * 32 + 3), leading = LineKey::of_tenant(kTenant, 32 + 3);
  l1.load(synonym, Outcome::kMiss, {}, kTenant);
  l1.fill(synonym, leading, {}, [](const L1Cache::Waiter&) {});
  EXPECT_EQ(l1.look(leading), Outcome::kHit);
}

TEST_F(L1FilterBench, AWriteIsDeniedByALineOfAPageThatMayNotBeWrittenUntilTheTablePermitsIt) {
  const LineKey read_only = line(1, 3), writable = line(1, 4), absent = line(1, 5);
  fetch(read_only, false);
  fetch(writable);
  EXPECT_TRUE(l1.denies_write(read_only));
  EXPECT_FALSE(l1.denies_write(writable));
  EXPECT_FALSE(l1.denies_write(absent)) << "the next level that holds the line is asked";
  l1.permit(absent);
  EXPECT_FALSE(has(absent));
  l1.permit(read_only);
  EXPECT_FALSE(l1.denies_write(read_only));
  l1.clear();
  fetch(read_only, false);
  EXPECT_TRUE(l1.denies_write(read_only)) << "a line that comes anew has the permission that it comes with";
}

TEST_F(L1FilterBench, ALineThatIsHereUnderTheLeadingNameIsNotKeptTwice) {
  const LineKey synonym = line(5, 3), leading = line(1, 3);
  fetch(leading);
  for (u64 place = 0; place < 3; ++place) fetch(line(2, place));
  load(synonym, 7);
  EXPECT_EQ(fill(synonym, leading), std::vector<u32>{7});
  EXPECT_EQ(l1.stats.evictions.value, 0u);
  l1.atomic(leading, kTenant);
  EXPECT_FALSE(has(leading)) << "there was one";
  l1.drop_page(line(1, 0));
  EXPECT_EQ(filter().matches.value, 0u) << "and it counted once";
}

}  // namespace
}  // namespace terrace
