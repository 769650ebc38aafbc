// Every tenant's address space: which page lies in which frame. The page tables say it to walkers; here it is said to
// whoever must know without walking: the check of every walk, and machines on which translation is ideal. Near pages
// (guest_memory.h) stand in a flat array, far ones in a map.
//
// Written between cycles only: when a tenant allocates or frees, or (first touch) when a cycle ends in which a page was touched
// for the first time.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/archive.h"
#include "engine/check.h"
#include "engine/types.h"
#include "frontend/guest_memory.h"
#include "translation/config.h"
#include "translation/frame_allocator.h"
#include "translation/page_table.h"
#include "wire/translate.h"

namespace terrace {

class AddressSpaces {
 public:
  static constexpr PhysAddr kUnmapped{~u64{0}};

  /// `parts` of memory: one for all tenants, or one for each.
  AddressSpaces(const PagesConfig& pages, u32 line_bytes, u64 seed, u32 tenants, u32 parts = 1);

  /// A page whose entry in the page table was changed.
  struct ChangedPage {
    enum class Kind : u8 {
      kGone,      // it lies nowhere any more, and its frame may be given to any page from now on
      kNameGone,  // likewise, but its frame has other names
      kReadOnly,  // it may not be written from now on,
      kReadWrite  // or it may
    };
    VirtAddr va;
    PhysAddr frame;
    PhysAddr entry;
    Kind kind = Kind::kGone;
  };
  /// Maps what the tenant has allocated; under first touch, only makes it known, except for second mappings. Pages that it has
  /// freed lose their frames. Whoever holds lines of pages that changed, copies of their entries or their translations
  /// must forget those.
  std::vector<ChangedPage> cover(TenantId tenant, std::span<const GuestMemory::PageChange> changes);
  /// Gives the page a frame, if it has none yet.
  void touch(TenantId tenant, VirtAddr va);

  /// Whether kernels may write to the page.
  bool writable(TenantId tenant, VirtAddr va) const {
    return !spaces_[index(tenant)].read_only.contains(va.raw >> shift_);
  }
  u32 page_shift() const { return shift_; }
  /// What TLBs call the page of an address.
  u64 key_of(TenantId tenant, VirtAddr va) const { return page_key(tenant, shift_, va.raw >> shift_); }
  /// Pages from GuestMemory::kBase that may have frames.
  u64 near_pages(TenantId tenant) const { return spaces_[index(tenant)].frames.size(); }
  /// Where an address lies, or kUnmapped.
  PhysAddr locate(TenantId tenant, VirtAddr va) const {
    const u64 page = (va.raw - GuestMemory::kBase) >> shift_;
    const Space& space = spaces_[index(tenant)];
    const u64 frame = page < space.frames.size() ? space.frames[page] : far_frame(space, page);
    return frame == kNoFrame ? kUnmapped : PhysAddr{frame + (va.raw & ((u64{1} << shift_) - 1))};
  }
  /// Where a walk for this address begins.
  PhysAddr root(TenantId tenant, VirtAddr va = {}) const {
    const Space& space = spaces_[index(tenant)];
    const u64 stretch = tables_.shape().stretch(va);
    return stretch == 0 ? space.root : space.far_roots.at(stretch);
  }
  const PageTables& tables() const { return tables_; }

  void archive(Archive& a) {
    a.expect(spaces_.size(), "the number of address spaces");
    a(frames_, tables_, spaces_, names_);
  }

 private:
  static constexpr u64 kNoFrame = ~u64{0};
  struct Space {
    PhysAddr root;
    std::vector<u64> frames;  // of near pages, from GuestMemory::kBase
    // Never iterated.
    std::unordered_map<u64, u64> far_frames;      // by page, counted from GuestMemory::kBase
    std::unordered_map<u64, PhysAddr> far_roots;  // by stretch
    std::unordered_set<u64> read_only;            // pages
  };

  static u64 far_frame(const Space& space, u64 page) {
    const auto found = space.far_frames.find(page);
    return found == space.far_frames.end() ? kNoFrame : found->second;
  }
  u64& frame_of(Space& space, VirtAddr va);
  PhysAddr root_for(Space& space, VirtAddr va);
  /// Gives the page a new frame.
  void place(TenantId tenant, VirtAddr va);
  /// Makes a page lie where another one of the tenant lies: a synonym. The frame is given back when the last of them is freed.
  void alias(TenantId tenant, VirtAddr va, VirtAddr of);
  /// Takes the frame away; returns where the entry lies that says so.
  ChangedPage unmap(Space& space, VirtAddr va, PhysAddr frame);
  void cover_page(TenantId tenant, VirtAddr va, const GuestMemory::PageChange& change,
                  std::vector<ChangedPage>& changed);

  FrameOrder order_;
  u32 shift_;
  FrameAllocator frames_;
  PageTables tables_;
  std::vector<Space> spaces_;
  std::unordered_map<u64, u32> names_;  // of frames that have several, their number; never iterated
};

}  // namespace terrace
