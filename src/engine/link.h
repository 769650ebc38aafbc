// A connection between two units: one producer, one consumer, a latency of at least one cycle. A message pushed in
// cycle t is visible in t + latency; an entry that the consumer frees in cycle t can be used in t + 1. So nothing
// passes within a cycle in either direction, and no result depends on which of the two units ticks first, or whether they
// tick at once on two threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <utility>

#include "engine/archive.h"
#include "engine/check.h"
#include "engine/scheduler.h"
#include "engine/shared_ring.h"
#include "engine/types.h"

namespace terrace {

struct LinkShape {
  u32 rate = 1;      // messages per cycle
  u32 latency = 1;   // cycles
  u32 capacity = 0;  // entries: messages in flight or queued; 0: the smallest capacity that runs at full rate

  /// An entry is used for `latency` cycles in flight and is available again one cycle after it was freed.
  u32 full_rate_capacity() const { return rate * (latency + 1); }
};

template <class T>
class Link {
 public:
  Link(Scheduler& scheduler, LinkShape shape) : scheduler_(scheduler), rate_(shape.rate), latency_(shape.latency) {
    waiting_.set_capacity(shape.capacity ? shape.capacity : shape.full_rate_capacity(), scheduler.threads() == 1);
    SIM_CHECK(latency_ >= 1, "a link needs a latency of at least one cycle");
    SIM_CHECK(rate_ >= 1, "a link needs a rate of at least one message per cycle");
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// Both ends, once, before the first cycle.
  void connect(UnitId producer, UnitId consumer) {
    producer_ = producer;
    consumer_ = consumer;
  }

  /// This bit is set as long as there are messages: for a consumer with many links, most of them empty. Before the first
  /// cycle.
  void mark_in(u64& word, u64 bit) {
    marks_ = &word;
    mark_ = bit;
  }

  /// Whether one more message fits in this cycle. A refused producer is woken when that can have changed.
  bool can_push(Cycle now) {
    if (pushed_in(now) >= rate_) {
      scheduler_.wake(producer_, now + 1);
      return false;
    }
    if (waiting_.has_room(now)) return true;
    if (refused_.note(scheduler_.ticks_together()) || waiting_.popped_in(now)) scheduler_.wake(producer_, now + 1);
    return false;
  }
  void push(Cycle now, T message) {
    SIM_DCHECK(pushed_in(now) < rate_ && waiting_.has_room(now),
               "push to a link that is full or was used up in this cycle");
    if (last_push_ != now) {
      last_push_ = now;
      pushes_ = 0;
    }
    ++pushes_;
    waiting_.push({now + latency_, std::move(message)});
    if (marks_ != nullptr) set_mark();
    scheduler_.wake(consumer_, now + latency_);
  }

  /// The oldest message that has arrived, or null.
  const T* front(Cycle now) const {
    return !waiting_.empty() && waiting_.front().arrives <= now ? &waiting_.front().message : nullptr;
  }
  T pop(Cycle now) {
    SIM_DCHECK(front(now) != nullptr, "pop from a link on which nothing has arrived");
    T message = waiting_.pop(now).message;
    if (refused_.take()) scheduler_.wake(producer_, now + 1);
    if (marks_ != nullptr && waiting_.empty()) clear_mark();
    return message;
  }
  /// Calls `each(message, arrived)` for what has arrived by cycle `now`, in order.
  template <class F>
  void visit_arrived(Cycle now, F&& each) const {
    for (u32 i = 0; i < waiting_.size() && waiting_[i].arrives <= now; ++i)
      each(waiting_[i].message, waiting_[i].arrives);
  }
  /// When the oldest message arrives: a consumer that sleeps is woken then by itself.
  Cycle next_arrival() const { return waiting_.empty() ? kNever : waiting_.front().arrives; }

  bool empty() const { return waiting_.empty(); }
  u32 size() const { return waiting_.size(); }
  u32 capacity() const { return waiting_.capacity(); }
  u32 latency() const { return latency_; }

  void archive(Archive& a) {
    a(waiting_, last_push_, pushes_, refused_);
    if (a.restores() && marks_ != nullptr) waiting_.empty() ? void(*marks_ &= ~mark_) : void(*marks_ |= mark_);
  }

 private:
  struct Traveller {
    Cycle arrives = 0;
    T message{};
  };
  void set_mark() {
    if (scheduler_.ticks_together()) [[unlikely]]
      std::atomic_ref(*marks_).fetch_or(mark_, std::memory_order_acq_rel);  // other links share the word
    else
      *marks_ |= mark_;
  }
  /// On two threads something may have been pushed since the link was seen to be empty.
  void clear_mark() {
    if (!scheduler_.ticks_together()) [[likely]] {
      *marks_ &= ~mark_;
      return;
    }
    std::atomic_ref(*marks_).fetch_and(~mark_, std::memory_order_acq_rel);
    if (!waiting_.empty()) set_mark();
  }
  u32 pushed_in(Cycle now) const { return last_push_ == now ? pushes_ : 0; }

  Scheduler& scheduler_;
  UnitId producer_{}, consumer_{};
  u32 rate_;
  u32 latency_;
  SharedRing<Traveller> waiting_;
  Cycle last_push_ = kNever;
  u32 pushes_ = 0;
  Refusal refused_;
  u64* marks_ = nullptr;
  u64 mark_ = 0;
};

}  // namespace terrace
