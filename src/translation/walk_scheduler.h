// The slot `mmu.walk_scheduler`: which walker takes an arriving walk, and which queue does a walker that falls idle
// serve? A scheduler owns what waits; the MMU owns the walkers. It is called when a walk arrives and when a walker
// falls idle, never per cycle.
//
//   place   once per arriving walk, and again after a refusal whenever a waiting walk has started. It answers with an
//           idle walker that starts the walk now, kQueued, or kRefused: then the walk waits in front of the MMU, and
//           holds up those behind it as `mmu.back_pressure` says.
//   next    when a walker has finished: its next walk, or nothing, which leaves it idle until `place` names it.
//
// Contract: every accepted walk is given out exactly once; no walker stays idle while a walk waits that it may take.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "config/registry.h"
#include "engine/archive.h"
#include "stats/stat_fields.h"
#include "translation/walk_order.h"

namespace terrace {

/// Some of the walkers, however many there are.
class WalkerSet {
 public:
  static constexpr u32 kNone = ~u32{0};
  explicit WalkerSet(u32 walkers) : words_((walkers + 63) / 64) {}
  void insert(u32 walker) { words_[walker / 64] |= u64{1} << walker % 64; }
  void erase(u32 walker) { words_[walker / 64] &= ~(u64{1} << walker % 64); }
  bool contains(u32 walker) const { return words_[walker / 64] >> walker % 64 & 1; }
  /// The lowest, or kNone.
  u32 first() const {
    for (u32 word = 0; word < words_.size(); ++word) {
      if (words_[word] != 0) return word * 64 + static_cast<u32>(std::countr_zero(words_[word]));
    }
    return kNone;
  }
  bool empty() const { return first() == kNone; }
  void archive(Archive& a) { a(words_); }

 private:
  std::vector<u64> words_;
};

/// What every scheduler counts.
struct WalkSchedulerStats {
  PerTenant<Counter> placed;
  void describe(StatFields& v) { v("placed", placed, "walks", "walks accepted by the scheduler"); }
};

class WalkScheduler {
 public:
  struct Context {
    u32 walkers = 1;
    u32 queue_entries = 1;  // all queues together
    u32 tenants = 1;
    bool one_tenant = false;  // the MMU is one tenant's own
    /// A queue of the configured order with so many entries.
    std::function<std::unique_ptr<WalkOrder>(u32 entries, u32 queue)> make_queue;
  };
  static constexpr SlotInfo kSlot{"mmu.walk_scheduler", "walk scheduler",
                                  "which walker gets a walk, and which queue an idle walker serves"};
  static constexpr i32 kQueued = -1, kRefused = -2;

  virtual ~WalkScheduler() = default;
  virtual i32 place(const Walk& walk, const WalkerSet& idle, Cycle now) = 0;
  virtual std::optional<Walk> next(u32 walker, Cycle now) = 0;
  virtual u32 waiting() const = 0;
  /// What changes while it runs, its queues included, but for statistics, for checkpoints. Between cycles only.
  virtual void archive(Archive& a) = 0;
  /// Whether this walker ever serves this tenant's walks: what the contract above means by "may take". Only the contract suite
  /// (tests/contract) asks; the MMU does what `place` and `next` say.
  virtual bool may_serve(u32 /*walker*/, TenantId /*tenant*/) const { return true; }
  /// Whose walks count on this walker while they wait (blame charges those whom it serves); nothing: everybody's do.
  virtual std::optional<TenantId> owner(u32 /*walker*/) const { return std::nullopt; }
  /// Who shares the walkers from now on. Between cycles only; what waits stays where it is.
  virtual void divide_among(const std::vector<TenantId>& /*tenants*/) {}

  /// A scheduler that counts more adds it.
  virtual void describe(StatFields& v) { stats.describe(v); }

  WalkSchedulerStats stats;
};

}  // namespace terrace
