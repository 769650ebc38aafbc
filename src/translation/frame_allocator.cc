// SPDX-License-Identifier: MIT
#include "translation/frame_allocator.h"

#include <bit>

#include "engine/check.h"
#include "engine/rng.h"

namespace terrace {

FrameAllocator::FrameAllocator(FrameOrder order, u64 memory_bytes, u64 seed)
    : order_(order), memory_bytes_(memory_bytes) {
  const u32 bits = static_cast<u32>(std::countr_zero(memory_bytes));
  zones_[0] = {.base = 0, .frame_bits = 12, .count_bits = bits - 1 - 12};
  zones_[1] = {.base = memory_bytes / 2, .frame_bits = 16, .count_bits = bits - 2 - 16};
  zones_[2] = {.base = memory_bytes / 4 * 3, .frame_bits = 21, .count_bits = bits - 2 - 21};
  Rng rng(seed, "frames");
  for (Zone& zone : zones_) {
    for (u64& multiplier : zone.multiplier) multiplier = rng.next() | 1;
  }
}

/// A permutation of the zone's frames: multiplying by an odd number and folding the upper half into the lower one can
/// both be undone, so no two numbers meet.
u64 FrameAllocator::spread(const Zone& zone, u64 number) const {
  const u64 mask = (u64{1} << zone.count_bits) - 1;
  for (const u64 multiplier : zone.multiplier) {
    number = (number * multiplier) & mask;
    number ^= number >> (zone.count_bits + 1) / 2;
  }
  return number;
}

PhysAddr FrameAllocator::allocate(u64 bytes) {
  for (Zone& zone : zones_) {
    if (bytes > u64{1} << zone.frame_bits) continue;
    if (zone.used >> zone.count_bits != 0) {
      input_error("pages.memory_bytes: {} bytes of memory have no frame of {} bytes left; give more memory",
                  memory_bytes_, u64{1} << zone.frame_bits);
    }
    const u64 number = zone.used++;
    return {zone.base + ((order_ == FrameOrder::kRandom ? spread(zone, number) : number) << zone.frame_bits)};
  }
  SIM_CHECK(false, "no frame holds {} bytes", bytes);
  return {};
}

}  // namespace terrace
