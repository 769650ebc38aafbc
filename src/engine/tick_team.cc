// SPDX-License-Identifier: MIT
#include "engine/tick_team.h"

#include <algorithm>
#include <utility>

#include "engine/scheduler.h"
#include "engine/tick_thread.h"

namespace terrace {

namespace {

// How often a thread looks before it offers its core to others at each look: a few microseconds, which is longer than most
// rounds take.
constexpr u32 kLooks = 200;
// And how often a member of the team looks before it sleeps until it is woken, which takes a system call.
constexpr u32 kLooksBeforeSleep = 4'000;

void wait_a_little(u32 looks) {
  if (looks < kLooks)
    __builtin_ia32_pause();
  else
    std::this_thread::yield();
}

/// Whoever acts for other threads is the first again, also when a unit throws.
struct ActAs {
  ActAs() = default;
  ActAs(const ActAs&) = delete;
  ActAs& operator=(const ActAs&) = delete;
  ~ActAs() { tick_thread = 0; }
};

}  // namespace

TickTeam::TickTeam(Scheduler& scheduler, u32 threads)
    : scheduler_(scheduler), threads_(threads), members_(std::make_unique<Member[]>(threads)) {
  for (u32 i = 0; i < threads; ++i) {
    Member& one = members_[i];
    if (i > 0) one.own_wheel = std::make_unique<Wheel>();
    one.wheel = i == 0 ? &scheduler.wheel_ : one.own_wheel.get();
    for (auto& post : one.post) post.resize(threads);
  }
  for (u32 i = 1; i < threads; ++i) others_.emplace_back([this, i] { member(i); });
}

TickTeam::~TickTeam() {
  quit_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& other : others_) other.join();
}

void TickTeam::member(u32 thread) {
  tick_thread = thread;
  for (u32 seen = 0;;) {
    u32 looks = 0;
    while (round_.load(std::memory_order_acquire) == seen) {
      if (++looks < kLooksBeforeSleep)
        wait_a_little(looks);
      else
        round_.wait(seen, std::memory_order_acquire);
    }
    if (quit_) return;
    ++seen;
    try {
      work(thread);
    } catch (...) {
      members_[thread].error = std::current_exception();
    }
    members_[thread].done.store(seen, std::memory_order_release);
  }
}

void TickTeam::post(u32 to, u32 rank, Cycle at) {
  Member& from = members_[tick_thread];
  from.post[round_.load(std::memory_order_relaxed) & 1][to].push_back({at, rank});
  if (at < from.ahead.next) {
    from.ahead = {at, 1};
  } else {
    from.ahead.due += at == from.ahead.next;
  }
}

void TickTeam::read_post(u32 thread, u32 round) {
  for (u32 from = 0; from < threads_; ++from) {
    std::vector<Wake>& post = members_[from].post[round & 1][thread];
    for (const Wake& wake : post) members_[thread].wheel->wake(wake.rank, wake.at);
    post.clear();
  }
}

/// What its own wheel has ahead, beside what it has posted.
void TickTeam::look(u32 thread) {
  Member& one = members_[thread];
  const Cycle next = one.wheel->next_due();
  if (next > one.ahead.next) return;
  const u32 posted = next == one.ahead.next ? one.ahead.due : 0;
  one.ahead = {next, next == kNever ? 0 : one.wheel->due_in(next) + posted};
}

void TickTeam::work(u32 thread) {
  members_[thread].ahead = {};
  read_post(thread, round_.load(std::memory_order_relaxed) - 1);
  members_[thread].wheel->advance(scheduler_.now_);
  scheduler_.tick_wheel(thread);
  look(thread);
}

void TickTeam::tick_together() {
  scheduler_.together_ = true;
  const u32 round = round_.load(std::memory_order_relaxed) + 1;
  round_.store(round, std::memory_order_release);
  round_.notify_all();
  try {
    work(0);
  } catch (...) {
    members_[0].error = std::current_exception();
  }
  for (u32 i = 1; i < threads_; ++i) {
    for (u32 looks = 0; members_[i].done.load(std::memory_order_acquire) != round; ++looks) wait_a_little(looks);
  }
  scheduler_.together_ = false;
  for (u32 i = 0; i < threads_; ++i) {
    if (members_[i].error) std::rethrow_exception(std::exchange(members_[i].error, nullptr));
  }
}

void TickTeam::tick_alone() {
  for (u32 i = 0; i < threads_; ++i) {
    read_post(i, round_.load(std::memory_order_relaxed));
    members_[i].wheel->advance(scheduler_.now_);
  }
  const ActAs as;
  for (u32 i = 0; i < threads_; ++i) {
    tick_thread = i;
    scheduler_.tick_wheel(i);
  }
  for (u32 i = 0; i < threads_; ++i) {
    members_[i].ahead = {};
    look(i);
  }
}

void TickTeam::woken(u32 thread, Cycle at) {
  Outlook& ahead = members_[thread].ahead;
  if (at < ahead.next) {
    ahead = {at, 1};
  } else {
    ahead.due += at == ahead.next;
  }
}

TickTeam::Outlook TickTeam::outlook() const {
  Outlook all;
  for (u32 i = 0; i < threads_; ++i) {
    const Outlook& one = members_[i].ahead;
    if (one.next > all.next) continue;
    all.due = one.next == all.next ? all.due + one.due : one.due;
    all.next = one.next;
  }
  return all;
}

}  // namespace terrace
