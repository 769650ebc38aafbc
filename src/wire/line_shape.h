// How a line is divided: into sectors, of which a cache may have some and not others, or into one, which is the line. A
// set of sectors is a bit each; a line that is not divided has one bit, which is always set.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>

#include "engine/types.h"
#include "wire/access.h"

namespace terrace {

class LineShape {
 public:
  static constexpr u32 kLeastBytes = 32;  // of a sector: the largest line, 256 bytes, has as many as a byte has bits

  /// A sector of 0 bytes means that lines are not divided.
  constexpr LineShape(u32 line_bytes, u32 sector_bytes = 0)  // NOLINT: a size alone is a shape
      : line_bytes_(line_bytes),
        sector_bytes_(sector_bytes == 0 ? line_bytes : sector_bytes),
        sector_shift_(static_cast<u32>(std::countr_zero(sector_bytes_))),
        divided_(sector_bytes_ != line_bytes_) {}

  constexpr u32 line_bytes() const { return line_bytes_; }
  constexpr u32 sector_bytes() const { return sector_bytes_; }
  constexpr bool divided() const { return divided_; }
  constexpr u32 count() const { return line_bytes_ >> sector_shift_; }
  /// The sector of an address.
  constexpr u8 at(u64 address) const { return static_cast<u8>(1u << ((address & (line_bytes_ - 1)) >> sector_shift_)); }
  /// What a packet carries that has these sectors.
  constexpr u32 bytes(u8 sectors) const { return static_cast<u32>(std::popcount(sectors)) << sector_shift_; }
  /// The words of these sectors.
  constexpr u64 words(u8 sectors) const {
    u64 words = 0;
    for (u32 i = 0; i < count(); ++i) words |= (sectors >> i & 1) != 0 ? words_of(i) : 0;
    return words;
  }
  /// The sectors that have some of these words.
  constexpr u8 sectors(u64 words) const {
    u32 sectors = 0;
    for (u32 i = 0; i < count(); ++i) sectors |= u32{(words & words_of(i)) != 0} << i;
    return static_cast<u8>(sectors);
  }
  /// Words that memory is asked for on behalf of an access: those of its sectors, or all of the line and what is beyond.
  constexpr u64 fetched(u8 sectors) const { return divided_ ? words(sectors) : ~u64{0}; }

 private:
  constexpr u64 words_of(u32 sector) const { return all_words(sector_bytes_) << (sector << sector_shift_) / 4; }

  u32 line_bytes_, sector_bytes_, sector_shift_;
  bool divided_;
};

}  // namespace terrace
