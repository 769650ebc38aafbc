// Hands out frames of physical memory to data pages and page tables alike. Memory is divided into a half for small
// frames and a quarter each for medium and large ones, so that large frames stay whole however small ones are spread.
// It may consist of equal parts, one for each tenant, which the upper bits of an address tell apart.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <vector>

#include "engine/archive.h"
#include "engine/types.h"
#include "translation/config.h"

namespace terrace {

class FrameAllocator {
 public:
  static constexpr std::array<u32, 3> kFrameBits{12, 16, 21};
  static constexpr u64 kMostBytes = u64{1} << kFrameBits.back();

  FrameAllocator(FrameOrder order, u64 memory_bytes, u64 seed, u32 parts = 1);

  /// log2 of the bytes of each part: a power of two, so that some memory may belong to none.
  static u32 part_shift(u64 memory_bytes, u32 parts);
  u32 part_of(PhysAddr frame) const { return static_cast<u32>(frame.raw >> part_shift_); }

  /// A frame of at least `bytes`: 4 KB, 64 KB or 2 MB, aligned to its size. Memory that is used up is the user's error.
  PhysAddr allocate(u64 bytes, u32 part = 0);
  /// A frame that allocate() gave for so many bytes is free again: the next one of its size that is given.
  void give_back(PhysAddr frame, u64 bytes);
  /// What a frame for so many bytes has, or `bytes` where no frame holds them.
  static u64 frame_bytes(u64 bytes);

  void archive(Archive& a);

 private:
  struct Zone {
    u64 base = 0;
    u32 frame_bits = 0;  // log2 of a frame's bytes
    u32 count_bits = 0;  // log2 of how many there are
    u64 used = 0;
    std::array<u64, 3> multiplier{};
    std::vector<u64> free = {};  // given back, by address
  };
  Zone& zone_of(u64 bytes, u32 part);
  u64 spread(const Zone& zone, u64 number) const;

  FrameOrder order_;
  u32 part_shift_;
  std::vector<std::array<Zone, 3>> parts_;
};

}  // namespace terrace
