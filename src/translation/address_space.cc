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

std::vector<AddressSpaces::FreedPage> AddressSpaces::cover(TenantId tenant,
                                                           std::span<const GuestMemory::PageChange> changes) {
  Space& space = spaces_[index(tenant)];
  const u64 page_bytes = u64{1} << shift_;
  std::vector<FreedPage> freed;
  for (const GuestMemory::PageChange& change : changes) {
    const u64 end = change.first.raw + change.bytes;
    const u64 near_pages = (end - GuestMemory::kBase + page_bytes - 1) >> shift_;
    if (near_pages <= GuestMemory::kNearBytes >> shift_ && near_pages > space.frames.size())
      space.frames.resize(near_pages, kNoFrame);
    if (!change.freed && order_ == FrameOrder::kFirstTouch) continue;
    for (u64 at = change.first.raw; at < end; at += page_bytes) {
      if (!change.freed)
        touch(tenant, {at});
      else if (const PhysAddr frame = locate(tenant, {at}); frame != kUnmapped)
        freed.push_back({{at}, frame, unmap(space, {at}, frame)});
    }
  }
  return freed;
}

void AddressSpaces::touch(TenantId tenant, VirtAddr va) {
  if (locate(tenant, va) == kUnmapped) place(tenant, va);
}

PhysAddr AddressSpaces::remap(TenantId tenant, VirtAddr va) {
  SIM_CHECK(locate(tenant, va) != kUnmapped, "tenant {} has no frame at {:#x} to move", index(tenant), va.raw);
  return place(tenant, va);
}

PhysAddr AddressSpaces::alias(TenantId tenant, VirtAddr va, VirtAddr of) {
  const u64 page = ~((u64{1} << shift_) - 1);
  const PhysAddr frame = locate(tenant, {of.raw & page});
  SIM_CHECK(frame != kUnmapped, "tenant {} has no frame at {:#x} to give another name", index(tenant), of.raw);
  Space& space = spaces_[index(tenant)];
  frame_of(space, va) = frame.raw;
  return tables_.map(root_for(space, va), va, frame);
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

PhysAddr AddressSpaces::place(TenantId tenant, VirtAddr va) {
  Space& space = spaces_[index(tenant)];
  u64& frame = frame_of(space, va);
  frame = frames_.allocate(u64{1} << shift_, frames_.part_of(space.root)).raw;
  return tables_.map(root_for(space, va), va, {frame});
}

PhysAddr AddressSpaces::unmap(Space& space, VirtAddr va, PhysAddr frame) {
  const u64 page = (va.raw - GuestMemory::kBase) >> shift_;
  if (page < space.frames.size())
    space.frames[page] = kNoFrame;
  else
    space.far_frames.erase(page);
  frames_.give_back(frame, u64{1} << shift_);
  return tables_.unmap(root_for(space, va), va);
}

}  // namespace terrace
