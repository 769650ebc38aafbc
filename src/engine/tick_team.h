// The threads that tick the units of one cycle together. The first is the one that called Scheduler::run; the others wait
// until it calls a round, tick what is due on their own wheels, and report. A wake-up for a unit of another thread goes into
// that thread's post, which it reads when the next round begins.
//
// While one thread does everything, all units are on one wheel, so that it takes no longer than without a team.
//
// What takes time is not the work but cache lines that travel between cores, so there are few: one line calls a round,
// each member reports in one, and posts are lines that only their two threads touch.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "engine/tick_thread.h"
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

  /// For a unit of this thread, known by its number and rank. From any tick, and between cycles.
  void wake(u32 unit, u32 thread, u32 rank, Cycle at);

  // Between cycles.
  /// Ranks are given out: every thread has so many units.
  void resize();
  /// The next cycle in which a unit is due, and about how many are.
  struct Outlook {
    Cycle next = kNever;
    u32 due = 0;
  };
  Outlook outlook() const;
  /// All units are on one wheel from now on, unless they are already; or each on that of its thread.
  bool gather();
  void scatter();
  /// Who is due when, by the number of a unit, while they are gathered; nobody is any more.
  std::vector<std::pair<Cycle, u32>> take_gathered() { return all_.take_all(); }
  /// All threads tick what is due in the scheduler's cycle, or this one does it for all. What a unit threw comes out here.
  struct Asked {
    bool commit = false, commit_apart = false, stop = false;  // a unit asked for it
    Asked& operator|=(const Asked& other) {
      commit |= other.commit;
      commit_apart |= other.commit_apart;
      stop |= other.stop;
      return *this;
    }
  };
  Asked tick_together();
  Asked tick_alone();
  /// Commits of units that commit apart: each thread's own, or all here.
  void commit_apart(bool together);

 private:
  struct Wake {
    Cycle at;
    u32 rank;
  };
  /// What one thread wakes of another one's in a round. The first few fit into one cache line.
  struct alignas(64) Post {
    static constexpr u32 kNear = 4;
    u32 count = 0;
    std::array<u32, kNear> rank;
    std::array<u64, kNear> at;
    std::vector<Wake> more;
  };
  struct alignas(64) Report {
    std::atomic<u32> done{0};  // its last round
    bool threw = false;
    Asked asked;
    Outlook ahead;  // on its own wheel, and of what it posted
  };
  struct alignas(64) Member {
    Report report;
    /// Who has post for it, a bit each; of this round and of the last one.
    struct alignas(64) Senders {
      std::atomic<u64> threads{0};
    };
    std::array<Senders, 2> senders;
    Wheel* wheel = nullptr;
    std::unique_ptr<Wheel> own_wheel;             // of all but the first
    std::array<std::unique_ptr<Post[]>, 2> post;  // to each thread, of this round and of the last one
    std::exception_ptr error;
  };

  /// From a unit that ticks, for a unit of another thread; during a round only.
  void post(u32 to, u32 rank, Cycle at);
  static void note(Outlook& ahead, Cycle at) {
    if (at < ahead.next)
      ahead = {at, 1};
    else
      ahead.due += at == ahead.next;
  }
  void member(u32 thread);
  void work(u32 thread);
  void work_tick(u32 thread);
  void call();
  void await_others();
  Asked take_asked(u32 thread);
  void read_post(u32 thread, u32 round);
  void look(u32 thread);

  Asked tick_gathered();

  Scheduler& scheduler_;
  const u32 threads_;
  bool gathered_ = false;
  Wheel all_;  // by the number of a unit, while they are gathered
  std::unique_ptr<Member[]> members_;
  bool quit_ = false;
  struct alignas(64) Call {
    std::atomic<u32> round{0};
    u32 ticked = 0;  // rounds in which units ticked, this one included
    bool commits = false;
  };
  Call call_;
  std::vector<std::thread> others_;
};

}  // namespace terrace
