// Hands out frames of physical memory to data pages and page tables alike. Memory is divided into a half for small
// frames and a quarter each for medium and large ones, so that large frames stay whole however small ones are spread.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "engine/types.h"
#include "translation/config.h"

namespace terrace {

class FrameAllocator {
 public:
  FrameAllocator(FrameOrder order, u64 memory_bytes, u64 seed);

  /// A frame of at least `bytes`: 4 KB, 64 KB or 2 MB, aligned to its size. Memory that is used up is the user's error.
  PhysAddr allocate(u64 bytes);

 private:
  struct Zone {
    u64 base = 0;
    u32 frame_bits = 0;  // log2 of a frame's bytes
    u32 count_bits = 0;  // log2 of how many there are
    u64 used = 0;
    std::array<u64, 3> multiplier{};
  };
  u64 spread(const Zone& zone, u64 number) const;

  FrameOrder order_;
  u64 memory_bytes_;
  std::array<Zone, 3> zones_;
};

}  // namespace terrace
