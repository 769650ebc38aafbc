// An SM's data cache: write-through without allocation, lines fetched whole, misses to one line merged. A member of the
// SM, not a unit: a hit crosses no link.
// SPDX-License-Identifier: MIT
#pragma once

#include "cache/config.h"
#include "engine/miss_table.h"
#include "engine/tag_array.h"
#include "engine/types.h"
#include "stats/stat_fields.h"

namespace terrace {

struct L1Stats {
  PerTenant<Counter> loads, hits, misses, merges, stores, atomics;
  Counter fills, evictions, invalidations;
  void describe(StatFields& v) {
    v("loads", loads, "lines", "line loads that were accepted");
    v("hits", hits, "lines", "loads that found their line");
    v("misses", misses, "lines", "loads that had to fetch their line");
    v("merges", merges, "lines", "loads that joined a fetch under way");
    v("stores", stores, "lines", "line stores, written through");
    v("atomics", atomics, "lines", "line atomics, sent to the L2");
    v("fills", fills, "lines", "lines that arrived");
    v("evictions", evictions, "lines", "lines that made room for another");
    v("invalidations", invalidations, "times", "times the whole cache was emptied");
    v.ratio("hit_rate", sum(hits), sum(loads), "hits per load");
    v.identity("a load hits, misses or merges", sum(loads), sum(hits, misses, merges));
  }
};

class L1Cache {
 public:
  enum class Outcome : u8 { kHit, kMiss, kMerged, kRefused };
  using Waiter = u32;

  L1Cache(const L1Config& config, u32 line_bytes)
      : tags_({.entries = config.bytes / line_bytes, .ways = config.ways}),
        misses_(config.miss_entries, config.miss_merges) {}

  /// What a load of this line would do; nothing changes.
  Outcome look(u64 line) const {
    if (tags_.find(line) >= 0) return Outcome::kHit;
    switch (misses_.would_join(line)) {
      case Join::kFirst:
        return Outcome::kMiss;
      case Join::kMerged:
        return Outcome::kMerged;
      case Join::kFull:
        break;
    }
    return Outcome::kRefused;
  }
  /// Does what `look` said. A miss or merge is answered by `fill`.
  void load(u64 line, Outcome outcome, Waiter waiter, TenantId tenant) {
    ++stats.loads[tenant];
    if (outcome == Outcome::kHit) {
      ++stats.hits[tenant];
      tags_.touch(static_cast<u32>(tags_.find(line)));
      return;
    }
    ++(outcome == Outcome::kMiss ? stats.misses : stats.merges)[tenant];
    misses_.join(line, waiter);
  }
  /// A store updates a line that is there and brings in none.
  void store(u64 line, TenantId tenant) {
    ++stats.stores[tenant];
    if (const i32 entry = tags_.find(line); entry >= 0) tags_.touch(static_cast<u32>(entry));
  }
  /// An atomic changes the line at the L2: a copy here is stale.
  void atomic(u64 line, TenantId tenant) {
    ++stats.atomics[tenant];
    invalidate(line);
  }
  void invalidate(u64 line) {
    if (const i32 entry = tags_.find(line); entry >= 0) tags_.invalidate(static_cast<u32>(entry));
  }
  /// A line arrived: whoever waited for it is told, in order.
  template <class F>
  void fill(u64 line, F&& each_waiter) {
    const u32 victim = tags_.victim(line);
    stats.evictions += tags_.valid(victim);
    tags_.fill(victim, line);
    ++stats.fills;
    misses_.release(line, each_waiter);
  }
  void clear() {
    tags_.clear();
    ++stats.invalidations;
  }
  u32 misses_under_way() const { return misses_.size(); }

  L1Stats stats;

 private:
  struct Nothing {};
  TagArray<Nothing> tags_;
  MissTable<Waiter> misses_;
};

}  // namespace terrace
