// Which L2 slice and memory channel hold a line: channels as the memory's address map says, the slices of a channel by a
// fold of the line's number.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>

#include "dram/address_map.h"
#include "engine/types.h"
#include "wire/line_map.h"

namespace terrace {

class LineLayout final : public LineMap {
 public:
  LineLayout(const AddressMap& dram, u32 line_bytes, u32 slices, u32 channels)
      : dram_(dram),
        line_shift_(static_cast<u32>(std::countr_zero(line_bytes))),
        slices_per_channel_(slices / channels) {}

  u32 channel_of(PhysAddr line) const override { return dram_.channel(line); }
  u32 slice_of(PhysAddr line) const override {
    const u32 channel = dram_.channel(line);
    if (slices_per_channel_ == 1) return channel;
    const u64 number = line.raw >> line_shift_;
    const u64 folded = number ^ number >> 7 ^ number >> 14 ^ number >> 21;
    return channel * slices_per_channel_ + static_cast<u32>(folded % slices_per_channel_);
  }

 private:
  const AddressMap& dram_;
  u32 line_shift_;
  u32 slices_per_channel_;
};

}  // namespace terrace
