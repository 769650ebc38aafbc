// The L1 cache alone. It has no clock: its SM asks what a line would do, and then does it.
// SPDX-License-Identifier: MIT
#include "cache/l1_cache.h"

#include <gtest/gtest.h>

#include <vector>

#include "benches/scripted.h"

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

/// Lines of four sectors of 32 bytes, a bit each.
class SectoredL1Bench : public testing::Test {
 protected:
  static LineKey name(u64 line) { return LineKey::physical(line); }
  Outcome look(u64 line, u8 sectors) const { return l1.look(name(line), sectors); }
  Outcome load(u64 line, u8 sectors, u32 record = 0) {
    const Outcome outcome = look(line, sectors);
    if (outcome != Outcome::kRefused)
      l1.load(name(line), outcome, {.record = record, .lacks = l1.lacking(name(line), sectors)}, kTenant);
    return outcome;
  }
  /// These sectors arrive; who has all that it waited for, in order.
  std::vector<u32> fill(u64 line, u8 sectors) {
    std::vector<u32> records;
    l1.fill(
        name(line), name(line), {}, [&](const L1Cache::Waiter& waiter) { records.push_back(waiter.record); }, true,
        sectors);
    return records;
  }

  L1Cache l1{{.bytes = 256, .ways = 2, .miss_entries = 2, .miss_merges = 3}, {128, 32}};
};
using Records = std::vector<u32>;

TEST_F(SectoredL1Bench, ALoadHitsIfAllItsSectorsAreThere) {
  EXPECT_EQ(load(1, 0b0011), Outcome::kMiss);
  fill(1, 0b0011);
  EXPECT_EQ(look(1, 0b0001), Outcome::kHit);
  EXPECT_EQ(look(1, 0b0011), Outcome::kHit);
  EXPECT_EQ(look(1, 0b0110), Outcome::kMiss);
  EXPECT_EQ(look(1, 0b1000), Outcome::kMiss);
}

TEST_F(SectoredL1Bench, ALoadFetchesOnlyWhatIsNeitherHereNorOnItsWay) {
  load(1, 0b0001);
  fill(1, 0b0001);
  load(1, 0b0010);
  EXPECT_EQ(l1.to_fetch(name(1), 0b0111), 0b0100);
  EXPECT_EQ(l1.to_fetch(name(1), 0b0011), 0);
  EXPECT_EQ(look(1, 0b0011), Outcome::kMerged) << "one is here and the other comes";
}

TEST_F(SectoredL1Bench, LoadsOfOneLineShareAnEntryAndAreToldWhenTheirSectorsAreThere) {
  EXPECT_EQ(load(1, 0b0001, 7), Outcome::kMiss);
  EXPECT_EQ(load(1, 0b0010, 8), Outcome::kMiss) << "it fetches another sector";
  EXPECT_EQ(load(1, 0b0011, 9), Outcome::kMerged);
  EXPECT_EQ(l1.misses_under_way(), 1u);
  EXPECT_EQ(look(1, 0b0001), Outcome::kRefused) << "three are the most that may wait";
  EXPECT_EQ(fill(1, 0b0010), Records{8}) << "they may come in any order";
  EXPECT_EQ(l1.misses_under_way(), 1u);
  EXPECT_EQ(look(1, 0b0010), Outcome::kHit);
  EXPECT_EQ(look(1, 0b0001), Outcome::kMerged) << "one left";
  EXPECT_EQ(fill(1, 0b0001), (Records{7, 9}));
  EXPECT_EQ(l1.misses_under_way(), 0u);
  EXPECT_EQ(l1.stats.misses[kTenant].value, 2u);
  EXPECT_EQ(l1.stats.sector_misses[kTenant].value, 1u);
}

TEST_F(SectoredL1Bench, MoreSectorsOfALineThatIsThereTakeNoOtherPlace) {
  for (const u8 sector : {u8{0b0001}, u8{0b0010}, u8{0b0100}}) {
    load(1, sector);
    fill(1, sector);
  }
  EXPECT_EQ(look(1, 0b0111), Outcome::kHit);
  EXPECT_EQ(l1.stats.evictions.value, 0u);
  EXPECT_EQ(l1.stats.sector_misses[kTenant].value, 2u);
}

TEST_F(SectoredL1Bench, SectorsThatComeAfterAWriteToTheirLineAreNotKept) {
  load(1, 0b0001);
  fill(1, 0b0001);
  load(1, 0b0010, 4);
  l1.store(name(1), kTenant);
  EXPECT_EQ(look(1, 0b0010), Outcome::kRefused) << "what comes may be from before the store";
  EXPECT_EQ(look(1, 0b0001), Outcome::kHit) << "the store changed what is here";
  EXPECT_EQ(fill(1, 0b0010), Records{4});
  EXPECT_EQ(look(1, 0b0010), Outcome::kMiss);
  EXPECT_EQ(look(1, 0b0001), Outcome::kHit);
}

TEST_F(SectoredL1Bench, ALineIsOutdatedUntilAllItsSectorsHaveCome) {
  load(1, 0b0001, 4);
  load(1, 0b0010, 5);
  l1.clear();
  EXPECT_EQ(fill(1, 0b0001), Records{4});
  EXPECT_EQ(look(1, 0b0001), Outcome::kRefused);
  EXPECT_EQ(fill(1, 0b0010), Records{5});
  EXPECT_EQ(look(1, 0b0011), Outcome::kMiss);
}

TEST(L1Checkpoint, LinesMissesAndWhatIsOutdatedComeBack) {
  const L1Config config{.bytes = 512, .ways = 4, .miss_entries = 4, .miss_merges = 2};
  const auto name = [](u64 line) { return LineKey::of_tenant(kTenant, line); };
  for (const bool filtered : {false, true}) {
    // A line of 128 bytes in sectors of 32 has no filter.
    const LineShape shape(128, filtered ? 0 : 32);
    L1Cache l1(config, shape), after(config, shape);
    for (L1Cache* each : {&l1, &after}) {
      if (filtered) each->keep_filter(2, 5);
    }
    const auto load = [&](u64 line, u32 record, u8 sectors = 1) {
      l1.load(name(line), l1.look(name(line), sectors), {.record = record, .lacks = sectors}, kTenant);
    };
    const auto fill = [](L1Cache& cache, LineKey line, u8 sectors) {
      std::vector<u32> records;
      cache.fill(
          line, line, {}, [&](const L1Cache::Waiter& waiter) { records.push_back(waiter.record); }, true, sectors);
      return records;
    };
    for (u64 line = 0; line < 4; ++line) {
      load(line, 0);
      fill(l1, name(line), 1);
    }
    load(0, 0);  // line 1 is the oldest now
    load(32, 5);
    load(32, 6);
    load(33, 7);
    l1.store(name(33), kTenant);
    copy_state(l1, after);
    for (u64 line = 0; line < 4; ++line) EXPECT_EQ(after.look(name(line)), Outcome::kHit);
    EXPECT_EQ(after.look(name(0), 0b11), filtered ? Outcome::kHit : Outcome::kMiss);
    EXPECT_EQ(after.look(name(32)), Outcome::kRefused) << "two wait already";
    EXPECT_EQ(after.look(name(33)), Outcome::kRefused) << "it is outdated";
    EXPECT_EQ(fill(after, name(32), 1), (std::vector<u32>{5, 6}));
    EXPECT_EQ(after.look(name(1)), Outcome::kMiss) << "it has made room";
    EXPECT_EQ(after.look(name(0)), Outcome::kHit);
    EXPECT_EQ(fill(after, name(33), 1), std::vector<u32>{7});
    EXPECT_EQ(after.look(name(33)), Outcome::kMiss) << "it was not kept";
    if (!filtered) continue;
    EXPECT_EQ(after.filter_stats()->overflows.value, 0u) << "two pages are two entries";
    after.drop_page(name(64));
    EXPECT_EQ(after.look(name(0)), Outcome::kHit) << "no line of that page is here";
    after.drop_page(name(0));
    EXPECT_EQ(after.look(name(0)), Outcome::kMiss);
  }
}

}  // namespace
}  // namespace terrace
