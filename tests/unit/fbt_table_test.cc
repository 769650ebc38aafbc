// The forward-backward table as a structure: two tables that agree, victims, and the lines of a page.
// SPDX-License-Identifier: MIT
#include "translation/fbt_table.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/fbt_pages.h"
#include "wire/translate.h"

namespace terrace {
namespace {

constexpr u32 kPageShift = 12, kLineShift = 7;
constexpr TenantId kTenant{0};

PhysAddr frame(u64 number) {
  return {number << kPageShift};
}
u64 page(u64 number) {
  return page_key(kTenant, kPageShift, number);
}

/// Pages `number` of frames `number`, all in one set unless a test says otherwise.
class FbtTableTest : public testing::Test {
 protected:
  u32 add(u64 number) { return table.add(frame(number), page(number)); }
  u32 in_the_way(u64 number) { return table.in_the_way(frame(number), page(number), all_locked); }
  void fill(u32 pages) {
    for (u64 i = 0; i < pages; ++i) add(i);
  }
  static constexpr u32 kNone = FbtTable::kNone;

  FbtTable table{4, 4, kPageShift, kLineShift};
  bool all_locked = false;
};

TEST_F(FbtTableTest, AnEmptyTableKnowsNothing) {
  EXPECT_EQ(table.by_frame(frame(1)), kNone);
  EXPECT_EQ(table.by_page(page(1)), kNone);
  EXPECT_EQ(pages_of(table), 0u);
}

TEST_F(FbtTableTest, APageIsFoundByItsFrameAndByItsName) {
  const u32 entry = table.add(frame(7), page(3));
  EXPECT_EQ(table.by_frame(frame(7)), entry);
  EXPECT_EQ(table.by_page(page(3)), entry);
  EXPECT_EQ(table.by_frame(frame(3)), kNone) << "names and frames are not confused";
  EXPECT_EQ(table.by_page(page(7)), kNone);
  EXPECT_EQ(table[entry].frame, frame(7));
  EXPECT_EQ(table[entry].leading, page(3));
  EXPECT_EQ(pages_of(table), 1u);
}

TEST_F(FbtTableTest, AnyAddressOfAFrameFindsIt) {
  const u32 entry = table.add({frame(7).raw + 0x380}, page(3));
  EXPECT_EQ(table.by_frame({frame(7).raw + 0xf80}), entry);
  EXPECT_EQ(table[entry].frame, frame(7)) << "where it begins";
}

TEST_F(FbtTableTest, PagesOfOneNumberAndTwoTenantsAreTwo) {
  const u32 one = table.add(frame(1), page_key(TenantId{0}, kPageShift, 5));
  const u32 two = table.add(frame(2), page_key(TenantId{1}, kPageShift, 5));
  EXPECT_EQ(table.by_page(page_key(TenantId{0}, kPageShift, 5)), one);
  EXPECT_EQ(table.by_page(page_key(TenantId{1}, kPageShift, 5)), two);
}

TEST_F(FbtTableTest, APageThatIsRemovedIsInNeitherTable) {
  const u32 gone = table.add(frame(7), page(3)), stays = table.add(frame(8), page(4));
  table.remove(gone);
  EXPECT_EQ(table.by_frame(frame(7)), kNone);
  EXPECT_EQ(table.by_page(page(3)), kNone);
  EXPECT_EQ(table.by_frame(frame(8)), stays);
  EXPECT_EQ(table.by_page(page(4)), stays);
  EXPECT_EQ(pages_of(table), 1u);
}

TEST_F(FbtTableTest, AnEntryIsInBothTablesOrInNoneWhateverComesAndGoes) {
  FbtTable many(64, 4, kPageShift, kLineShift);
  for (u64 i = 0; i < 400; ++i) {
    // Frames and names fall into sets in different orders.
    const PhysAddr its_frame = frame(i * 7 % 1021);
    const u64 its_page = page(i * 13 % 2039);
    // One may be in the way in each table.
    for (u32 tried = 0; tried < 2; ++tried) {
      const u32 victim = many.in_the_way(its_frame, its_page, all_locked);
      if (victim != kNone) many.remove(victim);
    }
    ASSERT_EQ(many.in_the_way(its_frame, its_page, all_locked), kNone);
    many.add(its_frame, its_page);
    u32 by_frame = 0, by_page = 0;
    for (u64 k = 0; k <= i; ++k) {
      const u32 entry = many.by_frame(frame(k * 7 % 1021)), same = many.by_page(page(k * 13 % 2039));
      ASSERT_EQ(entry, same) << "page " << k << " after " << i;
      by_frame += entry != kNone;
      by_page += same != kNone;
    }
    ASSERT_EQ(pages_of(many), by_frame);
    ASSERT_EQ(pages_of(many), by_page);
  }
  EXPECT_GT(pages_of(many), 32u) << "most of the table is used";
}

TEST_F(FbtTableTest, NothingIsInTheWayWhileThereIsRoom) {
  fill(3);
  EXPECT_EQ(in_the_way(9), kNone);
  EXPECT_FALSE(all_locked);
}

TEST_F(FbtTableTest, APageThatReplacesAnotherIsAMistake) {
  fill(4);
  EXPECT_THROW(add(9), ModelError);
}

/// A table of two sets: which set a frame or a name falls into is found by trying.
class FbtTableSets : public testing::Test {
 protected:
  /// Numbers whose frames, or names, meet number 0 in its set, or do not.
  std::vector<u64> meets(bool by_frame, bool same, u32 count) const {
    std::vector<u64> numbers;
    for (u64 number = 1; numbers.size() < count && number < 100; ++number) {
      FbtTable probe(2, 1, kPageShift, kLineShift);
      probe.add(frame(0), page(0));
      bool all_locked = false;
      // The other name is as free as that of 0 is taken: what is in the way is so in the set asked about.
      const u32 way = by_frame ? probe.in_the_way(frame(number), free_page(), all_locked)
                               : probe.in_the_way(free_frame(), page(number), all_locked);
      if ((way != FbtTable::kNone) == same) numbers.push_back(number);
    }
    EXPECT_EQ(numbers.size(), count);
    numbers.resize(count);
    return numbers;
  }
  /// A name, and a frame, that do not meet those of number 0.
  static u64 free_page() {
    return first_free([](u64 number) { return page(number); }, true);
  }
  static PhysAddr free_frame() {
    return {first_free([](u64 number) { return frame(number).raw; }, false)};
  }
  template <class F>
  static u64 first_free(F&& make, bool pages) {
    for (u64 number = 1;; ++number) {
      TagArray<int> one({.entries = 2, .ways = 1, .hash = SetHash::kFolded});
      const u64 key = pages ? make(number) : make(number) >> kPageShift;
      const u64 zero = pages ? make(0) : make(0) >> kPageShift;
      if (one.set_of(key) != one.set_of(zero)) return make(number);
    }
  }
};

TEST_F(FbtTableSets, AConflictMayBeInTheBackwardTableAlone) {
  FbtTable table(4, 2, kPageShift, kLineShift);
  const std::vector<u64> frames = meets(true, true, 2), names = meets(false, false, 2);
  const u32 oldest = table.add(frame(0), page(0));
  table.add(frame(frames[0]), page(names[0]));
  bool all_locked = false;
  EXPECT_EQ(table.in_the_way(frame(frames[1]), page(names[1]), all_locked), oldest);
  EXPECT_FALSE(all_locked);
}

TEST_F(FbtTableSets, AConflictMayBeInTheForwardTableAlone) {
  FbtTable table(4, 2, kPageShift, kLineShift);
  const std::vector<u64> frames = meets(true, false, 2), names = meets(false, true, 2);
  const u32 oldest = table.add(frame(0), page(0));
  table.add(frame(frames[0]), page(names[0]));
  bool all_locked = false;
  EXPECT_EQ(table.in_the_way(frame(frames[1]), page(names[1]), all_locked), oldest) << "by its place in the other";
  EXPECT_FALSE(all_locked);
}

TEST_F(FbtTableSets, ConflictsInBothTablesAreToldOneAfterTheOther) {
  FbtTable table(2, 1, kPageShift, kLineShift);
  const u64 other_frame = meets(true, false, 1)[0], other_name = meets(false, false, 1)[0];
  const u32 in_backward = table.add(frame(0), page(0));
  const u32 in_forward = table.add(frame(other_frame), page(other_name));
  bool all_locked = false;
  // It comes with a frame that meets the first one, and with a name that meets the second one.
  const u64 new_frame = meets(true, true, 1)[0], new_name = meets(false, false, 2)[1];
  EXPECT_EQ(table.in_the_way(frame(new_frame), page(new_name), all_locked), in_backward);
  table.remove(in_backward);
  EXPECT_EQ(table.in_the_way(frame(new_frame), page(new_name), all_locked), in_forward);
  table.remove(in_forward);
  EXPECT_EQ(table.in_the_way(frame(new_frame), page(new_name), all_locked), FbtTable::kNone);
  EXPECT_NO_THROW(table.add(frame(new_frame), page(new_name)));
}

TEST_F(FbtTableTest, TheLeastRecentlyUsedPageGoesFirst) {
  fill(4);
  table.use(table.by_frame(frame(0)));
  EXPECT_EQ(in_the_way(9), table.by_frame(frame(1)));
  for (u64 i = 0; i < 4; ++i) table.set_line(table.by_frame(frame(i)), 0);
  EXPECT_EQ(in_the_way(9), table.by_frame(frame(1))) << "whether all have lines or none";
}

TEST_F(FbtTableTest, AskingWhatIsInTheWayChangesNothing) {
  fill(4);
  const u32 first = in_the_way(9);
  EXPECT_EQ(in_the_way(9), first);
  EXPECT_EQ(pages_of(table), 4u);
}

TEST_F(FbtTableTest, APageWithoutLinesGoesBeforeAnOlderOneThatHasSome) {
  fill(4);
  for (const u64 number : {0u, 1u, 3u}) table.set_line(table.by_frame(frame(number)), 5);
  EXPECT_EQ(in_the_way(9), table.by_frame(frame(2)));
}

TEST_F(FbtTableTest, AmongPagesWithoutLinesTheLeastRecentlyUsedGoesFirst) {
  fill(4);
  table.set_line(table.by_frame(frame(0)), 5);
  table.use(table.by_frame(frame(1)));
  EXPECT_EQ(in_the_way(9), table.by_frame(frame(2)));
}

TEST_F(FbtTableTest, ALockedPageIsNotNamed) {
  fill(4);
  table[table.by_frame(frame(0))].locked = true;
  EXPECT_EQ(in_the_way(9), table.by_frame(frame(1)));
  EXPECT_FALSE(all_locked);
}

TEST_F(FbtTableTest, ALockedPageWithoutLinesIsNotNamedEither) {
  fill(4);
  for (const u64 number : {0u, 1u, 2u}) table.set_line(table.by_frame(frame(number)), 5);
  table[table.by_frame(frame(3))].locked = true;
  EXPECT_EQ(in_the_way(9), table.by_frame(frame(0)));
}

TEST_F(FbtTableTest, WhenAllAreLockedThatIsSaid) {
  fill(4);
  for (u64 i = 0; i < 4; ++i) table[table.by_frame(frame(i))].locked = true;
  EXPECT_EQ(in_the_way(9), kNone);
  EXPECT_TRUE(all_locked);
  table.remove(table.by_frame(frame(2)));
  EXPECT_EQ(in_the_way(9), kNone);
  EXPECT_FALSE(all_locked) << "there is room";
}

TEST_F(FbtTableTest, APageThatReturnsIsNeitherLockedNorWritten) {
  const u32 entry = add(1);
  table[entry].locked = table[entry].written = true;
  table.remove(entry);
  const u32 again = add(1);
  EXPECT_FALSE(table[again].locked);
  EXPECT_FALSE(table[again].written);
}

TEST_F(FbtTableTest, LinesAreSetAndClearedOneByOne) {
  const u32 entry = add(1);
  ASSERT_TRUE(table.has_vectors());
  EXPECT_FALSE(table.has(entry, 5));
  table.set_line(entry, 5);
  table.set_line(entry, 31);
  EXPECT_TRUE(table.has(entry, 5));
  EXPECT_FALSE(table.has(entry, 4));
  EXPECT_EQ(table[entry].lines, u64{1} << 5 | u64{1} << 31);
  EXPECT_EQ(table[entry].count, 2u);
  table.clear_line(entry, 5);
  EXPECT_FALSE(table.has(entry, 5));
  EXPECT_TRUE(table.has(entry, 31));
  EXPECT_EQ(table[entry].count, 1u);
}

TEST_F(FbtTableTest, PagesWithLinesAreCounted) {
  const u32 one = add(1), two = add(2);
  EXPECT_EQ(table.pages_with_lines(), 0u);
  table.set_line(one, 0);
  table.set_line(one, 1);
  table.set_line(two, 0);
  EXPECT_EQ(table.pages_with_lines(), 2u);
  table.clear_line(one, 0);
  EXPECT_EQ(table.pages_with_lines(), 2u);
  table.clear_line(one, 1);
  EXPECT_EQ(table.pages_with_lines(), 1u);
  EXPECT_EQ(pages_of(table), 2u);
}

TEST_F(FbtTableTest, ALineThatIsThereIsNotFetched) {
  const u32 entry = add(1);
  table.set_line(entry, 5);
  EXPECT_THROW(table.set_line(entry, 5), ModelError);
}

TEST_F(FbtTableTest, ALineThatIsNotThereDoesNotLeave) {
  const u32 entry = add(1);
  EXPECT_THROW(table.clear_line(entry, 5), ModelError);
  table.set_line(entry, 5);
  EXPECT_THROW(table.clear_line(entry, 6), ModelError);
}

TEST_F(FbtTableTest, APageWithLinesIsNotRemoved) {
  const u32 entry = add(1);
  table.set_line(entry, 5);
  EXPECT_THROW(table.remove(entry), ModelError);
  table.clear_line(entry, 5);
  EXPECT_NO_THROW(table.remove(entry));
}

TEST(FbtTableVectors, APageOf64LinesHasAVectorAndALargerOneACounter) {
  EXPECT_TRUE(FbtTable(4, 4, 12, 6).has_vectors());
  EXPECT_FALSE(FbtTable(4, 4, 12, 5).has_vectors());
  EXPECT_FALSE(FbtTable(4, 4, 21, 7).has_vectors());
}

TEST(FbtTableVectors, TheLastLineOf64HasItsBit) {
  FbtTable table(4, 4, 12, 6);
  const u32 entry = table.add(frame(1), page(1));
  table.set_line(entry, 63);
  EXPECT_TRUE(table.has(entry, 63));
  EXPECT_FALSE(table.has(entry, 31));
}

TEST(FbtTableCounter, LinesOfALargePageAreOnlyCounted) {
  FbtTable table(4, 4, 21, kLineShift);
  const u32 entry = table.add({u64{3} << 21}, page_key(kTenant, 21, 1));
  for (const u32 line : {0u, 64u, 16383u}) table.set_line(entry, line);
  EXPECT_EQ(table[entry].count, 3u);
  EXPECT_TRUE(table.has(entry, 77)) << "which of them are there is not known";
  EXPECT_EQ(table.by_frame({(u64{3} << 21) + 16383 * 128}), entry);
  for (const u32 line : {16383u, 64u}) table.clear_line(entry, line);
  EXPECT_THROW(table.remove(entry), ModelError);
  table.clear_line(entry, 0);
  EXPECT_THROW(table.clear_line(entry, 0), ModelError) << "none is left";
  EXPECT_NO_THROW(table.remove(entry));
}

}  // namespace
}  // namespace terrace
