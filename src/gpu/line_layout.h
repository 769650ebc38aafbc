// Which L2 slice and memory channel hold a line: channels as the memory's address map says; slices by the line's number, among
// all of them or among those of the line's channel. When channels are divided among tenants, the upper bits of an address say whose part of
// memory it is, and each part is mapped as a memory of its own channels alone: its lines stay spread over all of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <optional>
#include <vector>

#include "cache/config.h"
#include "dram/address_map.h"
#include "dram/dram_config.h"
#include "engine/even_share.h"
#include "engine/polynomial_hash.h"
#include "engine/quotient.h"
#include "engine/types.h"
#include "wire/line_map.h"

namespace terrace {

class LineLayout final : public LineMap {
 public:
  /// `parts` of memory, each of 2^part_shift bytes.
  LineLayout(const DramConfig& dram, u32 line_bytes, const L2Config& l2, u32 parts = 1, u32 part_shift = 63)
      : line_shift_(static_cast<u32>(std::countr_zero(line_bytes))),
        by_channel_(l2.slice_by == L2Config::SliceBy::kChannel),
        slices_to_choose_(by_channel_ ? l2.slices / dram.channels : l2.slices),
        by_slices_(slices_to_choose_),
        part_shift_(part_shift) {
    if (!by_channel_ && std::has_single_bit(l2.slices))
      hash_ = PolynomialHash(static_cast<u32>(std::countr_zero(l2.slices)), true);
    for (u32 i = 0; i < parts; ++i) {
      const EvenShare share = even_share(dram.channels, parts, i);
      parts_.push_back({AddressMap(dram.resolved().with_channels(share.count)), share.first});
    }
  }

  u32 channel_of(PhysAddr line) const override {
    const Part& part = parts_[line.raw >> part_shift_];
    return part.first_channel + part.map.channel(line);
  }
  u32 slice_of(LineKey line) const override {
    const u64 number = line.number();
    const u32 channel = by_channel_ ? channel_of(PhysAddr{number << line_shift_}) : 0;
    if (slices_to_choose_ == 1) return channel;
    // A fold would leave half of the sets unused: sets are chosen by the same number.
    if (hash_) return (*hash_)(number);
    const u64 folded = number ^ number >> 7 ^ number >> 14 ^ number >> 21;
    return channel * slices_to_choose_ + static_cast<u32>(folded - by_slices_(folded) * slices_to_choose_);
  }

 private:
  struct Part {
    AddressMap map;
    u32 first_channel;
  };
  u32 line_shift_;
  bool by_channel_;
  u32 slices_to_choose_;
  Quotient by_slices_;  // numbers of lines have far fewer bits than it takes
  u32 part_shift_;
  std::optional<PolynomialHash> hash_;  // of slices that do not belong to channels
  std::vector<Part> parts_;
};

}  // namespace terrace
