// Sizes and speeds of the caches.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>

#include "cache/l2_admission.h"
#include "cache/l2_victim.h"
#include "config/fields.h"
#include "config/validation.h"
#include "engine/tag_array.h"

namespace terrace {

struct L1Config {
  u32 bytes = 16 * 1024;
  u32 ways = 4;
  u32 hit_cycles = 20;
  u32 miss_entries = 64;
  u32 miss_merges = 16;
  void describe(Fields& v) {
    v("bytes", bytes, in(64, 1 << 24), "size of each SM's data cache");
    v("ways", ways, in(1, 1024), "ways of a set");
    v("hit_cycles", hit_cycles, in(1, 1000), "cycles from the access of a line to its data");
    v("miss_entries", miss_entries, in(1, 4096), "lines on their way at a time");
    v("miss_merges", miss_merges, in(1, 4096), "accesses that may wait for one line");
  }
};

struct L2Config {
  enum class SliceBy : u8 { kChannel, kLine };
  u32 bytes = 2 * 1024 * 1024;
  u32 ways = 16;
  u32 slices = 16;
  u32 ports = 1;
  u32 hit_cycles = 10;
  u32 miss_entries = 64;
  u32 miss_merges = 32;
  u32 reply_entries = 32;
  u32 write_back_entries = 16;
  SliceBy slice_by = SliceBy::kChannel;
  SetHash index = SetHash::kPolynomial;
  Policy<L2Admission> admission{"always"};
  Policy<L2Victim> victim{"lru"};
  void describe(Fields& v) {
    v("bytes", bytes, in(64, 1u << 30), "size of all slices together");
    v("ways", ways, in(1, 64), "ways of a set");
    v("slices", slices, in(1, 256), "slices, each a bank with its own queues");
    v("ports", ports, in(1, 16),
      "look-ups that a slice makes per cycle; as many packets reach and leave it at a time, one flit each per cycle");
    v("hit_cycles", hit_cycles, in(1, 1000), "cycles from a look-up to its reply");
    v("miss_entries", miss_entries, in(1, 4096), "lines on their way from memory, per slice");
    v("miss_merges", miss_merges, in(1, 4096), "requests that may wait for one line");
    v("reply_entries", reply_entries, in(1, 4096), "replies that may wait in a slice");
    v("write_back_entries", write_back_entries, in(1, 4096),
      "dirty lines that wait to leave a slice before it takes no more misses");
    v("slice_by", slice_by, {"channel", "line"},
      "how a line chooses its slice: each channel has slices of its own, or every slice holds lines of all channels, "
      "by "
      "a hash of the line's name");
    v("index", index, {"low_bits", "folded", "polynomial"},
      "how a line chooses its set: its low bits, all bits folded, or its remainder by a polynomial over GF(2)");
    v.policy("admission", admission, "which requests are looked up, and whose lines are kept");
    v.policy("victim", victim, "which line makes room for one that arrives");
  }
};

}  // namespace terrace
