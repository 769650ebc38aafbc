// Every tenant's address space: which page lies in which frame. The page tables say it to walkers; the flat array here
// says it to whoever must know without walking: the check of every walk, and machines on which translation is ideal.
//
// Written between cycles only: when a tenant allocates, or (first touch) when a cycle ends in which a page was touched
// for the first time.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "engine/check.h"
#include "engine/types.h"
#include "frontend/guest_memory.h"
#include "translation/config.h"
#include "translation/frame_allocator.h"
#include "translation/page_table.h"

namespace terrace {

class AddressSpaces {
 public:
  static constexpr PhysAddr kUnmapped{~u64{0}};

  /// `parts` of memory: one for all tenants, or one for each.
  AddressSpaces(const PagesConfig& pages, u32 line_bytes, u64 seed, u32 tenants, u32 parts = 1);

  /// Maps what the tenant has allocated since the last call; under first touch, only makes it known.
  void cover(TenantId tenant, const GuestMemory& memory);
  /// Gives the page a frame, if it has none yet.
  void touch(TenantId tenant, VirtAddr va);

  /// Moves a page that has a frame to another one; the old one is not used again. Returns where the entry lies that was
  /// changed: whoever holds a copy of it, or the translation, must forget it.
  PhysAddr remap(TenantId tenant, VirtAddr va);

  u32 page_shift() const { return shift_; }
  /// Where an address lies, or kUnmapped.
  PhysAddr locate(TenantId tenant, VirtAddr va) const {
    const u64 offset = va.raw - GuestMemory::kBase;
    const std::vector<u64>& frames = spaces_[index(tenant)].frames;
    SIM_DCHECK(offset >> shift_ < frames.size(), "tenant {} has nothing at {:#x}", index(tenant), va.raw);
    const u64 frame = frames[offset >> shift_];
    return frame == kNoFrame ? kUnmapped : PhysAddr{frame + (offset & ((u64{1} << shift_) - 1))};
  }
  PhysAddr root(TenantId tenant) const { return spaces_[index(tenant)].root; }
  const PageTables& tables() const { return tables_; }

 private:
  static constexpr u64 kNoFrame = ~u64{0};
  struct Space {
    PhysAddr root;
    std::vector<u64> frames;  // by page, from GuestMemory::kBase
  };

  /// Gives the page a new frame; returns where the entry lies that says so.
  PhysAddr place(TenantId tenant, VirtAddr va);

  FrameOrder order_;
  u32 shift_;
  FrameAllocator frames_;
  PageTables tables_;
  std::vector<Space> spaces_;
};

}  // namespace terrace
