// A translation look-aside buffer: pages of any tenant and size, and their frames. A page that was found once is found
// again for as long as its entry is not replaced or flushed.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "engine/archive.h"
#include "engine/tag_array.h"
#include "engine/types.h"
#include "stats/stat_fields.h"
#include "translation/config.h"
#include "wire/mistake.h"
#include "wire/translate.h"

namespace terrace {

/// What a TLB that merges misses counts of its look-ups; whoever has one adds what is its own.
struct TlbStats {
  PerTenant<Counter> lookups, hits, misses, merges, miss_cycles;
  Counter evictions;
  void describe(StatFields& v) {
    v("lookups", lookups, "pages", "pages looked up");
    v("hits", hits, "pages", "look-ups that hit");
    v("misses", misses, "pages", "look-ups that missed and sent a request to the next level");
    v("merges", merges, "pages", "look-ups that missed and joined a pending miss");
    v("miss_cycles", miss_cycles, "cycles", "cycles from a miss to its answer, summed");
    v("evictions", evictions, "pages", "entries evicted");
    v.ratio("hit_rate", sum(hits), sum(lookups), "hits per look-up");
    v.ratio("mean_miss_cycles", sum(miss_cycles), sum(misses), "cycles from a miss to its answer");
    v.identity("a look-up hits, misses or merges", sum(lookups), sum(hits, misses, merges));
  }
};

class Tlb {
 public:
  Tlb() = default;
  explicit Tlb(const TlbConfig& config, const PlantedMistake* mistake = nullptr) : mistake_(mistake) {
    if (config.entries > 0) tags_ = TagArray<PhysAddr>(config.shape());
    holds_any_ = config.entries > 0;
  }
  bool exists() const { return holds_any_; }
  void observe(TagObserver* observer) { tags_.observe(observer); }

  /// The entry that holds the page, or negative; nothing changes.
  i32 find(u64 key) const { return holds_any_ ? tags_.find(tag(key)) : -1; }
  /// The frame in an entry that `find` returned; it counts as used now.
  PhysAddr use(i32 entry) {
    tags_.touch(static_cast<u32>(entry));
    const PhysAddr frame = tags_.meta(static_cast<u32>(entry));
    if (errs(Mistake::kNeighboursFrame)) return {frame.raw ^ page_bytes_of_key(tags_.key(static_cast<u32>(entry)))};
    return frame;
  }
  /// Returns whether another page had to go.
  bool fill(u64 key, PhysAddr frame, WayMask allowed = kAllWays) {
    if (!holds_any_) return false;
    // Already there when two structures asked for it.
    if (const i32 entry = find(key); entry >= 0) {
      tags_.meta(static_cast<u32>(entry)) = frame;
      tags_.touch(static_cast<u32>(entry));
      return false;
    }
    const u32 victim = tags_.victim(tag(key), allowed);
    const bool evicts = tags_.valid(victim);
    tags_.fill(victim, tag(key)) = frame;
    return evicts;
  }

  void flush() {
    if (holds_any_ && !errs(Mistake::kSkipFlush)) tags_.clear();
  }
  void flush_page(u64 key) {
    if (errs(Mistake::kSkipFlush)) return;
    if (const i32 entry = find(key); entry >= 0) tags_.invalidate(static_cast<u32>(entry));
  }
  void flush_tenant(TenantId tenant) {
    if (errs(Mistake::kSkipFlush)) return;
    for (u32 entry = 0; holds_any_ && entry < tags_.entries(); ++entry) {
      if (tags_.valid(entry) && tenant_of_key(tags_.key(entry)) == tenant) tags_.invalidate(entry);
    }
  }
  /// Names the tenant of every entry that is in use.
  template <class F>
  void each_tenant(F&& tenant) const {
    for (u32 entry = 0; holds_any_ && entry < tags_.entries(); ++entry) {
      if (tags_.valid(entry)) tenant(tenant_of_key(tags_.key(entry)));
    }
  }

  void archive(Archive& a) { a(tags_); }

 private:
  bool errs(Mistake what) const { return mistake_ != nullptr && mistake_->strikes(what); }
  u64 tag(u64 key) const { return errs(Mistake::kDropTenantCompare) ? key_without_tenant(key) : key; }

  TagArray<PhysAddr> tags_;
  bool holds_any_ = false;
  const PlantedMistake* mistake_ = nullptr;
};

}  // namespace terrace
