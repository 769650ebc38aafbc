// Containers: rings, pools, tag arrays, miss tables and samples.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <deque>
#include <list>
#include <map>
#include <set>
#include <vector>

#include "engine/miss_table.h"
#include "engine/pool.h"
#include "engine/ring.h"
#include "engine/rng.h"
#include "engine/sampled.h"
#include "engine/tag_array.h"

namespace terrace {
namespace {

/// The same however many entries it begins with.
TEST(Ring, KeepsOrderWhileItWrapsAndGrows) {
  for (const u32 at_first : {5u, 2u, 1u}) {
    Ring<u32> ring(5, at_first);
    std::deque<u32> model;
    Rng rng(1, "ring");
    for (u32 i = 0; i < 1000; ++i) {
      if (rng.below(2) && !ring.full()) {
        ring.push(i);
        model.push_back(i);
      } else if (!ring.empty()) {
        ASSERT_EQ(ring.pop(), model.front());
        model.pop_front();
      }
      ASSERT_EQ(ring.size(), model.size());
      ASSERT_EQ(ring.full(), model.size() == 5);
    }
  }
}

TEST(Pool, ObjectsStartFreshAndHandlesStayDistinctWhileLive) {
  struct Thing {
    u32 value = 7;
  };
  Pool<Thing> pool;
  std::vector<Handle<Thing>> live;
  for (u32 i = 0; i < 3000; ++i) {  // more than one chunk
    live.push_back(pool.make());
    EXPECT_EQ(pool[live.back()].value, 7u);
    pool[live.back()].value = i;
  }
  for (u32 i = 0; i < live.size(); ++i) EXPECT_EQ(pool[live[i]].value, i);
  for (const auto handle : live) pool.free(handle);
  EXPECT_EQ(pool.live(), 0u);
  EXPECT_EQ(pool[pool.make()].value, 7u);
}

#ifdef TERRACE_DCHECK
TEST(Pool, UsingAFreedObjectIsCaughtInDebugBuilds) {
  Pool<u32> pool;
  const auto handle = pool.make();
  pool.free(handle);
  EXPECT_THROW(pool[handle], ModelError);
  const auto reused = pool.make();
  EXPECT_THROW(pool[handle], ModelError) << "the entry lives again under another name";
  EXPECT_NO_THROW(pool[reused]);
}
#endif

TEST(TagArray, LruEvictsTheLeastRecentlyTouchedAndLookingDoesNotTouch) {
  TagArray<char> tags({.entries = 4, .ways = 4});
  for (u64 key = 0; key < 4; ++key) tags.fill(tags.victim(key), key);
  tags.touch(static_cast<u32>(tags.find(0)));
  for (u32 i = 0; i < 10; ++i) tags.find(1);
  EXPECT_EQ(tags.key(tags.victim(9)), 1u);
}

class TagArrayOfWays : public testing::TestWithParam<u32> {};
INSTANTIATE_TEST_SUITE_P(Ways, TagArrayOfWays, testing::Values(1, 4, 7, 8, 11, 32), testing::PrintToStringParamName());

TEST_P(TagArrayOfWays, AgreesWithAListPerSetOnRandomAccesses) {
  const u32 ways = GetParam();
  for (const auto hash : {SetHash::kLowBits, SetHash::kFolded, SetHash::kPolynomial}) {
    TagArray<u64> tags({.entries = 16 * ways, .ways = ways, .replacement = Replacement::kLru, .hash = hash});
    std::map<u32, std::list<u64>> model;  // per set, most recent first
    Rng rng(2, "tags");
    for (u32 i = 0; i < 20'000; ++i) {
      const u64 key = rng.below(50 * ways);
      auto& set = model[tags.set_of(key)];
      const auto place = std::find(set.begin(), set.end(), key);
      const i32 entry = tags.find(key);
      ASSERT_EQ(entry >= 0, place != set.end());
      if (entry >= 0) {
        ASSERT_EQ(tags.meta(static_cast<u32>(entry)), key * 3);
        tags.touch(static_cast<u32>(entry));
        set.erase(place);
      } else {
        const u32 victim = tags.victim(key);
        if (set.size() == ways) {
          ASSERT_EQ(tags.key(victim), set.back());
          set.pop_back();
        }
        tags.fill(victim, key) = key * 3;
      }
      set.push_front(key);
    }
  }
}

TEST(TagArray, APolynomialLeavesNoSetUnusedAtAnyStride) {
  for (u32 bits = 0; bits <= 12; ++bits) {
    const TagArray<char> tags({.entries = 1u << bits, .ways = 1, .hash = SetHash::kPolynomial});
    for (u32 stride = 0; stride < 24; ++stride) {
      std::set<u32> sets;
      for (u64 i = 0; i < u64{1} << bits; ++i) sets.insert(tags.set_of((i << stride) + (u64{5} << 50)));
      ASSERT_EQ(sets.size(), u64{1} << bits) << bits << " bits, stride of 2^" << stride;
    }
  }
}

TEST(TagArray, APartitionEvictsOnlyFromItsOwnWays) {
  for (const auto replacement : {Replacement::kLru, Replacement::kPseudoLru}) {
    TagArray<char> tags({.entries = 8, .ways = 8, .replacement = replacement});
    for (u64 key = 0; key < 8; ++key) tags.fill(tags.victim(key), key);
    Rng rng(4, "partition");
    for (u32 i = 0; i < 200; ++i) {
      tags.touch(static_cast<u32>(rng.below(8)));
      const WayMask allowed = 1 + rng.below(255);
      ASSERT_TRUE(allowed >> tags.victim(100, allowed) & 1);
    }
  }
}

TEST(TagArray, PseudoLruNeverEvictsWhatWasTouchedLastAndReachesEveryWay) {
  TagArray<char> tags({.entries = 16, .ways = 16, .replacement = Replacement::kPseudoLru});
  for (u64 key = 0; key < 16; ++key) tags.fill(tags.victim(key), key);
  u32 seen = 0;
  for (u64 key = 16; key < 32; ++key) {
    const u32 victim = tags.victim(key);
    seen |= 1u << victim;
    tags.fill(victim, key);
    ASSERT_NE(tags.victim(key + 100), victim);
  }
  EXPECT_EQ(seen, 0xffffu) << "touching each victim walks through all ways";
}

TEST(TagArray, RefusesShapesThatAreNotWhole) {
  EXPECT_THROW(TagArray<char>({.entries = 10, .ways = 4}), ModelError);
  EXPECT_THROW(TagArray<char>({.entries = 12, .ways = 4}), ModelError) << "three sets";
}

TEST(MissTable, FirstThenMergedThenFull) {
  MissTable<u32> table(2, 3);
  EXPECT_EQ(table.join(10, 1), Join::kFirst);
  EXPECT_EQ(table.join(10, 2), Join::kMerged);
  EXPECT_EQ(table.join(10, 3), Join::kMerged);
  EXPECT_EQ(table.would_join(10), Join::kFull);
  EXPECT_EQ(table.join(10, 4), Join::kFull) << "no more merges";
  EXPECT_EQ(table.join(20, 5), Join::kFirst);
  EXPECT_EQ(table.join(30, 6), Join::kFull) << "no more entries";
  std::vector<u32> waiters;
  EXPECT_EQ(table.release(10, [&](u32 waiter) { waiters.push_back(waiter); }), 3u);
  EXPECT_EQ(waiters, (std::vector<u32>{1, 2, 3}));
  EXPECT_EQ(table.join(30, 6), Join::kFirst);
}

TEST(MissTable, AWaiterMayJoinAgainWhileItIsReleased) {
  MissTable<u32> table(1, 4);
  table.join(1, 100);
  table.join(1, 101);
  u32 calls = 0;
  table.release(1, [&](u32 waiter) {
    ++calls;
    table.join(1, waiter + 10);
  });
  EXPECT_EQ(calls, 2u);
  std::vector<u32> waiters;
  table.release(1, [&](u32 waiter) { waiters.push_back(waiter); });
  EXPECT_EQ(waiters, (std::vector<u32>{110, 111}));
}

TEST(MissTable, AgreesWithAMapOfListsOnRandomTraffic) {
  MissTable<u64> table(13, 5);
  std::map<u64, std::vector<u64>> model;
  Rng rng(5, "misses");
  for (u32 i = 0; i < 50'000; ++i) {
    const u64 key = rng.below(40) << 20;  // keys that differ in high bits only
    if (rng.below(3) != 0) {
      const bool known = model.contains(key);
      const Join expected = known ? (model[key].size() < 5 ? Join::kMerged : Join::kFull)
                                  : (model.size() < 13 ? Join::kFirst : Join::kFull);
      ASSERT_EQ(table.would_join(key), expected);
      ASSERT_EQ(table.join(key, i), expected);
      if (expected != Join::kFull) model[key].push_back(i);
    } else {
      std::vector<u64> waiters;
      table.release(key, [&](u64 waiter) { waiters.push_back(waiter); });
      ASSERT_EQ(waiters, model.contains(key) ? model[key] : std::vector<u64>{});
      model.erase(key);
    }
    ASSERT_EQ(table.size(), model.size());
  }
}

TEST(Sampled, KeepsEverythingUntilItIsFullAndThenAnEvenSpread) {
  Sampled<u32> sampled(8);
  for (u32 i = 0; i < 8; ++i) sampled.add(i);
  EXPECT_EQ(sampled.kept(), (std::vector<u32>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(sampled.every(), 1u);
  sampled.add(8);
  EXPECT_EQ(sampled.kept(), (std::vector<u32>{0, 2, 4, 6, 8}));
  for (u32 i = 9; i < 1000; ++i) {
    sampled.add(i);
    ASSERT_LE(sampled.kept().size(), 8u);
    ASSERT_GE(sampled.kept().size(), 4u);
  }
  EXPECT_EQ(sampled.seen(), 1000u);
  EXPECT_EQ(sampled.every(), 128u);
  EXPECT_EQ(sampled.kept(), (std::vector<u32>{0, 128, 256, 384, 512, 640, 768, 896}));
}

TEST(Sampled, HoldsAtLeastTwoAndAnEvenNumber) {
  Sampled<u32> smallest(0), odd(5);
  for (u32 i = 0; i < 100; ++i) smallest.add(i), odd.add(i);
  EXPECT_EQ(smallest.kept(), (std::vector<u32>{0, 64}));
  EXPECT_EQ(odd.kept(), (std::vector<u32>{0, 32, 64, 96}));
}

}  // namespace
}  // namespace terrace
