// Page walk caches: entries of the upper levels of page tables, close to the walkers, so that a walk need not begin at
// the root. One cache for each level or one for all; what a walk may skip is configuration. With protection each entry
// counts, in two bits, the walks that were scored on it and have not used it yet; such entries are replaced last.
//
// Papers: ISCA 2018 §IV (counters), HPCA 2021 §II (longest prefix), ASPLOS 2018 (all levels). Notes: SIMT-A1, SIMT-A6,
// MASK-A14.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "engine/archive.h"
#include "engine/tag_array.h"
#include "engine/types.h"
#include "translation/config.h"
#include "translation/page_table.h"
#include "translation/walk_order.h"
#include "wire/mistake.h"

namespace terrace {

class WalkCache final : public WalkCacheView {
 public:
  WalkCache(const WalkCacheConfig& config, const TableShape& shape, const PlantedMistake* mistake = nullptr);

  /// What a walk knows without a read: the entry of this level (0: nothing).
  struct Known {
    u32 level = 0;
    TableEntry entry;
  };
  /// The look-up when a walk begins: what was hit counts as used.
  Known begin(const Walk& walk);
  /// The look-up before one level's read, when every level is asked for (skip = each_level).
  bool probe(u32 level, const Walk& walk, TableEntry& entry);
  void fill(u32 level, const Walk& walk, TableEntry entry);
  u32 score(const Walk& walk) override;

  bool each_level() const {
    return config_.kind != WalkCacheConfig::Kind::kNone && config_.skip == WalkCacheConfig::Skip::kEachLevel;
  }
  /// When a look-up that could begin in cycle `earliest` is over. Look-ups begin in the order in which they are asked
  /// for, as many per cycle as there are ports.
  Cycle look_up(Cycle earliest) {
    if (config_.kind == WalkCacheConfig::Kind::kNone) return earliest;
    if (earliest > port_cycle_) {
      port_cycle_ = earliest;
      port_uses_ = 0;
    } else if (port_uses_ == config_.ports) {
      ++port_cycle_;
      port_uses_ = 0;
    }
    ++port_uses_;
    return port_cycle_ + config_.cycles;
  }
  void flush();
  /// Every entry on the way to the page, as the invalidation of one page does in hardware.
  void flush_page(TenantId tenant, u64 page);
  void flush_tenant(TenantId tenant);

  void archive(Archive& a) { a(caches_, port_cycle_, port_uses_); }

 private:
  struct Meta {
    TableEntry entry;
    u8 counted_on = 0;  // 2 bits, saturating: a hint, not a count of references
  };
  static constexpr u8 kMostCounted = 3;

  bool keeps(u32 level) const { return level <= deepest_; }
  TagArray<Meta>& cache(u32 level) { return caches_[caches_.size() == 1 ? 0 : level - 1]; }
  i32 find(u32 level, const Walk& walk) { return cache(level).find(key(level, walk)); }
  VirtAddr address(const Walk& walk) const { return {walk.page << shape_.page_shift()}; }
  u64 key(u32 level, const Walk& walk) const {
    const u64 in_space = u64{level} << 52 | shape_.prefix(level, address(walk));
    if (mistake_ != nullptr && mistake_->strikes(Mistake::kDropTenantInWalkCache)) return in_space;
    return u64{index(walk.tenant)} << 56 | in_space;
  }
  /// The deepest level that a walk may begin below; calls `each(level, entry)` for every entry that is hit.
  template <class F>
  u32 deepest_hit(const Walk& walk, F&& each);

  WalkCacheConfig config_;
  const TableShape& shape_;
  u32 deepest_ = 0;  // level that is kept
  std::vector<TagArray<Meta>> caches_;
  Cycle port_cycle_ = 0;  // in which the last look-up begins
  u32 port_uses_ = 0;     // of that cycle
  const PlantedMistake* mistake_;
};

}  // namespace terrace
