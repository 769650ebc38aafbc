// Page tables as they lie in simulated memory: radix trees of nodes in frames of their own, whose entries hold real
// physical addresses. A walk reads them one after the other, as hardware does.
//
// Level 1 is the root. Below it every level decides `level_bits` bits of the address, down to 4 KB; a larger page ends
// the walk at the level whose bits hold its size, with fewer entries in that node (64 KB: level 4, 32 entries; 2 MB:
// level 3). The root decides the bits that are left, as many of 48 as its frame has entries for; where there are more, a
// table has a root for each stretch of addresses that is used, as if a register each pointed to them.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <unordered_map>
#include <vector>

#include "engine/archive.h"
#include "engine/types.h"
#include "translation/config.h"
#include "translation/frame_allocator.h"

namespace terrace {

inline constexpr u32 kTableLevels = 4;

/// How an address is taken apart.
class TableShape {
 public:
  TableShape(const PagesConfig& pages, u32 line_bytes);

  u32 leaf_level() const { return leaf_; }
  u32 page_shift() const { return shift_[leaf_]; }
  /// Which entry of its level's node an address uses.
  u64 entry_of(u32 level, VirtAddr va) const { return va.raw >> shift_[level] & mask_[level]; }
  /// All the bits that the levels down to this one decide: names the entry in the whole table.
  u64 prefix(u32 level, VirtAddr va) const { return va.raw >> shift_[level]; }
  PhysAddr address(PhysAddr node, u64 entry) const { return {node.raw + entry * entry_bytes_}; }
  /// Addresses with the same number share a root.
  u64 stretch(VirtAddr va) const { return va.raw >> shift_[1] >> std::countr_one(mask_[1]); }
  u64 entries(u32 level) const { return mask_[level] + 1; }
  u64 node_bytes(u32 level) const { return entries(level) * entry_bytes_; }

 private:
  u32 leaf_ = kTableLevels;
  u32 entry_bytes_ = 8;
  u32 shift_[kTableLevels + 1] = {};
  u64 mask_[kTableLevels + 1] = {};
};

/// One entry: where the next node, or the page, begins; which of the two it is; and whether a page may be written. (The
/// frontend refuses a forbidden store when the instruction executes: no walk meets one.)
struct TableEntry {
  static constexpr u64 kPresent = 1, kWritable = 1 << 1, kLeaf = 1 << 7, kFlags = 0xfff;  // where x86-64 has them
  u64 raw = 0;
  bool present() const { return raw & kPresent; }
  bool leaf() const { return raw & kLeaf; }
  bool writable() const { return raw & kWritable; }
  PhysAddr target() const { return {raw & ~kFlags}; }
};

class PageTables {
 public:
  PageTables(const PagesConfig& pages, u32 line_bytes, FrameAllocator& frames);

  const TableShape& shape() const { return shape_; }
  /// A new, empty table; returns its root. All its nodes lie in this part of memory.
  PhysAddr make_root(u32 part = 0);
  /// Says where a page lies, or from now on lies; returns where the entry that says so is.
  PhysAddr map(PhysAddr root, VirtAddr va, PhysAddr frame, bool writable = true);
  /// The page lies nowhere any more; returns where its entry is. Nodes stay.
  PhysAddr unmap(PhysAddr root, VirtAddr va);
  /// What lies in memory there. Reading where no node lies is a broken walk.
  TableEntry read(PhysAddr node, u64 entry) const;

  void archive(Archive& a) { a(place_, nodes_); }

 private:
  PhysAddr make_node(u32 level, u32 part);
  /// Finds the node that holds the page's entry.
  PhysAddr leaf_node(PhysAddr root, VirtAddr va);
  std::vector<u64>& node(PhysAddr base);

  TableShape shape_;
  FrameAllocator& frames_;
  std::unordered_map<u64, u32> place_;  // by address; never iterated
  std::vector<std::vector<u64>> nodes_;
};

}  // namespace terrace
