// SPDX-License-Identifier: MIT
#include "translation/walk_cache.h"

#include <algorithm>

namespace terrace {

WalkCache::WalkCache(const WalkCacheConfig& config, const TableShape& shape, const PlantedMistake* mistake)
    : config_(config), shape_(shape), mistake_(mistake) {
  if (config.kind == WalkCacheConfig::Kind::kNone) return;
  deepest_ = shape.leaf_level() - (config.leaf ? 0 : 1);
  const u32 caches = config.kind == WalkCacheConfig::Kind::kShared ? 1 : deepest_;
  for (u32 i = 0; i < caches; ++i) caches_.emplace_back(config.shape());
}

template <class F>
u32 WalkCache::deepest_hit(const Walk& walk, F&& each) {
  if (config_.kind == WalkCacheConfig::Kind::kShared && config_.skip == WalkCacheConfig::Skip::kLongestPrefix) {
    for (u32 level = deepest_; level >= 1; --level) {
      const i32 entry = find(level, walk);
      if (entry < 0) continue;
      each(level, static_cast<u32>(entry));
      return level;
    }
    return 0;
  }
  u32 deepest = 0, upper = 0;
  for (u32 level = 1; level <= deepest_; ++level) {
    const i32 entry = find(level, walk);
    if (entry < 0) continue;
    each(level, static_cast<u32>(entry));
    deepest = level;
    if (upper + 1 == level) upper = level;
  }
  return config_.skip == WalkCacheConfig::Skip::kAllUpper ? upper : deepest;
}

WalkCache::Known WalkCache::begin(const Walk& walk) {
  if (each_level()) return {};
  Known known;
  known.level = deepest_hit(walk, [&](u32 level, u32 entry) {
    Meta& meta = cache(level).meta(entry);
    cache(level).touch(entry);
    if (walk.scored && meta.counted_on > 0) --meta.counted_on;
  });
  if (known.level > 0) known.entry = cache(known.level).meta(static_cast<u32>(find(known.level, walk))).entry;
  return known;
}

bool WalkCache::probe(u32 level, const Walk& walk, TableEntry& entry) {
  if (!keeps(level)) return false;
  const i32 found = find(level, walk);
  if (found < 0) return false;
  cache(level).touch(static_cast<u32>(found));
  entry = cache(level).meta(static_cast<u32>(found)).entry;
  return true;
}

void WalkCache::fill(u32 level, const Walk& walk, TableEntry entry) {
  if (!keeps(level) || find(level, walk) >= 0) return;
  TagArray<Meta>& tags = cache(level);
  WayMask allowed = kAllWays;
  if (config_.protect) {
    const u32 first = tags.set_of(key(level, walk)) * tags.ways();
    allowed = 0;
    for (u32 way = 0; way < tags.ways(); ++way) {
      if (!tags.valid(first + way) || tags.meta(first + way).counted_on == 0) allowed |= WayMask{1} << way;
    }
    if (allowed == 0) allowed = kAllWays;
  }
  tags.fill(tags.victim(key(level, walk), allowed), key(level, walk)) = {entry, 0};
}

u32 WalkCache::score(const Walk& walk) {
  u32 hits = 0;
  const u32 deepest = deepest_hit(walk, [&](u32 level, u32 entry) {
    u8& counted_on = cache(level).meta(entry).counted_on;
    counted_on = std::min<u8>(kMostCounted, static_cast<u8>(counted_on + 1));
    ++hits;
  });
  return shape_.leaf_level() - (each_level() ? hits : deepest);
}

void WalkCache::flush() {
  for (TagArray<Meta>& tags : caches_) tags.clear();
}

void WalkCache::flush_page(TenantId tenant, u64 page) {
  const Walk walk{.page = page, .tenant = tenant};
  for (u32 level = 1; level <= deepest_; ++level) {
    if (const i32 entry = find(level, walk); entry >= 0) cache(level).invalidate(static_cast<u32>(entry));
  }
}

void WalkCache::flush_tenant(TenantId tenant) {
  for (TagArray<Meta>& tags : caches_) {
    for (u32 entry = 0; entry < tags.entries(); ++entry) {
      if (tags.valid(entry) && TenantId(tags.key(entry) >> 56) == tenant) tags.invalidate(entry);
    }
  }
}

}  // namespace terrace
