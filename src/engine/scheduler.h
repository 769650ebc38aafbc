// Decides which units tick in which cycle: a timing wheel of 4,096 buckets, each a bitset of units, with distant wake-ups
// in a small heap. Only the scheduler advances time, and it skips cycles in which no unit is due.
// SPDX-License-Identifier: MIT
#pragma once

#include <queue>
#include <string>
#include <vector>

#include "engine/types.h"
#include "engine/unit.h"

namespace terrace {

class Scheduler {
 public:
  /// Why `run` returned.
  enum class End : u8 {
    kLimit,    // time reached the limit
    kStopped,  // a unit asked to stop
    kIdle      // no unit will ever be due: done, or a deadlock if work is left
  };

  struct Options {
    bool sleep = true;     // false ticks every unit in every cycle: same results, only slower
    u64 permute_seed = 0;  // other than 0: units tick in a random order; results may not depend on it
  };

  Scheduler() : Scheduler(Options{}) {}
  explicit Scheduler(Options options);

  /// Adds a unit under a name that reports use. Not while running.
  UnitId add(Unit& unit, std::string name);
  /// Replaces a named unit by another one, before the first cycle, and returns the replaced unit. For tests: a stand-in
  /// can stop a unit in mid-run, to see what fills up behind it.
  Unit& replace(const std::string& name, Unit& stand_in);

  /// The unit ticks in cycle `at`, which must lie after the current one. O(1), idempotent, never cancelled.
  void wake(UnitId unit, Cycle at) {
    const u32 rank = rank_[index(unit)];
    if (at - now_ < kBuckets) [[likely]] {
      set(at, rank);
    } else {
      wake_far(rank, at);
    }
  }
  /// The unit's `commit` runs at the end of this cycle.
  void defer(UnitId unit) { deferred_[index(unit) / 64] |= u64{1} << index(unit) % 64; }
  /// `run` returns after this cycle.
  void stop() { stop_ = true; }

  /// Runs cycles now() .. until - 1. Every unit ticks in the very first cycle.
  End run(Cycle until);

  Cycle now() const { return now_; }
  u64 ticks() const { return ticks_; }
  u32 units() const { return static_cast<u32>(units_.size()); }
  const std::string& name(UnitId unit) const { return names_[index(unit)]; }

  Unit& unit(UnitId id) { return *units_[index(id)]; }

  /// Nobody is due, ever. Between cycles only.
  bool idle() const { return started_ && next_due() == kNever; }

  /// What every unit waits for, for the report of a deadlock.
  std::string explain() const;

 private:
  static constexpr u32 kBuckets = 4096;
  static constexpr u32 kBucketMask = kBuckets - 1;
  using Far = std::pair<Cycle, u32>;

  void start();
  void set(Cycle at, u32 rank) {
    const u32 bucket = at & kBucketMask;
    wheel_[bucket * words_ + rank / 64] |= u64{1} << rank % 64;
    occupied_[bucket / 64] |= u64{1} << bucket % 64;
    occupied_words_ |= u64{1} << bucket / 64;
  }
  void wake_far(u32 rank, Cycle at);
  Cycle next_due() const;
  void tick_due();
  void tick_all();
  void tick_unit(u32 rank);
  void run_deferred();

  Options options_;
  std::vector<Unit*> units_;  // in order of addition
  std::vector<std::string> names_;
  std::vector<u32> rank_;  // by id: place in the tick order
  std::vector<Unit*> by_rank_;
  std::vector<UnitId> id_by_rank_;
  u32 words_ = 0;  // 64-bit words per bucket
  std::vector<u64> wheel_;
  u64 occupied_[kBuckets / 64] = {};  // which buckets have a bit set,
  u64 occupied_words_ = 0;            // and which words of that have
  std::priority_queue<Far, std::vector<Far>, std::greater<>> far_;
  std::vector<u64> due_;  // the bucket being ticked
  std::vector<u64> deferred_;
  Cycle now_ = 0;
  u64 ticks_ = 0;
  bool started_ = false;
  bool stop_ = false;
};

}  // namespace terrace
