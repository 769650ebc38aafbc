// SPDX-License-Identifier: MIT
#include "frontend/guest_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/check.h"

namespace terrace {

GuestMemory::GuestMemory(PageSize page_size, u64 capacity_bytes) : page_size_(page_size), capacity_(capacity_bytes) {
  // Reserved, not committed: pages become real when an allocation is opened and touched.
  void* reserved = mmap(nullptr, capacity_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) {
    input_error("cannot reserve {} GiB of address space for a tenant: {}; raise the limit (ulimit -v)", capacity_ >> 30,
                std::strerror(errno));
  }
  data_ = static_cast<u8*>(reserved);
}

GuestMemory::~GuestMemory() {
  munmap(data_, capacity_);
}

VirtAddr GuestMemory::allocate(std::string_view name, u64 bytes, Permission permission) {
  const u64 page = static_cast<u64>(page_size_);
  const u64 size = std::max<u64>(bytes, 1);
  if (size > capacity_ - end_) {
    input_error("buffer \"{}\" of {} bytes does not fit into the tenant's {} GiB; choose a smaller input", name, bytes,
                capacity_ >> 30);
  }
  const u64 first = end_;
  end_ += (size + page - 1) / page * page;
  if (mprotect(data_ + first, end_ - first, PROT_READ | PROT_WRITE) != 0) {
    input_error("cannot allocate buffer \"{}\" of {} bytes: {}; choose a smaller input", name, bytes,
                std::strerror(errno));
  }
  valid_bytes_.resize(end_ / kGranuleBytes, 0);
  writable_bytes_.resize(end_ / kGranuleBytes, 0);
  for (u64 at = 0; at < size; at += kGranuleBytes) {
    const u64 granule = (first + at) / kGranuleBytes;
    valid_bytes_[granule] = static_cast<u16>(std::min<u64>(kGranuleBytes, size - at));
    if (permission == Permission::kReadWrite) writable_bytes_[granule] = valid_bytes_[granule];
  }
  allocations_.push_back({std::string(name), VirtAddr{kBase + first}, size, permission});
  return {kBase + first};
}

void GuestMemory::check_range(VirtAddr va, u64 bytes) const {
  const Allocation* allocation = nearest(va);
  SIM_CHECK(allocation && va.raw + bytes <= allocation->first.raw + allocation->bytes,
            "the host touches {} bytes at {:#x}, outside any buffer", bytes, va.raw);
}

std::span<const u8> GuestMemory::read(VirtAddr va, u64 bytes) const {
  check_range(va, bytes);
  return {at(va), bytes};
}

std::span<u8> GuestMemory::write(VirtAddr va, u64 bytes) {
  check_range(va, bytes);
  host_writes_.push_back({va, bytes});
  return {at(va), bytes};
}

const GuestMemory::Allocation* GuestMemory::nearest(VirtAddr va) const {
  const auto above = std::upper_bound(allocations_.begin(), allocations_.end(), va.raw,
                                      [](u64 raw, const Allocation& a) { return raw < a.first.raw; });
  return above == allocations_.begin() ? nullptr : &*std::prev(above);
}

const GuestMemory::Allocation& GuestMemory::symbol(std::string_view name) const {
  for (const Allocation& symbol : symbols_)
    if (symbol.name == name) return symbol;
  input_error("no module defines a variable \"{}\"; check the name in the PTX text", name);
}

u64 GuestMemory::footprint_bytes() const {
  u64 total = 0;
  for (const Allocation& allocation : allocations_) total += allocation.bytes;
  return total;
}

u64 GuestMemory::digest() const {
  u64 hash = 0;
  for (const Allocation& allocation : allocations_)
    hash = XXH3_64bits_withSeed(at(allocation.first), allocation.bytes, hash);
  return hash;
}

}  // namespace terrace
