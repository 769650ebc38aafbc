// SPDX-License-Identifier: MIT
#include "translation/frame_allocator.h"

#include <bit>

#include "engine/check.h"
#include "engine/rng.h"

namespace terrace {

FrameAllocator::FrameAllocator(FrameOrder order, u64 memory_bytes, u64 seed, u32 parts)
    : order_(order), part_shift_(part_shift(memory_bytes, parts)), parts_(parts) {
  const u32 bits = part_shift_;
  const u64 bytes = u64{1} << bits;
  Rng rng(seed, "frames");
  for (u32 part = 0; part < parts; ++part) {
    std::array<Zone, 3>& zones = parts_[part];
    const u64 base = part * bytes;
    zones[0] = {.base = base, .frame_bits = kFrameBits[0], .count_bits = bits - 1 - 12};
    zones[1] = {.base = base + bytes / 2, .frame_bits = kFrameBits[1], .count_bits = bits - 2 - 16};
    zones[2] = {.base = base + bytes / 4 * 3, .frame_bits = kFrameBits[2], .count_bits = bits - 2 - 21};
    for (Zone& zone : zones) {
      for (u64& multiplier : zone.multiplier) multiplier = rng.next() | 1;
    }
  }
}

u32 FrameAllocator::part_shift(u64 memory_bytes, u32 parts) {
  // 64 MB hold a few frames of every size: the least that pages.memory_bytes may be.
  constexpr u32 kLeastBits = 26;
  const u32 shift = static_cast<u32>(std::bit_width(memory_bytes / parts) - 1);
  if (shift < kLeastBits) {
    input_error("pages.memory_bytes: {} bytes of memory cannot be divided into {} parts of at least {} bytes",
                memory_bytes, parts, u64{1} << kLeastBits);
  }
  return shift;
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

u64 FrameAllocator::frame_bytes(u64 bytes) {
  for (const u32 bits : kFrameBits)
    if (bytes <= u64{1} << bits) return u64{1} << bits;
  return bytes;
}

FrameAllocator::Zone& FrameAllocator::zone_of(u64 bytes, u32 part) {
  for (Zone& zone : parts_[part])
    if (bytes <= u64{1} << zone.frame_bits) return zone;
  SIM_CHECK(false, "no frame holds {} bytes", bytes);
  return parts_[part][0];
}

PhysAddr FrameAllocator::allocate(u64 bytes, u32 part) {
  Zone& zone = zone_of(bytes, part);
  if (!zone.free.empty()) {
    const PhysAddr again{zone.free.back()};
    zone.free.pop_back();
    return again;
  }
  if (zone.used >> zone.count_bits != 0) {
    const u64 frame = u64{1} << zone.frame_bits;
    input_error(
        "pages.memory_bytes: of {} bytes of memory, {} are for frames of {} bytes, and all are taken; give more memory",
        u64{1} << part_shift_, frame << zone.count_bits, frame);
  }
  const u64 number = zone.used++;
  return {zone.base + ((order_ == FrameOrder::kRandom ? spread(zone, number) : number) << zone.frame_bits)};
}

void FrameAllocator::give_back(PhysAddr frame, u64 bytes) {
  zone_of(bytes, part_of(frame)).free.push_back(frame.raw);
}

void FrameAllocator::archive(Archive& a) {
  a.expect(parts_.size(), "the number of parts of memory");
  for (std::array<Zone, 3>& zones : parts_) {
    for (Zone& zone : zones) a(zone.used, zone.free);
  }
}

}  // namespace terrace
