// SPDX-License-Identifier: MIT
#include "engine/tick_team.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/scheduler.h"

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

/// Whoever acts for other threads is the first again in the end, also when a unit throws.
struct ActForOthers {
  ActForOthers() = default;
  ActForOthers(const ActForOthers&) = delete;
  ActForOthers& operator=(const ActForOthers&) = delete;
  ~ActForOthers() { tick_thread = 0; }
};

}  // namespace

TickTeam::TickTeam(Scheduler& scheduler, u32 threads)
    : scheduler_(scheduler), threads_(threads), members_(std::make_unique<Member[]>(threads)) {
  for (u32 i = 0; i < threads; ++i) {
    Member& one = members_[i];
    if (i > 0) one.own_wheel = std::make_unique<Wheel>();
    one.wheel = i == 0 ? &scheduler.wheel_ : one.own_wheel.get();
    for (auto& post : one.post) post = std::make_unique<Post[]>(threads);
  }
  for (u32 i = 1; i < threads; ++i) others_.emplace_back([this, i] { member(i); });
}

TickTeam::~TickTeam() {
  quit_ = true;
  call_.round.fetch_add(1, std::memory_order_release);
  call_.round.notify_all();
  for (std::thread& other : others_) other.join();
}

void TickTeam::member(u32 thread) {
  tick_thread = thread;
  for (u32 seen = 0;;) {
    for (u32 looks = 0; call_.round.load(std::memory_order_acquire) == seen; ++looks) {
      if (looks < kLooksBeforeSleep)
        wait_a_little(looks);
      else
        call_.round.wait(seen, std::memory_order_acquire);
    }
    if (quit_) return;
    ++seen;
    work(thread);
    members_[thread].report.done.store(seen, std::memory_order_release);
  }
}

void TickTeam::resize() {
  all_.resize(scheduler_.units());
  for (u32 i = 0; i < threads_; ++i) members_[i].wheel->resize(static_cast<u32>(scheduler_.of_thread_[i].units.size()));
}

void TickTeam::wake(u32 unit, u32 thread, u32 rank, Cycle at) {
  if (gathered_) return all_.wake(unit, at);
  if (scheduler_.together_ && thread != tick_thread) return post(thread, rank, at);
  members_[thread].wheel->wake(rank, at);
  if (!scheduler_.together_) note(members_[thread].report.ahead, at);
}

bool TickTeam::gather() {
  if (std::exchange(gathered_, true)) return false;
  for (u32 i = 0; i < threads_; ++i) {
    read_post(i, call_.ticked);
    for (const auto& [at, rank] : members_[i].wheel->take_all())
      all_.wake(index(scheduler_.of_thread_[i].units[rank]), at);
  }
  return true;
}

void TickTeam::scatter() {
  if (!std::exchange(gathered_, false)) return;
  for (u32 i = 0; i < threads_; ++i) members_[i].report.ahead = {};
  for (const auto& [at, unit] : all_.take_all()) wake(unit, scheduler_.thread_of_[unit], scheduler_.rank_[unit], at);
}

void TickTeam::post(u32 to, u32 rank, Cycle at) {
  if (at == kNever) return;
  const u32 parity = call_.ticked & 1;
  Member& from = members_[tick_thread];
  Post& post = from.post[parity][to];
  if (post.count == 0) members_[to].senders[parity].threads.fetch_or(u64{1} << tick_thread, std::memory_order_relaxed);
  if (post.count < Post::kNear) {
    post.rank[post.count] = rank;
    post.at[post.count] = at;
  } else {
    post.more.push_back({at, rank});
  }
  ++post.count;
  note(from.report.ahead, at);
}

void TickTeam::read_post(u32 thread, u32 round) {
  Member& to = members_[thread];
  std::atomic<u64>& senders = to.senders[round & 1].threads;
  u64 left = senders.load(std::memory_order_relaxed);
  if (left == 0) return;
  senders.store(0, std::memory_order_relaxed);
  for (; left != 0; left &= left - 1) {
    Post& post = members_[std::countr_zero(left)].post[round & 1][thread];
    for (u32 i = 0; i < std::min(post.count, Post::kNear); ++i) to.wheel->wake(post.rank[i], post.at[i]);
    if (post.count > Post::kNear) {
      for (const Wake& wake : post.more) to.wheel->wake(wake.rank, wake.at);
      post.more.clear();
    }
    post.count = 0;
  }
}

/// What its own wheel has ahead, beside what it has posted.
void TickTeam::look(u32 thread) {
  Outlook& ahead = members_[thread].report.ahead;
  const Wheel& wheel = *members_[thread].wheel;
  const Cycle next = wheel.next_due();
  if (next > ahead.next || next == kNever) return;
  ahead = {next, wheel.due_in(next) + (next == ahead.next ? ahead.due : 0)};
}

TickTeam::Asked TickTeam::take_asked(u32 thread) {
  Scheduler::OfThread& its = scheduler_.of_thread_[thread];
  return {std::exchange(its.commit, false), std::exchange(its.commit_apart, false), std::exchange(its.stop, false)};
}

void TickTeam::work(u32 thread) {
  Member& one = members_[thread];
  try {
    call_.commits ? scheduler_.commit_apart(thread) : work_tick(thread);
  } catch (...) {
    one.error = std::current_exception();
    one.report.threw = true;
  }
}

void TickTeam::work_tick(u32 thread) {
  Member& one = members_[thread];
  one.report.ahead = {};
  read_post(thread, call_.ticked - 1);
  one.wheel->advance(scheduler_.now_);
  scheduler_.tick_wheel(*one.wheel, thread);
  one.wheel->advance(scheduler_.now_ + 1);
  one.report.asked = take_asked(thread);
  look(thread);
}

void TickTeam::call() {
  call_.round.fetch_add(1, std::memory_order_release);
  call_.round.notify_all();
}

/// What one of them threw comes out here.
void TickTeam::await_others() {
  const u32 round = call_.round.load(std::memory_order_relaxed);
  bool threw = members_[0].report.threw;
  for (u32 i = 1; i < threads_; ++i) {
    const Report& report = members_[i].report;
    for (u32 looks = 0; report.done.load(std::memory_order_acquire) != round; ++looks) wait_a_little(looks);
    threw |= report.threw;
  }
  if (!threw) [[likely]]
    return;
  scheduler_.together_ = false;
  for (u32 i = 0; i < threads_; ++i) {
    if (std::exchange(members_[i].report.threw, false)) std::rethrow_exception(members_[i].error);
  }
}

TickTeam::Asked TickTeam::tick_together() {
  scheduler_.together_ = true;
  call_.commits = false;
  ++call_.ticked;
  call();
  work(0);
  await_others();
  scheduler_.together_ = false;
  Asked all;
  for (u32 i = 0; i < threads_; ++i) all |= members_[i].report.asked;
  return all;
}

void TickTeam::commit_apart(bool together) {
  if (!together) {
    for (u32 i = 0; i < threads_; ++i) scheduler_.commit_apart(i);
    return;
  }
  call_.commits = true;
  call();
  work(0);
  await_others();
}

TickTeam::Asked TickTeam::tick_gathered() {
  const ActForOthers acting;
  all_.advance(scheduler_.now_);
  all_.take_due([&](u32 unit) {
    tick_thread = scheduler_.thread_of_[unit];
    ++scheduler_.of_thread_[tick_thread].ticks;
    const Cycle again = scheduler_.tick_unit(unit);
    if (again != kNever) all_.wake(unit, again);
  });
  all_.advance(scheduler_.now_ + 1);
  Asked all;
  for (u32 i = 0; i < threads_; ++i) all |= take_asked(i);
  return all;
}

TickTeam::Asked TickTeam::tick_alone() {
  if (gathered_) return tick_gathered();
  for (u32 i = 0; i < threads_; ++i) {
    read_post(i, call_.ticked);
    members_[i].wheel->advance(scheduler_.now_);
  }
  const ActForOthers acting;
  Asked all;
  for (u32 i = 0; i < threads_; ++i) {
    tick_thread = i;
    scheduler_.tick_wheel(*members_[i].wheel, i);
    all |= take_asked(i);
  }
  for (u32 i = 0; i < threads_; ++i) {
    members_[i].wheel->advance(scheduler_.now_ + 1);
    members_[i].report.ahead = {};
    look(i);
  }
  return all;
}

TickTeam::Outlook TickTeam::outlook() const {
  if (gathered_) return {all_.next_due(), 0};
  Outlook all;
  for (u32 i = 0; i < threads_; ++i) {
    const Outlook& one = members_[i].report.ahead;
    if (one.next > all.next) continue;
    all.due = one.next == all.next ? all.due + one.due : one.due;
    all.next = one.next;
  }
  return all;
}

}  // namespace terrace
