// A set-associative array of tags: TLBs, caches and walk caches are built on it. A look-up (`find`) does not update
// recency; `touch` does, once the access is accepted, so that a refused access that tries again does not count twice.
// The way mask is for partitioning.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <vector>

#include "engine/archive.h"
#include "engine/check.h"
#include "engine/out_of_line.h"
#include "engine/polynomial_hash.h"
#include "engine/search.h"
#include "engine/types.h"

namespace terrace {

enum class Replacement : u8 { kLru, kPseudoLru };
/// How a key chooses its set: its low bits, those folded with all higher ones, or its remainder as a polynomial over
/// GF(2) by an irreducible one (Rau, ISCA 1991). Where the keys are those that another fold has chosen, as a memory
/// channel's is, folding leaves sets unused as soon as both folds line up; the remainder does not.
enum class SetHash : u8 { kLowBits, kFolded, kPolynomial };

using WayMask = u64;
inline constexpr WayMask kAllWays = ~WayMask{0};

struct TagShape {
  u32 entries = 0;
  u32 ways = 0;  // entries == ways: fully associative
  Replacement replacement = Replacement::kLru;
  SetHash hash = SetHash::kLowBits;
};

/// Hears what becomes of entries, for statistics that somebody asked for.
class TagObserver {
 public:
  virtual ~TagObserver() = default;
  virtual void filled(u32 entry) = 0;
  virtual void used(u32 entry) = 0;
  virtual void gone(u32 entry) = 0;
};

template <class Meta>
class TagArray {
 public:
  static constexpr i32 kMiss = -1;
  static constexpr u64 kInvalid = ~u64{0};

  TagArray() = default;
  explicit TagArray(TagShape shape) : ways_(shape.ways), replacement_(shape.replacement), hash_(shape.hash) {
    SIM_CHECK(ways_ > 0 && shape.entries % ways_ == 0, "{} entries do not divide into {} ways", shape.entries, ways_);
    const u32 sets = shape.entries / ways_;
    SIM_CHECK(std::has_single_bit(sets), "{} sets are not a power of two", sets);
    SIM_CHECK(replacement_ == Replacement::kLru || (std::has_single_bit(ways_) && ways_ <= 64),
              "pseudo-LRU needs a power of two of at most 64 ways, not {}", ways_);
    set_mask_ = sets - 1;
    set_bits_ = static_cast<u32>(std::countr_zero(sets));
    keys_.assign(shape.entries, kInvalid);
    used_.assign(shape.entries, 0);
    meta_.resize(shape.entries);
    trees_.assign(replacement_ == Replacement::kPseudoLru ? sets : 0, 0);
    if (hash_ == SetHash::kPolynomial) polynomial_ = PolynomialHash(set_bits_);
  }

  /// The entry that holds `key`, or kMiss. No side effect.
  i32 find(u64 key) const {
    const u32 first = set_of(key) * ways_;
    const i32 way = find_key(&keys_[first], ways_, key);
    return way < 0 ? kMiss : static_cast<i32>(first) + way;
  }
  /// Marks an entry as used now: once, when the access that found it is accepted.
  void touch(u32 entry) {
    if (observer_ != nullptr) [[unlikely]]
      observer_->used(entry);
    if (replacement_ == Replacement::kLru) {
      used_[entry] = ++clock_;
    } else {
      point_away(entry / ways_, entry % ways_);
    }
  }
  /// The entry that a fill of `key` should replace: a free one, else the least recently used among the allowed ways.
  u32 victim(u64 key, WayMask allowed = kAllWays) const { return victim_in(set_of(key), allowed); }
  /// Likewise for the keys of a set.
  u32 victim_in(u32 set, WayMask allowed = kAllWays) const {
    const u32 first = set * ways_;
    const WayMask all = ways_ < 64 ? (WayMask{1} << ways_) - 1 : kAllWays;
    if ((allowed & all) != all) [[unlikely]]
      return first + victim_among(set, allowed & all);
    if (const i32 free = find_key(&keys_[first], ways_, kInvalid); free >= 0) return first + static_cast<u32>(free);
    if (replacement_ == Replacement::kPseudoLru) return first + follow_tree(set, all);
    return first + find_least(&used_[first], ways_);
  }
  /// Gives `entry`, which `victim(key)` returned, to `key` and touches it.
  Meta& fill(u32 entry, u64 key) {
    SIM_DCHECK(key != kInvalid && entry / ways_ == set_of(key), "key {:#x} does not belong into entry {}", key, entry);
    if (observer_ != nullptr) [[unlikely]] {
      if (valid(entry)) observer_->gone(entry);
      observer_->filled(entry);
    }
    keys_[entry] = key;
    touch(entry);
    return meta_[entry];
  }
  void invalidate(u32 entry) {
    if (observer_ != nullptr && valid(entry)) [[unlikely]]
      observer_->gone(entry);
    keys_[entry] = kInvalid;
  }
  void clear() {
    for (u32 entry = 0; observer_ != nullptr && entry < entries(); ++entry) invalidate(entry);
    std::fill(keys_.begin(), keys_.end(), kInvalid);
  }
  /// From now on; before the first fill.
  void observe(TagObserver* observer) { observer_ = observer; }

  bool valid(u32 entry) const { return keys_[entry] != kInvalid; }
  u64 key(u32 entry) const { return keys_[entry]; }
  Meta& meta(u32 entry) { return meta_[entry]; }
  const Meta& meta(u32 entry) const { return meta_[entry]; }
  u32 entries() const { return static_cast<u32>(keys_.size()); }
  u32 ways() const { return ways_; }
  u32 set_of(u64 key) const {
    if (set_mask_ == 0) return 0;
    if (hash_ == SetHash::kPolynomial) return polynomial_(key);
    u64 folded = key;
    if (hash_ == SetHash::kFolded) {
      // Twice as many parts are added up in each step.
      for (u32 parts = set_bits_; parts < 64; parts *= 2) folded ^= folded >> parts;
    }
    return static_cast<u32>(folded) & set_mask_;
  }

  void archive(Archive& a) {
    a.expect(entries(), "the number of entries");
    a(clock_, keys_, used_, meta_, trees_);
  }

 private:
  bool may_use(WayMask allowed, u32 way) const { return way >= 64 || (allowed >> way & 1) != 0; }
  /// The way to replace when not all are allowed.
  TERRACE_OUT_OF_LINE u32 victim_among(u32 set, WayMask allowed) const {
    SIM_DCHECK(ways_ > 64 || allowed != 0, "no way is allowed");
    const u32 first = set * ways_;
    for (u32 way = 0; way < ways_; ++way) {
      if (keys_[first + way] == kInvalid && may_use(allowed, way)) return way;
    }
    if (replacement_ == Replacement::kPseudoLru) return follow_tree(set, allowed);
    u32 oldest = ~u32{0};
    for (u32 way = 0; way < ways_; ++way) {
      if (!may_use(allowed, way)) continue;
      if (oldest == ~u32{0} || used_[first + way] < used_[first + oldest]) oldest = way;
    }
    return oldest;
  }

  // The tree of a set has ways - 1 nodes, numbered as a heap from 1; a set bit sends the search for a victim right.
  TERRACE_OUT_OF_LINE void point_away(u32 set, u32 way) {
    u64& tree = trees_[set];
    for (u32 node = way + ways_; node > 1; node /= 2) {
      const u64 bit = u64{1} << node / 2;
      tree = node % 2 == 0 ? tree | bit : tree & ~bit;
    }
  }
  TERRACE_OUT_OF_LINE u32 follow_tree(u32 set, WayMask allowed) const {
    u32 node = 1;
    for (u32 span = ways_ / 2; node < ways_; span /= 2) {
      const bool right = trees_[set] >> node & 1;
      u32 next = node * 2 + right;
      // A partition may forbid a whole subtree: then the other one is taken.
      if (!any_allowed(next, span, allowed)) next ^= 1;
      node = next;
    }
    return node - ways_;
  }
  bool any_allowed(u32 node, u32 span, WayMask allowed) const {
    while (node < ways_) node *= 2;
    const WayMask under = (span >= 64 ? kAllWays : (WayMask{1} << span) - 1) << (node - ways_);
    return (allowed & under) != 0;
  }

  u32 ways_ = 0;
  u32 set_mask_ = 0;
  u32 set_bits_ = 0;
  Replacement replacement_ = Replacement::kLru;
  SetHash hash_ = SetHash::kLowBits;
  u64 clock_ = 0;
  PolynomialHash polynomial_;  // only for kPolynomial
  std::vector<u64> keys_;
  std::vector<u64> used_;
  std::vector<Meta> meta_;
  std::vector<u64> trees_;
  TagObserver* observer_ = nullptr;
};

}  // namespace terrace
