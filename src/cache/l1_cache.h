// An SM's data cache: write-through without allocation, lines fetched whole, misses to one line merged. A member of the
// SM, not a unit: a hit crosses no link.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

#include "cache/config.h"
#include "engine/miss_table.h"
#include "engine/tag_array.h"
#include "engine/types.h"
#include "stats/stat_fields.h"
#include "wire/line_key.h"
#include "wire/line_truth.h"

namespace terrace {

struct L1Stats {
  PerTenant<Counter> loads, hits, misses, merges, stores, atomics;
  Counter fills, evictions, invalidations;
  void describe(StatFields& v) {
    v("loads", loads, "lines", "line loads accepted");
    v("hits", hits, "lines", "loads that hit");
    v("misses", misses, "lines", "loads that missed and fetched the line");
    v("merges", merges, "lines", "loads that missed and joined a pending fetch");
    v("stores", stores, "lines", "line stores (write-through)");
    v("atomics", atomics, "lines", "line atomics, performed at the L2");
    v("fills", fills, "lines", "lines filled");
    v("evictions", evictions, "lines", "lines evicted");
    v("invalidations", invalidations, "times", "invalidations of the whole cache");
    v.ratio("hit_rate", sum(hits), sum(loads), "hits per load");
    v.identity("a load hits, misses or merges", sum(loads), sum(hits, misses, merges));
  }
};

class L1Cache {
 public:
  enum class Outcome : u8 { kHit, kMiss, kMerged, kRefused };
  struct Waiter {
    u32 record = 0;
    [[no_unique_address]] WantedLine wanted{};
  };

  L1Cache(const L1Config& config, u32 line_bytes)
      : tags_({.entries = config.bytes / line_bytes, .ways = config.ways}),
        misses_(config.miss_entries, config.miss_merges) {}

  /// What a load of this line would do; nothing changes.
  Outcome look(LineKey line) const {
    if (tags_.find(line.raw()) >= 0) return Outcome::kHit;
    if (is_outdated(line)) return Outcome::kRefused;
    switch (misses_.would_join(line.raw())) {
      case Join::kFirst:
        return Outcome::kMiss;
      case Join::kMerged:
        return Outcome::kMerged;
      case Join::kFull:
        break;
    }
    return Outcome::kRefused;
  }
  /// Does what `look` said. Returns what a hit found; a miss or merge is answered by `fill`.
  const LineCopy* load(LineKey line, Outcome outcome, const Waiter& waiter, TenantId tenant) {
    ++stats.loads[tenant];
    if (outcome == Outcome::kHit) {
      ++stats.hits[tenant];
      return use(static_cast<u32>(tags_.find(line.raw())));
    }
    ++(outcome == Outcome::kMiss ? stats.misses : stats.merges)[tenant];
    misses_.join(line.raw(), waiter);
    return nullptr;
  }
  /// A store updates a line that is there, which is returned, and brings in none.
  LineCopy* store(LineKey line, TenantId tenant) {
    ++stats.stores[tenant];
    if (const i32 entry = tags_.find(line.raw()); entry >= 0) return use(static_cast<u32>(entry));
    outdate(line);
    return nullptr;
  }
  /// An atomic changes the line at the L2: a copy here is stale.
  void atomic(LineKey line, TenantId tenant) {
    ++stats.atomics[tenant];
    if (const i32 entry = tags_.find(line.raw()); entry >= 0) tags_.invalidate(static_cast<u32>(entry));
    outdate(line);
  }
  /// A line arrived: whoever waited for it is told, in order. One that is outdated is not kept.
  template <class F>
  void fill(LineKey line, const LineCopy& copy, F&& each_waiter) {
    ++stats.fills;
    if (!is_outdated(line)) {
      const u32 victim = tags_.victim(line.raw());
      stats.evictions += tags_.valid(victim);
      tags_.fill(victim, line.raw()) = copy;
    } else {
      std::erase(outdated_, line);
    }
    misses_.release(line.raw(), each_waiter);
  }
  /// What is here and what is being fetched may be old.
  void clear() {
    tags_.clear();
    outdated_.clear();
    misses_.for_each_key([this](u64 line) { outdated_.push_back(LineKey::from_raw(line)); });
    ++stats.invalidations;
  }
  u32 misses_under_way() const { return misses_.size(); }

  L1Stats stats;

 private:
  /// The SM writes to a line that is being fetched: what arrives may be from before, so that nobody else may join.
  void outdate(LineKey line) {
    if (misses_.contains(line.raw()) && !is_outdated(line)) outdated_.push_back(line);
  }
  bool is_outdated(LineKey line) const {
    return !outdated_.empty() && std::find(outdated_.begin(), outdated_.end(), line) != outdated_.end();
  }
  LineCopy* use(u32 entry) {
    tags_.touch(entry);
    return &tags_.meta(entry);
  }

  TagArray<LineCopy> tags_;
  MissTable<Waiter> misses_;
  std::vector<LineKey> outdated_;  // few, if any
};

}  // namespace terrace
