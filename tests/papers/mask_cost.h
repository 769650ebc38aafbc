// What MASK adds to a machine in storage, computed from a configuration: ASPLOS 2018, section 7.4. The fields that the
// paper lists for a core add up to 37 bytes; the 13 bytes that it prints need a vector of 64 warps (MASK-A8), so both
// are told.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpu/config.h"

namespace terrace {

struct MaskCost {
  u32 core_bits = 0;    // hit and miss counter, warps seen, their number
  u32 shared_bits = 0;  // bypass cache, token counters, direction registers
  u32 bytes(u32 cores) const { return (cores * core_bits + shared_bits) / 8; }
};

/// Bits of the warp vector, in the text and in the printed sum.
inline constexpr u32 kListedWarpVector = 256, kPrintedWarpVector = 64;

constexpr MaskCost mask_cost(u32 warp_vector_bits, u32 bypass_entries) {
  constexpr u32 kCounter = 16, kWarpCounter = 8, kApplications = 30, kTokenCounter = 15, kDirection = 1;
  constexpr u32 kBypassEntry = 64;  // bits: what is left of the printed 316 bytes
  return {2 * kCounter + warp_vector_bits + kWarpCounter,
          bypass_entries * kBypassEntry + kApplications * (kTokenCounter + kDirection)};
}

}  // namespace terrace
