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
  u32 filter_entries = 256;
  u32 synonym_entries = 0;
  enum class CacheOperators : u8 { kIgnored, kObeyed };
  CacheOperators cache_operators = CacheOperators::kIgnored;
  void describe(Fields& v) {
    v("bytes", bytes, in(64, 1 << 24), "bytes of each SM's L1 cache");
    v("ways", ways, in(1, 1024), "ways of a set");
    v("hit_cycles", hit_cycles, in(1, 1000), "latency of a hit");
    v("miss_entries", miss_entries, in(1, 4096), "miss entries (MSHRs): lines being fetched at a time");
    v("miss_merges", miss_merges, in(1, 4096), "accesses that may wait for the same line");
    v("cache_operators", cache_operators, {"ignored", "obeyed"},
      "loads with the cache operators .cg and .cv: ignored: use the L1 as other loads do; obeyed: bypass it");
    v("filter_entries", filter_entries, in(1, 65536),
      "entries of the invalidation filter, which counts the lines of each page; only with a forward-backward table");
    v("synonym_entries", synonym_entries, in(0, 1024),
      "read-only synonyms whose leading page an SM remembers, so that loads look for it at once; only with a "
      "forward-backward table; 0: none");
  }
};

struct L2Config {
  enum class SliceBy : u8 { kChannel, kLine };
  enum class PartialStores : u8 { kFetch, kMask };
  u32 bytes = 2 * 1024 * 1024;
  u32 ways = 16;
  u32 slices = 16;
  u32 ports = 1;
  u32 hit_cycles = 10;
  u32 atomic_cycles = 1;
  u32 partial_store_cycles = 1;
  u32 repeated_store_cycles = 0;
  u32 miss_entries = 64;
  u32 miss_merges = 32;
  u32 reply_entries = 32;
  u32 write_back_entries = 16;
  SliceBy slice_by = SliceBy::kChannel;
  SetHash index = SetHash::kPolynomial;
  PartialStores partial_stores = PartialStores::kMask;
  Policy<L2Admission> admission{"always"};
  Policy<L2Victim> victim{"lru"};
  void describe(Fields& v) {
    v("bytes", bytes, in(64, 1u << 30), "bytes of all slices together");
    v("ways", ways, in(1, 64), "ways of a set");
    v("slices", slices, in(1, 256), "slices (banks), each with its own queues");
    v("ports", ports, in(1, 16),
      "ports of a slice: look-ups per cycle, and packets that it receives, and sends, at a time");
    v("hit_cycles", hit_cycles, in(1, 1000), "latency of a hit");
    v("atomic_cycles", atomic_cycles, in(1, 1000),
      "cycles for which an atomic of one line keeps a port of its slice busy");
    v("partial_store_cycles", partial_store_cycles, in(1, 1000),
      "cycles for which a store to part of a sector (or of a line, without sectors) keeps a port of its slice busy");
    v("repeated_store_cycles", repeated_store_cycles, in(0, 1000),
      "the same, if the slice's last store wrote to that sector, too; 0: as partial_store_cycles");
    v("miss_entries", miss_entries, in(1, 4096), "miss entries (MSHRs) per slice: lines being fetched at a time");
    v("miss_merges", miss_merges, in(1, 4096), "requests that may wait for the same line");
    v("reply_entries", reply_entries, in(1, 4096), "entries of a slice's reply queue");
    v("write_back_entries", write_back_entries, in(1, 4096),
      "entries of a slice's write-back queue; while it is full, the slice accepts no more misses");
    v("slice_by", slice_by, {"channel", "line"},
      "how an address selects its slice: channel: each memory channel has its own slices; line: by a hash of the line, "
      "so that every slice holds lines of all channels");
    v("index", index, {"low_bits", "folded", "polynomial"},
      "how an address selects its set: its low bits, all bits XOR-folded, or its remainder modulo a polynomial over "
      "GF(2)");
    v("partial_stores", partial_stores, {"fetch", "mask"},
      "what a store to part of a line that is not there does: fetch: it fetches the line; mask: it takes the line "
      "without "
      "a fetch, the slice notes which 4-byte words it has, and fetches the line when others are read; lines with "
      "virtual "
      "names, and stores of less than a word, fetch in either case");
    v.policy("admission", admission, "which requests are looked up, and whose lines are kept");
    v.policy("victim", victim, "which line a fill replaces");
  }
};

}  // namespace terrace
