// A tenant's memory: near and far allocations, and what is freed.
// SPDX-License-Identifier: MIT
#include "frontend/guest_memory.h"

#include <gmock/gmock.h>
#include <sys/mman.h>

#include <algorithm>

#include "engine/archive.h"
#include "frontend/inst_stream.h"
#include "unit/ptx_harness.h"

namespace terrace {
namespace {

using ptx::refusal;
using ::testing::HasSubstr;

constexpr u64 kBase = GuestMemory::kBase, kEnd = GuestMemory::kEnd;

TEST(GuestMemory, HoldsBuffersAtBothEndsOf48Bits) {
  GuestMemory memory(PageSize::k4K);
  const Buffer<u32> low(memory, "low", {kBase}, 10), high(memory, "high", {kEnd - 4096}, 1024);
  low.set(memory, 9, 7);
  high.set(memory, 1023, 8);
  EXPECT_EQ(low.get(memory, 9), 7u);
  EXPECT_EQ(high.get(memory, 1023), 8u);
  EXPECT_EQ(high.get(memory, 0), 0u) << "zero at first";
  EXPECT_TRUE(memory.contains({kEnd - 16}, 16));
  EXPECT_FALSE(memory.contains({kEnd}, 4));
  EXPECT_FALSE(memory.contains({kEnd - 4096 - 4}, 4));
  EXPECT_TRUE(memory.contains({kBase + 36}, 4));
  EXPECT_FALSE(memory.contains({kBase + 40}, 4));
  EXPECT_EQ(memory.nearest({kEnd - 1})->name, "high");
  EXPECT_EQ(memory.nearest({kEnd - 4097})->name, "low");
  EXPECT_EQ(memory.footprint_bytes(), 40u + 4096);
}

/// How many pages of these bytes the host holds.
u64 host_pages(const GuestMemory& memory, VirtAddr first, u64 bytes) {
  std::vector<unsigned char> held((bytes + 4095) / 4096);
  EXPECT_EQ(mincore(const_cast<u8*>(memory.at(first)), bytes, held.data()), 0);
  return static_cast<u64>(std::ranges::count_if(held, [](unsigned char page) { return (page & 1) != 0; }));
}

TEST(GuestMemory, ZerosCostNothingWhereNobodyWroteBefore) {
  constexpr u64 kBytes = u64{1} << 30, kPiece = 4 << 20;
  GuestMemory memory(PageSize::k4K);
  const VirtAddr first = memory.allocate("x", kBytes);
  memory.write_zeros(first, kBytes);
  EXPECT_EQ(host_pages(memory, first, kBytes), 0u);
  const VirtAddr middle{first.raw + kBytes / 2 + 12};
  memory.write(middle, kPiece)[kPiece - 1] = 9;
  memory.write(middle, 1)[0] = 8;
  const u64 touched = host_pages(memory, first, kBytes);
  EXPECT_GE(touched, 2u);
  // All but its last byte: that one stays.
  memory.write_zeros({first.raw + 1}, middle.raw + kPiece - 1 - (first.raw + 1));
  EXPECT_EQ(memory.read(middle, 1)[0], 0);
  EXPECT_EQ(memory.read(middle, kPiece)[kPiece - 1], 9);
  EXPECT_EQ(host_pages(memory, first, kBytes), touched);
  EXPECT_EQ(memory.host_write_count(), 4u) << "caches forget zeros that were written, too";
}

TEST(GuestMemory, ZerosReachBytesThatAreMappedTwice) {
  constexpr u64 kBytes = 1 << 20;
  GuestMemory memory(PageSize::k4K);
  const VirtAddr first = memory.allocate("x", kBytes);
  const VirtAddr again = memory.map_again("y", first, Permission::kReadWrite);
  memory.write(first, kBytes)[kBytes - 1] = 7;
  memory.write(first, kBytes)[5] = 7;
  memory.write_zeros({again.raw + 4096}, kBytes - 4096);
  EXPECT_EQ(memory.read(first, kBytes)[kBytes - 1], 0);
  EXPECT_EQ(memory.read(first, kBytes)[5], 7);
}

TEST(GuestMemory, AFarBufferEndsWhereItsBytesDo) {
  GuestMemory memory(PageSize::k64K);
  const VirtAddr first = memory.allocate_at("far", {u64{1} << 40}, 100);
  EXPECT_TRUE(memory.contains({first.raw + 96}, 4));
  EXPECT_FALSE(memory.contains({first.raw + 96}, 8));
  EXPECT_FALSE(memory.contains({first.raw + 104}, 4));
}

TEST(GuestMemory, AFarBufferThatMayOnlyBeReadIsNotWritable) {
  GuestMemory memory(PageSize::k4K);
  const VirtAddr first = memory.allocate_at("far", {u64{1} << 40}, 100, Permission::kReadOnly);
  EXPECT_TRUE(memory.contains(first, 4));
  EXPECT_FALSE(memory.writable(first, 4));
}

TEST(GuestMemory, StoresThatRunFromOneFarBufferIntoTheNextReachBoth) {
  GuestMemory memory(PageSize::k4K);
  const u64 middle = u64{1} << 40;
  const Buffer<u32> second(memory, "second", {middle}, 1024), first(memory, "first", {middle - 4096}, 1024);
  StoreLog stores;
  for (u64 at = middle - 8; at < middle + 8; at += 4) {
    const u32 value = static_cast<u32>(at - middle + 100);
    stores.push(memory, {at}, &value, 4);
  }
  stores.commit();
  EXPECT_EQ(first.get(memory, 1022), 92u);
  EXPECT_EQ(first.get(memory, 1023), 96u);
  EXPECT_EQ(second.get(memory, 0), 100u);
  EXPECT_EQ(second.get(memory, 1), 104u);
}

TEST(GuestMemory, AnAddressThatIsTakenOrImpossibleIsRefused) {
  GuestMemory memory(PageSize::k4K);
  memory.allocate_at("there", {u64{1} << 40}, 5000);
  const auto sentence = [&](u64 first, u64 bytes) {
    return refusal([&] { memory.allocate_at("new", {first}, bytes); });
  };
  const u64 taken = u64{1} << 40;
  EXPECT_THAT(sentence(taken + 4096, 1), HasSubstr("overlaps \"there\", 5000 bytes from 0x10000000000"));
  EXPECT_THAT(sentence(taken - 4096, 4097), HasSubstr("overlaps \"there\""));
  EXPECT_EQ(sentence(taken + 8192, 1), "") << "the next page is free";
  EXPECT_EQ(sentence(taken - 4096, 4096), "") << "and the one before";
  EXPECT_THAT(sentence(taken + 100, 1), HasSubstr("not a multiple of the page size, 4096"));
  EXPECT_THAT(sentence(kBase - 4096, 1), HasSubstr("addresses are 0x100000000 to 0xffffffffffff"));
  EXPECT_THAT(sentence(kEnd - 4096, 4097), HasSubstr("addresses are"));
  EXPECT_THAT(sentence(kEnd, 1), HasSubstr("addresses are"));
  EXPECT_THAT(sentence(kBase + GuestMemory::kNearBytes - 4096, 8192), HasSubstr("crosses 0x900000000"));
}

TEST(GuestMemory, AllocationsGoAroundThoseAtGivenAddresses) {
  GuestMemory memory(PageSize::k4K);
  memory.allocate_at("given", {kBase + 2 * 4096}, 4096);
  EXPECT_EQ(memory.allocate("two pages", 8192).raw, kBase);
  EXPECT_EQ(memory.allocate("behind", 1).raw, kBase + 3 * 4096);
}

TEST(GuestMemory, WhatIsFreedIsNoMoreAndItsAddressesAreUsedAgain) {
  for (const u64 first : {kBase, u64{1} << 45}) {
    GuestMemory memory(PageSize::k4K);
    const Buffer<u32> buffer(memory, "buffer", {first}, 2048);
    memory.allocate_at("other", {first + 8192}, 4);
    buffer.set(memory, 1, 5);
    memory.free(buffer.address());
    EXPECT_FALSE(memory.contains({first}, 4));
    EXPECT_FALSE(memory.writable({first + 4096}, 4));
    EXPECT_TRUE(memory.contains({first + 8192}, 4));
    ASSERT_NE(memory.freed({first + 8191}), nullptr);
    EXPECT_EQ(memory.freed({first + 8191})->name, "buffer");
    EXPECT_EQ(memory.freed({first + 8192}), nullptr);
    EXPECT_TRUE(memory.take_host_writes().empty()) << "there are no lines to forget where nothing is";
    EXPECT_EQ(memory.footprint_bytes(), 4u);

    const Buffer<u32> again(memory, "again", {first}, 1024);
    EXPECT_EQ(again.get(memory, 1), 0u) << "zero-filled";
    EXPECT_EQ(memory.freed({first}), nullptr);
  }
}

TEST(GuestMemory, FreedNeighboursBecomeOnePlace) {
  for (const auto& order : std::vector<std::vector<u32>>{{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}}) {
    GuestMemory memory(PageSize::k4K);
    std::vector<VirtAddr> pages;
    for (u32 i = 0; i < 3; ++i) pages.push_back(memory.allocate("page", 4096));
    memory.allocate("last", 1);
    for (const u32 i : order) memory.free(pages[i]);
    EXPECT_EQ(memory.allocate("three pages", 3 * 4096).raw, kBase);
    EXPECT_EQ(memory.allocate("next", 1).raw, kBase + 4 * 4096);
  }
}

TEST(GuestMemory, WhatIsFreedAtTheEndLeavesRoomForMore) {
  GuestMemory memory(PageSize::k4K, 3 * 4096);
  memory.allocate("first", 4096);
  memory.free(memory.allocate("second", 4096));
  EXPECT_EQ(memory.allocate("two pages", 8192).raw, kBase + 4096);
}

TEST(GuestMemory, ASecondMappingShowsTheSameBytesAtOtherAddresses) {
  for (const u64 first : {kBase, u64{1} << 45}) {
    GuestMemory memory(PageSize::k4K);
    const Buffer<u32> one(memory, "one", {first}, 2048);
    one.set(memory, 1500, 7);
    const Buffer<u32> other = one.map_again(memory, "other", Permission::kReadOnly);
    EXPECT_NE(other.address().raw, one.address().raw);
    EXPECT_EQ(other.get(memory, 1500), 7u) << "what was there before";
    one.set(memory, 3, 8);
    EXPECT_EQ(other.get(memory, 3), 8u);
    *reinterpret_cast<u32*>(memory.at({other.address().raw + 16})) = 9;  // as a kernel's store
    EXPECT_EQ(one.get(memory, 4), 9u);
    EXPECT_EQ(memory.footprint_bytes(), 8192u) << "the bytes count once";
    EXPECT_TRUE(memory.writable(one.address(), 4));
    EXPECT_FALSE(memory.writable(other.address(), 4));
    EXPECT_TRUE(memory.contains({other.address().raw + 8188}, 4));
    EXPECT_FALSE(memory.contains({other.address().raw + 8192}, 4));
  }
}

TEST(GuestMemory, BytesLiveAsLongAsOneOfTheirMappings) {
  GuestMemory memory(PageSize::k4K);
  const Buffer<u32> one(memory, "one", 1024);
  one.set(memory, 5, 6);
  const Buffer<u32> two = one.map_again(memory, "two", Permission::kReadWrite);
  const Buffer<u32> three = two.map_again(memory, "three", Permission::kReadWrite);
  one.free(memory);
  EXPECT_FALSE(memory.contains(one.address(), 4));
  EXPECT_EQ(three.get(memory, 5), 6u);
  EXPECT_EQ(memory.footprint_bytes(), 4096u);
  const Buffer<u32> new_one(memory, "new", 1024);
  EXPECT_EQ(new_one.address().raw, one.address().raw);
  EXPECT_EQ(new_one.get(memory, 5), 0u) << "zero-filled";
  two.free(memory);
  three.free(memory);
  const Buffer<u32> new_two(memory, "new", 1024);
  EXPECT_EQ(new_two.get(memory, 5), 0u);
}

TEST(GuestMemory, AHostWriteIsRememberedUnderEveryName) {
  GuestMemory memory(PageSize::k4K);
  const Buffer<u32> one(memory, "one", 1024);
  const Buffer<u32> other = one.map_again(memory, "other", Permission::kReadOnly);
  memory.take_host_writes();
  other.set(memory, 100, 1);
  std::vector<u64> firsts;
  for (const auto& range : memory.take_host_writes()) firsts.push_back(range.first.raw);
  EXPECT_THAT(firsts, testing::UnorderedElementsAre(one.address().raw + 400, other.address().raw + 400));
}

TEST(GuestMemory, ProtectionChangesWhatKernelsMayDoUnderThatName) {
  for (const u64 first : {kBase, u64{1} << 45}) {
    GuestMemory memory(PageSize::k4K);
    const Buffer<u32> buffer(memory, "buffer", {first}, 2000);
    memory.take_page_changes();
    buffer.protect(memory, Permission::kReadOnly);
    EXPECT_FALSE(memory.writable({first + 4096}, 4));
    EXPECT_TRUE(memory.contains({first + 4096}, 4));
    buffer.protect(memory, Permission::kReadOnly);
    EXPECT_EQ(memory.take_page_changes().size(), 1u) << "once is enough";
    buffer.protect(memory, Permission::kReadWrite);
    EXPECT_TRUE(memory.writable({first + 4096}, 4));
    EXPECT_FALSE(memory.writable({first + 8000}, 4)) << "behind its end";
  }
}

TEST(GuestMemory, MappingOrProtectingWhatIsNoBufferIsRefused) {
  GuestMemory memory(PageSize::k4K);
  const VirtAddr first = memory.allocate("buffer", 8192);
  EXPECT_THAT(refusal([&] { memory.map_again("x", {first.raw + 4096}, Permission::kReadOnly); }),
              HasSubstr("mapped a second time, where no buffer begins"));
  memory.free(first);
  EXPECT_THAT(refusal([&] { memory.protect(first, Permission::kReadOnly); }),
              HasSubstr("protected: it lies in \"buffer\", which has been freed"));
}

TEST(GuestMemory, FreeingWhatIsNoBufferIsRefused) {
  GuestMemory memory(PageSize::k4K);
  const VirtAddr first = memory.allocate("buffer", 8192);
  EXPECT_THAT(refusal([&] { memory.free({first.raw + 4096}); }), HasSubstr("where no buffer begins"));
  memory.free(first);
  EXPECT_THAT(refusal([&] { memory.free(first); }), HasSubstr("freed twice: it lies in \"buffer\""));
}

std::vector<std::byte> saved(GuestMemory& memory) {
  SavedState state;
  memory.archive(state);
  return state.take();
}
void restore(GuestMemory& memory, const std::vector<std::byte>& bytes) {
  RestoredState state(bytes);
  memory.archive(state);
}

/// Near and far buffers, holes between them, second mappings of both kinds, protected ones.
void fill(GuestMemory& memory) {
  const u64 page = static_cast<u64>(memory.page_size());
  const Buffer<u32> first(memory, "first", 5000), gone(memory, "gone", 3 * page / 4), kept(memory, "kept", 10);
  const Buffer<u32> shared(memory, "shared", 2 * page / 4 + 1);
  shared.map_again(memory, "again", Permission::kReadOnly);
  const Buffer<u32> far(memory, "far", {u64{1} << 40}, 100000), table(memory, "table", 7);
  far.map_again(memory, "near_far", Permission::kReadWrite);
  kept.map_again(memory, "whole", Permission::kReadWrite);
  first.set(memory, 4999, 1);
  kept.set(memory, 3, 2);
  shared.set(memory, 2 * page / 4, 3);
  far.set(memory, 99999, 4);
  table.set(memory, 6, 5);
  kept.free(memory);
  gone.free(memory);
  table.protect(memory, Permission::kReadOnly);
  memory.define_symbol("table", table.address(), 28);
}

TEST(SavedMemory, IsTheSameInEveryRespectWhateverWasThereBefore) {
  for (const PageSize page : {PageSize::k4K, PageSize::k64K}) {
    GuestMemory memory(page), other(page);
    fill(memory);
    memory.take_page_changes();
    memory.protect(memory.symbol("table").first, Permission::kReadWrite);
    const Buffer<u64> junk(other, "junk", 100000), far_junk(other, "far junk", {u64{1} << 40}, 1000);
    for (const Buffer<u64>& each : {junk, far_junk, junk.map_again(other, "junk again", Permission::kReadWrite)})
      std::ranges::fill(each.write(other), ~u64{0});
    restore(other, saved(memory));
    EXPECT_EQ(other.digest(), memory.digest());
    EXPECT_EQ(other.footprint_bytes(), memory.footprint_bytes());
    EXPECT_EQ(other.host_write_count(), memory.host_write_count());
    EXPECT_EQ(other.symbol("table").first, memory.symbol("table").first);
    const VirtAddr gone{kBase + (20000 + static_cast<u64>(page) - 1) / static_cast<u64>(page) * static_cast<u64>(page)};
    ASSERT_NE(memory.freed(gone), nullptr);
    ASSERT_NE(other.freed(gone), nullptr);
    EXPECT_EQ(other.freed(gone)->name, memory.freed(gone)->name);
    ASSERT_EQ(other.allocations().size(), memory.allocations().size());
    for (u64 i = 0; i < memory.allocations().size(); ++i) {
      const GuestMemory::Allocation &one = memory.allocations()[i], &two = other.allocations()[i];
      EXPECT_EQ(two.name, one.name);
      EXPECT_EQ(two.first, one.first);
      EXPECT_EQ(two.bytes, one.bytes);
      const u64 last = one.first.raw + (one.bytes - 1) / 4 * 4;
      EXPECT_TRUE(other.contains({last}, 4));
      EXPECT_EQ(other.writable({last}, 4), memory.writable({last}, 4)) << one.name;
      EXPECT_EQ(std::ranges::count(other.read(one.first, one.bytes), u8{0}),
                std::ranges::count(memory.read(one.first, one.bytes), u8{0}));
      if (one.name != "again" && one.name != "shared") continue;
      other.write(one.first, 1)[0] = 9;
      memory.write(one.first, 1)[0] = 9;
    }
    EXPECT_EQ(other.digest(), memory.digest()) << "mappings show the same bytes";
    // From here on both do the same.
    for (GuestMemory* each : {&memory, &other}) {
      each->allocate("small", 100);
      each->allocate("larger", 200'000);
      each->free({u64{1} << 40});
    }
    EXPECT_TRUE(saved(other) == saved(memory));
    EXPECT_EQ(other.take_page_changes().size(), memory.take_page_changes().size());
    EXPECT_EQ(other.take_host_writes().size(), memory.take_host_writes().size());
  }
}

TEST(SavedMemory, ZerosTakeNoRoomAndAreNotTouched) {
  constexpr u64 kBytes = u64{4} << 30;
  GuestMemory memory(PageSize::k4K), other(PageSize::k4K);
  const Buffer<u64> buffer(memory, "buffer", kBytes / 8);
  buffer.set(memory, 12345678, 7);
  buffer.set(memory, kBytes / 8 - 1, 8);
  const std::vector<std::byte> bytes = saved(memory);
  EXPECT_LT(bytes.size(), 200'000u) << "two pieces of 64 KB, and a bit for each";
  restore(other, bytes);
  std::vector<u8> pages(kBytes / 4096);
  ASSERT_EQ(mincore(other.at(buffer.address()), kBytes, pages.data()), 0);
  EXPECT_LT(std::ranges::count_if(pages, [](u8 page) { return (page & 1) != 0; }), 1024) << "4 MB, of huge pages too";
  EXPECT_EQ(buffer.get(other, 12345678), 7u);
  EXPECT_EQ(buffer.get(other, kBytes / 8 - 1), 8u);
  EXPECT_EQ(buffer.get(other, 0), 0u);
}

TEST(SavedMemory, IsRefusedWhereItsPagesHaveAnotherSize) {
  GuestMemory memory(PageSize::k4K), other(PageSize::k64K);
  const std::vector<std::byte> bytes = saved(memory);
  EXPECT_THROW(restore(other, bytes), ModelError);
}

}  // namespace
}  // namespace terrace
