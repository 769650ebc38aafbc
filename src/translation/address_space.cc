// SPDX-License-Identifier: MIT
#include "translation/address_space.h"

namespace terrace {

AddressSpaces::AddressSpaces(const PagesConfig& pages, u32 line_bytes, u64 seed, u32 tenants, u32 parts)
    : order_(pages.frames),
      shift_(pages.shift()),
      frames_(pages.frames, pages.memory_bytes, seed, parts),
      tables_(pages, line_bytes, frames_),
      spaces_(tenants) {
  for (u32 i = 0; i < tenants; ++i) spaces_[i].root = tables_.make_root(i % parts);
}

std::vector<AddressSpaces::ChangedPage> AddressSpaces::cover(TenantId tenant,
                                                             std::span<const GuestMemory::PageChange> changes) {
  Space& space = spaces_[index(tenant)];
  const u64 page_bytes = u64{1} << shift_;
  std::vector<ChangedPage> changed;
  for (const GuestMemory::PageChange& change : changes) {
    const u64 end = change.first.raw + change.bytes;
    const u64 near_pages = (end - GuestMemory::kBase + page_bytes - 1) >> shift_;
    if (near_pages <= GuestMemory::kNearBytes >> shift_ && near_pages > space.frames.size())
      space.frames.resize(near_pages, kNoFrame);
    for (u64 at = change.first.raw; at < end; at += page_bytes) cover_page(tenant, {at}, change, changed);
  }
  return changed;
}

void AddressSpaces::cover_page(TenantId tenant, VirtAddr va, const GuestMemory::PageChange& change,
                               std::vector<ChangedPage>& changed) {
  using Kind = GuestMemory::PageChange::Kind;
  Space& space = spaces_[index(tenant)];
  if (change.kind == Kind::kFreed) {
    space.read_only.erase(va.raw >> shift_);
    if (const PhysAddr frame = locate(tenant, va); frame != kUnmapped) changed.push_back(unmap(space, va, frame));
    return;
  }
  const bool writable = change.permission == Permission::kReadWrite;
  if (writable)
    space.read_only.erase(va.raw >> shift_);
  else
    space.read_only.insert(va.raw >> shift_);
  if (change.kind == Kind::kProtected) {
    const PhysAddr frame = locate(tenant, va);
    if (frame == kUnmapped) return;
    const PhysAddr entry = tables_.map(root_for(space, va), va, frame, writable);
    changed.push_back({va, frame, entry, writable ? ChangedPage::Kind::kReadWrite : ChangedPage::Kind::kReadOnly});
  } else if (change.same_as.raw != 0) {
    const VirtAddr of{change.same_as.raw + (va.raw - change.first.raw)};
    touch(tenant, of);
    alias(tenant, va, of);
  } else if (order_ != FrameOrder::kFirstTouch) {
    touch(tenant, va);
  }
}

void AddressSpaces::touch(TenantId tenant, VirtAddr va) {
  if (locate(tenant, va) == kUnmapped) place(tenant, va);
}

void AddressSpaces::alias(TenantId tenant, VirtAddr va, VirtAddr of) {
  const u64 page = ~((u64{1} << shift_) - 1);
  const PhysAddr frame = locate(tenant, {of.raw & page});
  SIM_CHECK(frame != kUnmapped, "tenant {} has no frame at {:#x} to give another name", index(tenant), of.raw);
  Space& space = spaces_[index(tenant)];
  frame_of(space, va) = frame.raw;
  ++names_.try_emplace(frame.raw, 1).first->second;
  tables_.map(root_for(space, va), va, frame, writable(tenant, va));
}

u64& AddressSpaces::frame_of(Space& space, VirtAddr va) {
  const u64 page = (va.raw - GuestMemory::kBase) >> shift_;
  return page < space.frames.size() ? space.frames[page] : space.far_frames[page];
}

/// The root through which the address is found; made when its stretch of addresses is first used.
PhysAddr AddressSpaces::root_for(Space& space, VirtAddr va) {
  const u64 stretch = tables_.shape().stretch(va);
  if (stretch == 0) return space.root;
  const auto found = space.far_roots.find(stretch);
  if (found != space.far_roots.end()) return found->second;
  return space.far_roots[stretch] = tables_.make_root(frames_.part_of(space.root));
}

void AddressSpaces::place(TenantId tenant, VirtAddr va) {
  Space& space = spaces_[index(tenant)];
  u64& frame = frame_of(space, va);
  frame = frames_.allocate(u64{1} << shift_, frames_.part_of(space.root)).raw;
  tables_.map(root_for(space, va), va, {frame}, writable(tenant, va));
}

AddressSpaces::ChangedPage AddressSpaces::unmap(Space& space, VirtAddr va, PhysAddr frame) {
  const u64 page = (va.raw - GuestMemory::kBase) >> shift_;
  if (page < space.frames.size())
    space.frames[page] = kNoFrame;
  else
    space.far_frames.erase(page);
  ChangedPage changed{va, frame, tables_.unmap(root_for(space, va), va), ChangedPage::Kind::kNameGone};
  if (const auto names = names_.find(frame.raw); names != names_.end()) {
    if (--names->second == 1) names_.erase(names);
    return changed;
  }
  frames_.give_back(frame, u64{1} << shift_);
  changed.kind = ChangedPage::Kind::kGone;
  return changed;
}

}  // namespace terrace
