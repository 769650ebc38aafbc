// SPDX-License-Identifier: MIT
#include "translation/page_table.h"

#include "engine/check.h"
#include "frontend/guest_memory.h"

namespace terrace {

TableShape::TableShape(const PagesConfig& pages, u32 line_bytes)
    : entry_bytes_(pages.entries == EntryLayout::kPacked ? 8 : line_bytes) {
  constexpr u32 kSmallPageShift = 12;
  for (u32 level = 1; level <= kTableLevels; ++level) {
    shift_[level] = kSmallPageShift + pages.level_bits * (kTableLevels - level);
  }
  while (leaf_ > 1 && pages.shift() >= shift_[leaf_ - 1]) --leaf_;
  shift_[leaf_] = pages.shift();
  // A tenant's addresses end where its memory does; the root decides everything above the second level.
  constexpr u64 kHighest = GuestMemory::kBase + (u64{32} << 30);
  mask_[1] = std::bit_ceil((kHighest >> shift_[1]) + 1) - 1;
  for (u32 level = 2; level <= leaf_; ++level) mask_[level] = (u64{1} << (shift_[level - 1] - shift_[level])) - 1;
}

PageTables::PageTables(const PagesConfig& pages, u32 line_bytes, FrameAllocator& frames)
    : shape_(pages, line_bytes), frames_(frames) {}

PhysAddr PageTables::make_root(u32 part) {
  return make_node(1, part);
}

PhysAddr PageTables::make_node(u32 level, u32 part) {
  const PhysAddr base = frames_.allocate(shape_.node_bytes(level), part);
  place_[base.raw] = static_cast<u32>(nodes_.size());
  nodes_.emplace_back(shape_.entries(level), 0);
  return base;
}

std::vector<u64>& PageTables::node(PhysAddr base) {
  return nodes_[place_.at(base.raw)];
}

PhysAddr PageTables::map(PhysAddr root, VirtAddr va, PhysAddr frame) {
  PhysAddr at = root;
  for (u32 level = 1; level < shape_.leaf_level(); ++level) {
    const u64 entry = shape_.entry_of(level, va);
    if (!TableEntry{node(at)[entry]}.present()) {
      const PhysAddr next = make_node(level + 1, frames_.part_of(root));
      node(at)[entry] = next.raw | TableEntry::kPresent;
    }
    at = TableEntry{node(at)[entry]}.target();
  }
  const u64 entry = shape_.entry_of(shape_.leaf_level(), va);
  node(at)[entry] = frame.raw | TableEntry::kPresent | TableEntry::kLeaf;
  return shape_.address(at, entry);
}

TableEntry PageTables::read(PhysAddr base, u64 entry) const {
  const auto place = place_.find(base.raw);
  SIM_CHECK(place != place_.end(), "a walk reads {:#x}, where no page table lies", base.raw);
  return {nodes_[place->second][entry]};
}

}  // namespace terrace
