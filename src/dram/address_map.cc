// SPDX-License-Identifier: MIT
#include "dram/address_map.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "dram/dram_config.h"
#include "engine/check.h"

namespace terrace {

namespace {

std::vector<std::string_view> fields_of(std::string_view mapping) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t colon = mapping.find(':');
    fields.push_back(mapping.substr(0, colon));
    if (colon == mapping.npos) return fields;
    mapping.remove_prefix(colon + 1);
  }
}

u32 log2_of(u32 power) {
  return static_cast<u32>(std::countr_zero(power));
}

}  // namespace

std::string AddressMap::fault_in(std::string_view mapping) {
  const auto fields = fields_of(mapping);
  for (const std::string_view wanted : {"row", "rank", "bank", "column", "channel"})
    if (std::count(fields.begin(), fields.end(), wanted) != 1)
      return "must name row, rank, bank, column and channel once each";
  if (fields.size() != 5) return "must name nothing but row, rank, bank, column and channel";
  // The row takes all bits that are left.
  if (fields[0] != "row") return "must begin with row";
  return "";
}

AddressMap::AddressMap(const DramConfig& config)
    : channels_(config.channels),
      channel_bits_(static_cast<u32>(std::bit_width(config.channels - 1))),
      power_of_two_(std::has_single_bit(config.channels)),
      by_channels_(config.channels),
      chunk_bits_(log2_of(config.interleave_bytes)),
      chunk_mask_(config.interleave_bytes - 1),
      bank_bits_(log2_of(config.banks)),
      bank_mask_(config.banks - 1),
      rank_mask_(config.ranks - 1),
      column_mask_(config.row_bytes / config.interleave_bytes - 1),
      channel_hash_(config.channel_hash),
      bank_hash_(config.bank_hash) {
  SIM_CHECK(fault_in(config.mapping).empty(), "a mapping of \"{}\"", config.mapping);
  u32 shift = 0;
  auto fields = fields_of(config.mapping);
  std::reverse(fields.begin(), fields.end());
  for (const std::string_view field : fields) {
    if (field == "channel") below_bits_ = shift;
    if (field == "row") row_shift_ = shift;
    if (field == "bank") bank_shift_ = std::exchange(shift, shift + bank_bits_);
    if (field == "rank") rank_shift_ = std::exchange(shift, shift + log2_of(config.ranks));
    if (field == "column") column_shift_ = std::exchange(shift, shift + log2_of(column_mask_ + 1));
  }
}

PhysAddr AddressMap::address(const DramPlace& place) const {
  u32 bank = place.bank & bank_mask_;
  if (bank_hash_) bank ^= fold(place.row, bank_bits_);
  const u64 within = u64{place.row} << row_shift_ | u64{bank} << bank_shift_ |
                     u64{place.bank >> bank_bits_} << rank_shift_ | u64{place.column >> chunk_bits_} << column_shift_;
  const u64 above = within >> below_bits_, low = within & ((u64{1} << below_bits_) - 1);
  u64 high;
  if (power_of_two_) {
    high = above << channel_bits_ | (place.channel ^ (channel_hash_ ? fold(above, channel_bits_) : 0));
  } else {
    const u32 turned = channel_hash_ ? fold(above, channel_bits_) % channels_ : 0;
    high = above * channels_ + wrap(place.channel + channels_ - turned);
  }
  return {(high << below_bits_ | low) << chunk_bits_ | (place.column & chunk_mask_)};
}

}  // namespace terrace
