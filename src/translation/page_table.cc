// SPDX-License-Identifier: MIT
#include "translation/page_table.h"

#include <algorithm>

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
  // The root reaches at least to the end of near memory, and as far as its frame has entries.
  constexpr u64 kNearEnd = GuestMemory::kBase + GuestMemory::kNearBytes;
  const u64 entries = std::bit_ceil((kNearEnd >> shift_[1]) + 1);
  const u64 in_frame = FrameAllocator::frame_bytes(entries * entry_bytes_) / entry_bytes_;
  mask_[1] = std::max(entries, std::min(in_frame, GuestMemory::kEnd >> shift_[1])) - 1;
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

PhysAddr PageTables::leaf_node(PhysAddr root, VirtAddr va) {
  PhysAddr at = root;
  for (u32 level = 1; level < shape_.leaf_level(); ++level) {
    const u64 entry = shape_.entry_of(level, va);
    if (!TableEntry{node(at)[entry]}.present()) {
      const PhysAddr next = make_node(level + 1, frames_.part_of(root));
      node(at)[entry] = next.raw | TableEntry::kPresent;
    }
    at = TableEntry{node(at)[entry]}.target();
  }
  return at;
}

PhysAddr PageTables::map(PhysAddr root, VirtAddr va, PhysAddr frame, bool writable) {
  const PhysAddr at = leaf_node(root, va);
  const u64 entry = shape_.entry_of(shape_.leaf_level(), va);
  node(at)[entry] = frame.raw | TableEntry::kPresent | TableEntry::kLeaf | (writable ? TableEntry::kWritable : 0);
  return shape_.address(at, entry);
}

PhysAddr PageTables::unmap(PhysAddr root, VirtAddr va) {
  const PhysAddr at = leaf_node(root, va);
  const u64 entry = shape_.entry_of(shape_.leaf_level(), va);
  node(at)[entry] = 0;
  return shape_.address(at, entry);
}

TableEntry PageTables::read(PhysAddr base, u64 entry) const {
  const auto place = place_.find(base.raw);
  SIM_CHECK(place != place_.end(), "a walk reads {:#x}, where no page table lies", base.raw);
  return {nodes_[place->second][entry]};
}

}  // namespace terrace
