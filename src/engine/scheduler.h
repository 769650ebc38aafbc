// Decides which units tick in which cycle. Only the scheduler advances time, and it skips cycles in which no unit is due.
//
// Units of one cycle may tick on several threads at once: nothing passes between units within a cycle, so no result
// depends on who ticks first, or beside whom. Each unit belongs to one thread, which has a wheel of its own. A cycle with
// few units due is ticked by one thread alone, for a round of all costs more than it saves.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/out_of_line.h"
#include "engine/share_choice.h"
#include "engine/tick_thread.h"
#include "engine/types.h"
#include "engine/unit.h"
#include "engine/wheel.h"

namespace terrace {

class Archive;
class TickTeam;

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
    u32 threads = 1;       // that tick units at once; results do not depend on it
    u32 share_from = 0;    // share a cycle among threads if so many units are due; 0: what turns out to be fastest
    /// Which unit ticks in place of one that is added; nothing: that one itself. A stand-in can stop a unit in mid-run, to see
    /// what fills up behind it.
    std::function<Unit&(const std::string& name, Unit& unit)> stand_in = {};
  };

  Scheduler();
  explicit Scheduler(Options options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Adds a unit under a name that reports use. Not while running.
  UnitId add(Unit& unit, std::string name);
  /// The thread that ticks a unit, counted around those that there are. Before the first cycle. Units that talk to each
  /// other in most cycles are better placed together, those that are busy in the same cycles apart.
  void place(UnitId unit, u32 thread) { thread_of_[index(unit)] = thread % options_.threads; }

  /// The unit ticks in cycle `at`, which must lie after the current one. O(1), idempotent, never cancelled.
  void wake(UnitId unit, Cycle at) {
    const u32 rank = rank_[index(unit)];
    if (team_ == nullptr) [[likely]]
      return wheel_.wake(rank, at);
    wake_in_team(index(unit), rank, at);
  }
  /// The unit's `commit` runs at the end of this cycle.
  void defer(UnitId unit) {
    OfThread& its = of_thread_[tick_thread];
    (apart_[index(unit)] ? its.commit_apart : its.commit) = true;
    deferred_[tick_thread * row_ + index(unit) / 64] |= u64{1} << index(unit) % 64;
  }
  /// `run` returns after this cycle.
  void stop() { of_thread_[tick_thread].stop = true; }
  /// Whether other units may tick at this very moment.
  bool ticks_together() const { return together_; }

  /// Runs cycles now() .. until - 1. Every unit ticks in the very first cycle.
  End run(Cycle until);

  Cycle now() const { return now_; }
  u64 ticks() const;
  u32 units() const { return static_cast<u32>(units_.size()); }
  u32 threads() const { return options_.threads; }
  const std::string& name(UnitId unit) const { return names_[index(unit)]; }

  Unit& unit(UnitId id) { return *units_[index(id)]; }

  /// Nobody is due, ever. Between cycles only.
  bool idle() const;

  /// Time, and who is due when. Not before the first cycle; restored into a scheduler that has not run. The number of
  /// threads and the tick order are not part of it.
  void archive(Archive& a);

  /// What every unit waits for, for the report of a deadlock.
  std::string explain() const;

 private:
  friend class TickTeam;

  void start();
  void arrange();
  std::vector<std::pair<Cycle, UnitId>> all_due();
  TERRACE_OUT_OF_LINE void wake_in_team(u32 unit, u32 rank, Cycle at);
  /// Ticks what is due on the wheel of a thread, as that thread.
  void tick_wheel(Wheel& wheel, u32 thread);
  Cycle tick_unit(u32 unit);
  Cycle tick_unit(Unit& unit, u32 id);
  End run_alone(Cycle until);
  End run_team(Cycle until);
  void run_deferred();
  void commit_apart(u32 thread);

  // What every wake-up looks at stands together.
  TickTeam* team_ = nullptr;  // null: one thread
  bool together_ = false;
  std::vector<u32> rank_;  // by id: place in the tick order of its thread
  Wheel wheel_;            // of the first thread
  Options options_;
  Cycle now_ = 0;
  std::vector<Unit*> units_;  // in order of addition
  std::vector<std::string> names_;
  std::vector<u32> thread_of_;  // by id
  struct alignas(64) OfThread {
    std::vector<UnitId> units;   // by rank
    std::vector<Unit*> by_rank;  // those units
    u64 ticks = 0;
    bool stop = false, commit = false, commit_apart = false;  // a unit asked for it
  };
  std::vector<OfThread> of_thread_;
  u32 words_ = 0, row_ = 0;    // 64-bit words for a bit of each unit, and in a row of the following
  std::vector<u64> deferred_;  // by thread
  std::vector<u8> apart_;      // by id: Unit::commits_apart
  ShareChoice share_;
  std::unique_ptr<TickTeam> own_team_;
  bool started_ = false;
};

}  // namespace terrace
