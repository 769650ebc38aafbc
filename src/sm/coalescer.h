// Merges the lanes of one memory instruction into the distinct lines they touch, in the order of the first lane of
// each. Nothing that it remembers from one call to the next decides anything, so that no checkpoint saves it.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "engine/archive.h"
#include "engine/types.h"
#include "frontend/inst_stream.h"
#include "wire/line_shape.h"

namespace terrace {

/// 64 lanes of up to four words each can touch this many lines.
inline constexpr u32 kMaxLines = 256;

struct CoalescedLines {
  u32 count = 0;
  std::array<u64, kMaxLines> line;    // line numbers: address / line size
  std::array<u64, kMaxLines> lanes;   // which lanes touch it
  std::array<u64, kMaxLines> words;   // which of its 4-byte words are touched in full
  std::array<u16, kMaxLines> pieces;  // how often it is touched, where lanes touch several places; otherwise 0
  std::array<u8, kMaxLines> sectors;  // which of its sectors are touched

  void archive(Archive& a) {
    a(count);
    for (u32 i = 0; i < count; ++i) a(line[i], lanes[i], words[i], sectors[i]);
  }
};

class Coalescer {
 public:
  explicit Coalescer(LineShape shape);
  void coalesce(const Effect& effect, u64 lanes, CoalescedLines& out);
  /// Whether all words of a line are touched: a store of it needs nothing from memory.
  bool covers_line(u64 words) const { return words == all_words_; }

 private:
  static constexpr u32 kEntries = 512;  // twice kMaxLines: the table is never more than half full
  u32 place_of(u64 line, CoalescedLines& out);

  const LineShape shape_;
  u32 shift_;
  u32 offset_mask_;
  u64 all_words_;
  u32 round_ = 0;
  std::array<u32, kEntries> round_of_{};  // which call filled an entry: nothing needs clearing
  std::array<u16, kEntries> place_{};
};

/// How often a shared-memory access visits its busiest bank: lanes that want different words of one bank go one after
/// the other, lanes that want the same word go together, unless each takes its turn (`in_turn`).
u32 shared_memory_passes(const Effect& effect, u64 lanes, u32 banks, bool in_turn = false);

}  // namespace terrace
