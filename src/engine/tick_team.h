// The threads that tick the units of one cycle together. The first is the one that called Scheduler::run; the others wait
// until it calls a round, tick what is due on their own wheels, and say that they are done. A wake-up for a unit of
// another thread goes into that thread's post, which it reads when the next round begins.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "engine/types.h"
#include "engine/wheel.h"

namespace terrace {

class Scheduler;

class TickTeam {
 public:
  TickTeam(Scheduler& scheduler, u32 threads);
  ~TickTeam();
  TickTeam(const TickTeam&) = delete;
  TickTeam& operator=(const TickTeam&) = delete;

  Wheel& wheel(u32 thread) { return *members_[thread].wheel; }

  /// From a unit that ticks, for a unit of another thread; during a round only.
  void post(u32 to, u32 rank, Cycle at);
  /// The next cycle in which a unit is due, and at least how many are. Between rounds.
  struct Outlook {
    Cycle next = kNever;
    u32 due = 0;
  };
  Outlook outlook() const;
  /// Somebody woke a unit of that thread between rounds.
  void woken(u32 thread, Cycle at);
  /// All threads tick what is due in the scheduler's cycle. What a unit threw comes out here.
  void tick_together();
  /// This thread does it for all.
  void tick_alone();

 private:
  struct Wake {
    Cycle at;
    u32 rank;
  };
  /// What threads wait for each other with has cache lines of its own.
  struct alignas(64) Member {
    Wheel* wheel = nullptr;
    std::unique_ptr<Wheel> own_wheel;        // of all but the first
    std::vector<std::vector<Wake>> post[2];  // to each thread: that of this round and that of the last one
    Outlook ahead;                           // as of the end of its last round, with what it posted
    std::exception_ptr error;
    alignas(64) std::atomic<u32> done{0};  // its last round
  };

  void work(u32 thread);
  void member(u32 thread);
  void read_post(u32 thread, u32 round);
  void look(u32 thread);

  Scheduler& scheduler_;
  const u32 threads_;
  std::unique_ptr<Member[]> members_;
  bool quit_ = false;
  alignas(64) std::atomic<u32> round_{0};
  std::vector<std::thread> others_;
};

}  // namespace terrace
