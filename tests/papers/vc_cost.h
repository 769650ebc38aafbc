// What virtual caches add to a machine in storage, computed from a configuration: ASPLOS 2018, section 4.3. The paper
// prints 190 KB and 80 KB for the two tables, 95 and 40 bits for each of 16,384 entries; eight ways make the tags of 25
// bits with which both come out (VC-A4).
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>

#include "gpu/config.h"

namespace terrace {

struct VcCost {
  u32 backward_bits = 0, forward_bits = 0;  // of an entry
  u32 entries = 0;
  u32 filter_bits = 0;    // of an entry of an L1's invalidation filter
  u32 metadata_bits = 0;  // of a line
  u64 backward_bytes() const { return u64{entries} * backward_bits / 8; }
  u64 forward_bytes() const { return u64{entries} * forward_bits / 8; }
  u64 table_bytes() const { return backward_bytes() + forward_bytes(); }
};

constexpr u32 line_vector_bits(u64 page_bytes, u32 line_bytes) {
  return static_cast<u32>(page_bytes / line_bytes);
}

inline VcCost vc_cost(const GpuConfig& config) {
  constexpr u32 kAddressBits = 48;
  constexpr u32 kState = 2;        // of a page: what is left of the printed 95 bits
  constexpr u32 kValid = 1;        // of an entry of the forward table
  constexpr u32 kSpace = 8;        // whose virtual memory: as many as a line's name has (wire/line_key.h)
  constexpr u32 kPermissions = 2;  // read, write
  const auto index_bits = [](u32 sets) { return static_cast<u32>(std::bit_width(sets - 1)); };
  const u32 page_number = kAddressBits - config.pages.shift();
  const u32 tag = page_number - index_bits(config.fbt.entries / config.fbt.ways);
  const u32 lines = line_vector_bits(config.pages.bytes, config.line_bytes);
  return {.backward_bits = tag + page_number + lines + kState,
          .forward_bits = tag + index_bits(config.fbt.entries) + kValid,
          .entries = config.fbt.entries,
          // A filter found by the low bits of a page, and a counter of its lines.
          .filter_bits = page_number - index_bits(config.l1.filter_entries) + index_bits(lines),
          .metadata_bits = kSpace + kPermissions};
}

}  // namespace terrace
