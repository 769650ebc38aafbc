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

void AddressSpaces::cover(TenantId tenant, const GuestMemory& memory) {
  std::vector<u64>& frames = spaces_[index(tenant)].frames;
  const u64 first = frames.size();
  frames.resize(memory.allocated_bytes() >> shift_, kNoFrame);
  if (order_ == FrameOrder::kFirstTouch) return;
  for (u64 page = first; page < frames.size(); ++page) touch(tenant, {GuestMemory::kBase + (page << shift_)});
}

void AddressSpaces::touch(TenantId tenant, VirtAddr va) {
  if (locate(tenant, va) == kUnmapped) place(tenant, va);
}

PhysAddr AddressSpaces::remap(TenantId tenant, VirtAddr va) {
  SIM_CHECK(locate(tenant, va) != kUnmapped, "tenant {} has no frame at {:#x} to move", index(tenant), va.raw);
  return place(tenant, va);
}

PhysAddr AddressSpaces::place(TenantId tenant, VirtAddr va) {
  Space& space = spaces_[index(tenant)];
  u64& frame = space.frames[(va.raw - GuestMemory::kBase) >> shift_];
  frame = frames_.allocate(u64{1} << shift_, frames_.part_of(space.root)).raw;
  return tables_.map(space.root, va, {frame});
}

}  // namespace terrace
