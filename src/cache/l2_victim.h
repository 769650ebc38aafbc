// The slot `l2.victim`: which line of its set makes room for a line that arrives? Every slice has a policy of its own.
//
//   victim   once for each line that a slice takes: a way of the set, which must not be one that the policy itself
//            forbids to this tenant. A free way should go first: `lru` sees to that.
//   archive  what changes while it runs, for checkpoints; `{}` when nothing does.
// SPDX-License-Identifier: MIT
#pragma once

#include "cache/l2_line.h"
#include "config/registry.h"
#include "engine/archive.h"
#include "engine/tag_array.h"

namespace terrace {

/// The set that a line belongs to.
class L2Set {
 public:
  L2Set(const TagArray<L2Line>& tags, u64 key) : tags_(tags), set_(tags.set_of(key)), first_(set_ * tags.ways()) {}
  u32 ways() const { return tags_.ways(); }
  bool valid(u32 way) const { return tags_.valid(first_ + way); }
  const L2Line& line(u32 way) const { return tags_.meta(first_ + way); }
  /// A free way, or else the least recently used one, among those allowed.
  u32 lru(WayMask allowed = kAllWays) const { return tags_.victim_in(set_, allowed) - first_; }
  u32 first() const { return first_; }

 private:
  const TagArray<L2Line>& tags_;
  u32 set_;
  u32 first_;
};

class L2Victim {
 public:
  struct Context {
    u32 tenants = 1;
    u32 ways = 1;
    u32 slice = 0;
    u64 seed = 1;
  };
  static constexpr SlotInfo kSlot{"l2.victim", "L2 victim policy", "which line a fill replaces"};

  virtual ~L2Victim() = default;
  virtual u32 victim(const L2Set& set, const L2Line& arriving) = 0;
  virtual void archive(Archive& a) = 0;
  /// Whether lines of one tenant may push out those of another; a run ends when this is broken.
  virtual bool divides_tenants() const { return false; }
  /// Whether `victim` never says anything but `lru` of all ways: then it is not asked.
  virtual bool takes_lru() const { return false; }
};

}  // namespace terrace
