// Where a physical address lies: channel, rank, bank, row, column. The order of the fields is configuration; below the
// lowest one lie interleave_bytes consecutive bytes of one row. Channels may be any number (6, 12): taking the channel
// out of an address is the only division, done by multiplying. The map is one-to-one: the hashes permute channels by
// the bits above the channel field, and banks by bits of the row (Zhang, Zhu, Zhang, MICRO 2000).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "engine/quotient.h"
#include "engine/types.h"

namespace terrace {

struct DramConfig;

struct DramPlace {
  u32 channel = 0;
  u32 bank = 0;  // rank x banks of a rank + bank
  u32 row = 0;
  u32 column = 0;  // byte of the row
  friend bool operator==(const DramPlace&, const DramPlace&) = default;
};

class AddressMap {
 public:
  explicit AddressMap(const DramConfig& resolved);

  u32 channel(PhysAddr address) const { return split(address.raw).channel; }
  DramPlace place(PhysAddr address) const {
    const Split parts = split(address.raw);
    const u64 within = parts.within;
    const u32 row = static_cast<u32>(within >> row_shift_);
    u32 bank = static_cast<u32>(within >> bank_shift_) & bank_mask_;
    if (bank_hash_) bank ^= fold(row, bank_bits_);
    const u32 rank = static_cast<u32>(within >> rank_shift_) & rank_mask_;
    const u32 chunk = static_cast<u32>(within >> column_shift_) & column_mask_;
    return {parts.channel, rank << bank_bits_ | bank, row,
            chunk << chunk_bits_ | (static_cast<u32>(address.raw) & chunk_mask_)};
  }
  /// The inverse.
  PhysAddr address(const DramPlace& place) const;

  /// What is wrong with an order of fields; empty when nothing is.
  static std::string fault_in(std::string_view mapping);

 private:
  struct Split {
    u32 channel;
    u64 within;  // the address within the channel, in chunks
  };

  Split split(u64 address) const {
    const u64 chunk = address >> chunk_bits_;
    const u64 low = chunk & ((u64{1} << below_bits_) - 1), high = chunk >> below_bits_;
    u64 above;
    u32 channel;
    if (power_of_two_) {
      above = high >> channel_bits_;
      channel = static_cast<u32>(high) & (channels_ - 1);
      if (channel_hash_) channel ^= fold(above, channel_bits_);
    } else {
      above = by_channels_(high);
      channel = static_cast<u32>(high - above * channels_);
      if (channel_hash_) channel = wrap(channel + fold(above, channel_bits_));
    }
    return {channel, above << below_bits_ | low};
  }
  u32 wrap(u32 sum) const { return sum - static_cast<u32>(by_channels_(sum)) * channels_; }

  /// The xor of the sixteen lowest groups of `bits` bits.
  static u32 fold(u64 value, u32 bits) {
    if (8 * bits < 64) value ^= value >> 8 * bits;
    if (4 * bits < 64) value ^= value >> 4 * bits;
    if (2 * bits < 64) value ^= value >> 2 * bits;
    if (bits > 0) value ^= value >> bits;
    return static_cast<u32>(value & ((u64{1} << bits) - 1));
  }

  u32 channels_;
  u32 channel_bits_;  // rounded up
  bool power_of_two_;
  Quotient by_channels_;
  u32 chunk_bits_, chunk_mask_;
  u32 below_bits_ = 0;  // of the fields below the channel
  u32 row_shift_ = 0, bank_shift_ = 0, rank_shift_ = 0, column_shift_ = 0;
  u32 bank_bits_, bank_mask_, rank_mask_, column_mask_;
  bool channel_hash_, bank_hash_;
};

}  // namespace terrace
