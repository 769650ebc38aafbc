// SPDX-License-Identifier: MIT
#include "sm/coalescer.h"

#include <algorithm>
#include <bit>

#include "engine/check.h"
#include "wire/access.h"

namespace terrace {

Coalescer::Coalescer(LineShape shape)
    : shape_(shape),
      shift_(static_cast<u32>(std::countr_zero(shape.line_bytes()))),
      offset_mask_(shape.line_bytes() - 1),
      all_words_(all_words(shape.line_bytes())) {
  const u32 line_bytes = shape.line_bytes();
  SIM_CHECK(std::has_single_bit(line_bytes) && line_bytes >= 32 && line_bytes <= 256, "a line of {} bytes", line_bytes);
}

void Coalescer::coalesce(const Effect& effect, u64 lanes, CoalescedLines& out) {
  out.count = 0;
  ++round_;
  const u64 words_per_lane = effect.bytes < 4 ? 0 : (u64{1} << effect.bytes / 4) - 1;
  for (u32 word = 0; word < effect.words; ++word) {
    u64 last_line = ~u64{0};
    u32 place = 0;
    for (u64 left = lanes; left != 0; left &= left - 1) {
      const u32 lane = static_cast<u32>(std::countr_zero(left));
      const u64 address = effect.address[lane] + word * effect.stride;
      // Neighbouring lanes mostly share a line: the last one is tried first.
      if (address >> shift_ != last_line) {
        last_line = address >> shift_;
        place = place_of(last_line, out);
      }
      out.lanes[place] |= u64{1} << lane;
      out.words[place] |= words_per_lane << (address & offset_mask_) / 4;
      if (effect.words > 1) ++out.pieces[place];
      if (shape_.divided()) out.sectors[place] |= shape_.at(address);
    }
  }
}

u32 Coalescer::place_of(u64 line, CoalescedLines& out) {
  u32 bucket = static_cast<u32>(line * 0x9e3779b97f4a7c15 >> 55);  // Fibonacci hashing to 9 bits
  while (round_of_[bucket] == round_) {
    if (out.line[place_[bucket]] == line) return place_[bucket];
    bucket = (bucket + 1) % kEntries;
  }
  round_of_[bucket] = round_;
  place_[bucket] = static_cast<u16>(out.count);
  out.line[out.count] = line;
  out.lanes[out.count] = 0;
  out.words[out.count] = 0;
  out.pieces[out.count] = 0;
  out.sectors[out.count] = shape_.divided() ? 0 : 1;
  return out.count++;
}

/// How many words lie between the first and the last one that lanes ask shared memory for.
static u64 span_of(const Effect& effect, u64 lanes) {
  u64 first = ~u64{0}, last = 0;
  for (u64 left = lanes; left != 0; left &= left - 1) {
    const u64 address = effect.address[static_cast<u32>(std::countr_zero(left))];
    first = std::min(first, address);
    last = std::max(last, address);
  }
  return last / 4 - first / 4;
}

u32 shared_memory_passes(const Effect& effect, u64 lanes, u32 banks, bool in_turn) {
  const u32 words = std::max<u32>(1, effect.bytes / 4);
  // Most accesses: words within one row of the banks are in a bank each.
  if (!in_turn && effect.words == 1 && span_of(effect, lanes) + words <= banks) return 1;

  // A bank remembers the distinct words it was asked for; few are asked for more than a handful.
  std::array<std::array<u64, 8>, 64> wanted;
  std::array<u8, 64> count{};
  u32 most = 1;
  // Nearly always a power of two, and a division is slow.
  const u64 mask = std::has_single_bit(banks) ? banks - 1 : 0;
  for (u32 i = 0; i < words * effect.words; ++i) {
    const u64 piece = i / words * effect.stride;
    for (u64 left = lanes; left != 0; left &= left - 1) {
      const u64 address = (effect.address[static_cast<u32>(std::countr_zero(left))] + piece) / 4 + i % words;
      const u32 bank = static_cast<u32>(mask != 0 ? address & mask : address % banks);
      const u32 known = in_turn ? 0 : std::min<u32>(count[bank], 8);
      if (std::find(wanted[bank].begin(), wanted[bank].begin() + known, address) != wanted[bank].begin() + known)
        continue;
      if (known < 8) wanted[bank][known] = address;
      most = std::max<u32>(most, ++count[bank]);
    }
  }
  // A wide access is spread over several passes by design: those are no conflicts among its own words.
  return most;
}

}  // namespace terrace
