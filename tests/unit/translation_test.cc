// Frames, page tables, address spaces, TLBs: the parts of translation that have no clock.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "engine/check.h"
#include "frontend/guest_memory.h"
#include "translation/address_space.h"
#include "translation/frame_allocator.h"
#include "translation/page_table.h"
#include "translation/tlb.h"

namespace terrace {
namespace {

constexpr u64 kMemory = u64{1} << 28;

TEST(FrameAllocator, NeverGivesOutAByteTwice) {
  for (const FrameOrder order : {FrameOrder::kContiguous, FrameOrder::kFirstTouch, FrameOrder::kRandom}) {
    FrameAllocator frames(order, kMemory, 7);
    std::set<u64> taken;  // in units of 4 KB
    for (u32 i = 0; i < 3'000; ++i) {
      const u64 bytes = i % 100 == 0 ? u64{2} << 20 : i % 10 == 0 ? 65536 : 4096;
      const PhysAddr frame = frames.allocate(bytes);
      ASSERT_EQ(frame.raw % bytes, 0u) << "aligned to its size";
      ASSERT_LE(frame.raw + bytes, kMemory);
      for (u64 at = 0; at < bytes; at += 4096) ASSERT_TRUE(taken.insert((frame.raw + at) / 4096).second);
    }
  }
}

TEST(FrameAllocator, RandomFramesUseTheWholeZone) {
  FrameAllocator frames(FrameOrder::kRandom, kMemory, 7);
  std::set<u64> all;
  for (u64 i = 0; i < kMemory / 2 / 4096; ++i) all.insert(frames.allocate(4096).raw);
  EXPECT_EQ(all.size(), kMemory / 2 / 4096);
  EXPECT_THROW(frames.allocate(4096), InputError) << "memory is used up";
}

TEST(FrameAllocator, TheSeedDecidesAndNothingElse) {
  FrameAllocator one(FrameOrder::kRandom, kMemory, 7), same(FrameOrder::kRandom, kMemory, 7),
      other(FrameOrder::kRandom, kMemory, 8);
  u32 different = 0;
  for (u32 i = 0; i < 100; ++i) {
    const u64 frame = one.allocate(4096).raw;
    EXPECT_EQ(frame, same.allocate(4096).raw);
    different += frame != other.allocate(4096).raw;
  }
  EXPECT_GT(different, 90u);
}

struct Geometry {
  u32 page, bits;
  EntryLayout layout;
  u32 levels;
  u64 leaf_entries;
};

class PageTable : public ::testing::TestWithParam<Geometry> {
 protected:
  static PagesConfig pages() {
    const Geometry& geometry = GetParam();
    PagesConfig pages;
    pages.bytes = geometry.page;
    pages.level_bits = geometry.bits;
    pages.entries = geometry.layout;
    pages.memory_bytes = u64{1} << 35;
    return pages;
  }
};

TEST_P(PageTable, AWalkOverItsEntriesFindsEveryFrame) {
  const Geometry geometry = GetParam();
  GuestMemory memory{PageSize(geometry.page)};
  AddressSpaces spaces(pages(), 128, 3, 2);
  memory.allocate("buffer", u64{geometry.page} * 1500);
  const auto changes = memory.take_page_changes();
  for (const TenantId tenant : {TenantId{0}, TenantId{1}}) spaces.cover(tenant, changes);
  const TableShape& shape = spaces.tables().shape();
  EXPECT_EQ(shape.leaf_level(), geometry.levels);
  EXPECT_EQ(shape.entries(shape.leaf_level()), geometry.leaf_entries);
  for (const TenantId tenant : {TenantId{0}, TenantId{1}}) {
    for (u64 page = 0; page < 1500; ++page) {
      const VirtAddr va{GuestMemory::kBase + page * geometry.page};
      PhysAddr at = spaces.root(tenant);
      for (u32 level = 1; level <= shape.leaf_level(); ++level) {
        const TableEntry entry = spaces.tables().read(at, shape.entry_of(level, va));
        ASSERT_TRUE(entry.present());
        ASSERT_EQ(entry.leaf(), level == shape.leaf_level());
        at = entry.target();
      }
      ASSERT_EQ(at, spaces.locate(tenant, va));
      ASSERT_EQ(spaces.locate(tenant, {va.raw + geometry.page - 1}).raw, at.raw + geometry.page - 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Geometries, PageTable,
                         ::testing::Values(Geometry{4096, 9, EntryLayout::kPacked, 4, 512},
                                           Geometry{4096, 9, EntryLayout::kOnePerLine, 4, 512},
                                           Geometry{4096, 5, EntryLayout::kPacked, 4, 32},
                                           Geometry{4096, 5, EntryLayout::kOnePerLine, 4, 32},
                                           Geometry{65536, 9, EntryLayout::kPacked, 4, 32},
                                           Geometry{65536, 5, EntryLayout::kOnePerLine, 4, 2},
                                           Geometry{2097152, 9, EntryLayout::kPacked, 3, 512},
                                           Geometry{2097152, 5, EntryLayout::kPacked, 3, 2}),
                         [](const auto& each) {
                           return std::to_string(each.param.page) + "_" + std::to_string(each.param.bits) +
                                  (each.param.layout == EntryLayout::kPacked ? "_packed" : "_one_per_line");
                         });

/// The walk over an address's entries: where it ends, or nothing where an entry is not there.
std::optional<PhysAddr> walk(const AddressSpaces& spaces, TenantId tenant, VirtAddr va) {
  const TableShape& shape = spaces.tables().shape();
  PhysAddr at = spaces.root(tenant, va);
  for (u32 level = 1; level <= shape.leaf_level(); ++level) {
    const TableEntry entry = spaces.tables().read(at, shape.entry_of(level, va));
    if (!entry.present()) return std::nullopt;
    at = entry.target();
  }
  return at;
}

TEST_P(PageTable, ReachesBothEndsOf48BitsAndWhatIsFreedIsGone) {
  const Geometry geometry = GetParam();
  GuestMemory memory{PageSize(geometry.page)};
  AddressSpaces spaces(pages(), 128, 3, 1);
  const TenantId tenant{0};
  const u64 bytes = u64{geometry.page} * 3;
  // The same low bits everywhere: only the upper ones tell these apart.
  std::vector<VirtAddr> pages_of_all;
  for (const u64 first : {GuestMemory::kBase, u64{1} << 39, u64{1} << 44, GuestMemory::kEnd - (u64{1} << 32)}) {
    memory.allocate_at("buffer", {first}, bytes);
    for (u64 at = first; at < first + bytes; at += geometry.page) pages_of_all.push_back({at});
  }
  EXPECT_TRUE(spaces.cover(tenant, memory.take_page_changes()).empty());
  std::set<u64> frames;
  for (const VirtAddr va : pages_of_all) {
    ASSERT_NE(spaces.locate(tenant, va), AddressSpaces::kUnmapped);
    EXPECT_EQ(walk(spaces, tenant, va), spaces.locate(tenant, va));
    frames.insert(spaces.locate(tenant, va).raw);
  }
  EXPECT_EQ(frames.size(), pages_of_all.size());

  const VirtAddr last{GuestMemory::kEnd - (u64{1} << 32)};
  const PhysAddr was = spaces.locate(tenant, last);
  memory.free(last);
  const auto freed = spaces.cover(tenant, memory.take_page_changes());
  ASSERT_EQ(freed.size(), 3u);
  EXPECT_EQ(freed[0].va, last);
  EXPECT_EQ(freed[0].frame, was);
  EXPECT_EQ(spaces.locate(tenant, last), AddressSpaces::kUnmapped);
  EXPECT_EQ(walk(spaces, tenant, last), std::nullopt);
  EXPECT_EQ(walk(spaces, tenant, pages_of_all[0]), spaces.locate(tenant, pages_of_all[0]));

  memory.allocate_at("again", last, bytes);
  EXPECT_TRUE(spaces.cover(tenant, memory.take_page_changes()).empty());
  EXPECT_EQ(walk(spaces, tenant, last), spaces.locate(tenant, last));
  EXPECT_TRUE(frames.contains(spaces.locate(tenant, last).raw)) << "a frame that was given back is used again";
}

TEST(PageTable, OneEntryPerLinePutsNeighboursOnDifferentLines) {
  PagesConfig pages;
  pages.entries = EntryLayout::kOnePerLine;
  const TableShape apart(pages, 128);
  pages.entries = EntryLayout::kPacked;
  const TableShape packed(pages, 128);
  EXPECT_EQ(apart.address({0}, 1).raw, 128u);
  EXPECT_EQ(packed.address({0}, 1).raw, 8u);
}

TEST(AddressSpaces, NoTwoTenantsShareAFrame) {
  GuestMemory memory(PageSize::k4K);
  memory.allocate("buffer", 1 << 20);
  AddressSpaces spaces({}, 128, 1, 3);
  const auto changes = memory.take_page_changes();
  std::set<u64> frames;
  for (u32 tenant = 0; tenant < 3; ++tenant) {
    spaces.cover(TenantId(static_cast<u8>(tenant)), changes);
    for (u64 at = 0; at < 1 << 20; at += 4096) {
      frames.insert(spaces.locate(TenantId(static_cast<u8>(tenant)), {GuestMemory::kBase + at}).raw);
    }
  }
  EXPECT_EQ(frames.size(), 3u * 256);
}

TEST(AddressSpaces, ASecondMappingSharesItsFramesUntilTheLastNameGoes) {
  using Kind = AddressSpaces::ChangedPage::Kind;
  constexpr TenantId kTenant{0};
  for (const FrameOrder order : {FrameOrder::kRandom, FrameOrder::kFirstTouch}) {
    GuestMemory memory{PageSize::k4K};
    PagesConfig pages;
    pages.frames = order;
    AddressSpaces spaces(pages, 128, 3, 1);
    const auto kinds = [&] {
      std::vector<Kind> all;
      for (const auto& page : spaces.cover(kTenant, memory.take_page_changes())) all.push_back(page.kind);
      return all;
    };
    const VirtAddr one = memory.allocate("one", 8192);
    const VirtAddr other = memory.map_again("other", one, Permission::kReadOnly);
    EXPECT_TRUE(kinds().empty());
    const PhysAddr frame = spaces.locate(kTenant, {one.raw + 4096});
    ASSERT_NE(frame, AddressSpaces::kUnmapped);
    EXPECT_EQ(spaces.locate(kTenant, {other.raw + 4096}), frame);
    EXPECT_TRUE(spaces.writable(kTenant, one));
    EXPECT_FALSE(spaces.writable(kTenant, {other.raw + 4096}));
    memory.free(one);
    EXPECT_EQ(kinds(), (std::vector<Kind>{Kind::kNameGone, Kind::kNameGone}));
    EXPECT_EQ(spaces.locate(kTenant, {other.raw + 4096}), frame);
    EXPECT_EQ(spaces.locate(kTenant, one), AddressSpaces::kUnmapped);
    memory.protect(other, Permission::kReadWrite);
    EXPECT_EQ(kinds(), (std::vector<Kind>{Kind::kReadWrite, Kind::kReadWrite}));
    EXPECT_TRUE(spaces.writable(kTenant, other));
    memory.free(other);
    EXPECT_EQ(kinds(), (std::vector<Kind>{Kind::kGone, Kind::kGone}));
  }
}

TEST(AddressSpaces, UnderFirstTouchThePagesGetFramesInTheOrderOfTheirTouch) {
  GuestMemory memory(PageSize::k4K);
  memory.allocate("buffer", 1 << 20);
  PagesConfig pages;
  pages.frames = FrameOrder::kFirstTouch;
  AddressSpaces spaces(pages, 128, 1, 1);
  spaces.cover(TenantId{0}, memory.take_page_changes());
  const VirtAddr late{GuestMemory::kBase}, early{GuestMemory::kBase + 0x5000};
  EXPECT_EQ(spaces.locate(TenantId{0}, late), AddressSpaces::kUnmapped);
  spaces.touch(TenantId{0}, early);
  spaces.touch(TenantId{0}, late);
  spaces.touch(TenantId{0}, early);
  EXPECT_LT(spaces.locate(TenantId{0}, early), spaces.locate(TenantId{0}, late));
}

TlbConfig tlb_of(u32 entries, u32 ways) {
  TlbConfig config;
  config.entries = entries;
  config.ways = ways;
  return config;
}
u64 key(u32 tenant, u64 page, u32 shift = 12) {
  return page_key(TenantId(static_cast<u8>(tenant)), shift, page);
}

u32 held_by(const Tlb& tlb, TenantId tenant) {
  u32 held = 0;
  tlb.each_tenant([&](TenantId holder) { held += holder == tenant; });
  return held;
}

TEST(Tlb, FindsAPageOnlyUnderItsTenantAndItsSize) {
  Tlb tlb(tlb_of(16, 0));
  tlb.fill(key(1, 5), {0x5000});
  EXPECT_GE(tlb.find(key(1, 5)), 0);
  EXPECT_LT(tlb.find(key(2, 5)), 0) << "another address space";
  EXPECT_LT(tlb.find(key(1, 5, 16)), 0) << "another page size";
}

TEST(Tlb, ReplacesTheLeastRecentlyUsed) {
  Tlb tlb(tlb_of(4, 0));
  for (u64 page = 0; page < 4; ++page) EXPECT_FALSE(tlb.fill(key(0, page), {page << 12}));
  EXPECT_EQ(tlb.use(tlb.find(key(0, 0))).raw, 0u);
  EXPECT_TRUE(tlb.fill(key(0, 9), {0x9000}));
  EXPECT_GE(tlb.find(key(0, 0)), 0);
  EXPECT_LT(tlb.find(key(0, 1)), 0);
}

TEST(Tlb, FlushesByTenantByPageAndAll) {
  Tlb tlb(tlb_of(64, 16));
  for (u64 page = 0; page < 8; ++page) {
    tlb.fill(key(0, page), {0});
    tlb.fill(key(1, page), {0});
  }
  tlb.flush_page(key(0, 3));
  EXPECT_LT(tlb.find(key(0, 3)), 0);
  EXPECT_GE(tlb.find(key(1, 3)), 0);
  tlb.flush_tenant(TenantId{1});
  EXPECT_EQ(held_by(tlb, TenantId{1}), 0u);
  EXPECT_EQ(held_by(tlb, TenantId{0}), 7u);
  tlb.flush();
  EXPECT_EQ(held_by(tlb, TenantId{0}), 0u);
}

TEST(Tlb, WithoutEntriesItKnowsNothing) {
  Tlb tlb(tlb_of(0, 16));
  EXPECT_FALSE(tlb.fill(key(0, 1), {0}));
  EXPECT_LT(tlb.find(key(0, 1)), 0);
}

}  // namespace
}  // namespace terrace
