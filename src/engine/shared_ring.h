// The queue between two units that may tick at once on different threads: one pushes, the other pops. The producer sees
// what the consumer had popped before this cycle and no more, however far the consumer is in its own tick; the consumer
// sees what was pushed before, and may or may not see what is pushed in this cycle, which has not arrived for it.
// On one thread this costs no more than a plain ring.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <utility>

#include "engine/archive.h"
#include "engine/check.h"
#include "engine/out_of_line.h"
#include "engine/types.h"

namespace terrace {

template <class T>
class SharedRing {
 public:
  SharedRing() = default;
  explicit SharedRing(u32 capacity) { set_capacity(capacity); }
  /// Before its first use. `alone`: both ends are on one thread. Then there are as many entries as were ever used at a time:
  /// a ring that goes through many of them in turn finds none in the host's caches.
  void set_capacity(u32 capacity, bool alone = false) {
    const u32 entries = std::bit_ceil(alone ? std::min(capacity, kFewEntries) : capacity);
    entries_ = std::make_unique<T[]>(entries);
    mask_ = entries - 1;
    capacity_ = capacity;
  }

  u32 capacity() const { return capacity_; }

  // The producer's end.
  /// Whether an entry is free that was so when the cycle began.
  bool has_room(Cycle now) const {
    // In this order: a head that has moved in this cycle is seen only together with the cycle in which it moved.
    const u32 head = head_.load(std::memory_order_acquire);
    const u32 began = last_pop_.load(std::memory_order_acquire) == now ? before_.load(std::memory_order_relaxed) : head;
    return tail_.load(std::memory_order_relaxed) - began < capacity_;
  }
  /// Whether the consumer has popped in this cycle, as far as can be seen.
  bool popped_in(Cycle now) const { return last_pop_.load(std::memory_order_acquire) == now; }
  void push(T value) {
    const u32 tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_relaxed) > mask_) [[unlikely]]
      grow();
    entries_[tail & mask_] = std::move(value);
    tail_.store(tail + 1, std::memory_order_release);
  }

  // The consumer's end.
  u32 size() const { return tail_.load(std::memory_order_acquire) - head_.load(std::memory_order_relaxed); }
  bool empty() const { return size() == 0; }
  const T& front() const { return (*this)[0]; }
  /// The element `n` places behind the front.
  const T& operator[](u32 n) const { return entries_[(head_.load(std::memory_order_relaxed) + n) & mask_]; }
  T pop(Cycle now) {
    SIM_DCHECK(!empty(), "pop from an empty ring");
    const u32 head = head_.load(std::memory_order_relaxed);
    if (last_pop_.load(std::memory_order_relaxed) != now) {
      before_.store(head, std::memory_order_relaxed);
      last_pop_.store(now, std::memory_order_release);
    }
    T value = std::move(entries_[head & mask_]);
    head_.store(head + 1, std::memory_order_release);
    return value;
  }

  /// Between cycles. What was popped in the last one no longer matters then.
  void archive(Archive& a) {
    u32 count = size();
    a(count);
    if (a.restores()) {
      while (mask_ < count && mask_ + 1 < capacity_) grow();
      head_ = 0;
      tail_ = count;
      last_pop_ = kNever;
    }
    for (u32 i = 0; i < count; ++i) a(entries_[(head_.load(std::memory_order_relaxed) + i) & mask_]);
  }

 private:
  static constexpr u32 kFewEntries = 4;  // a choice
  TERRACE_OUT_OF_LINE void grow() {
    auto more = std::make_unique<T[]>(2 * size_t{mask_} + 2);
    const u32 mask = 2 * mask_ + 1, tail = tail_.load(std::memory_order_relaxed);
    for (u32 at = head_.load(std::memory_order_relaxed); at != tail; ++at)
      more[at & mask] = std::move(entries_[at & mask_]);
    entries_ = std::move(more);
    mask_ = mask;
  }

  std::unique_ptr<T[]> entries_;
  u32 mask_ = 0;
  u32 capacity_ = 0;
  // These run freely and wrap together.
  std::atomic<u32> tail_{0};
  std::atomic<u32> head_{0};
  std::atomic<u32> before_{0};  // the head before cycle last_pop_
  std::atomic<Cycle> last_pop_{kNever};
};

/// That a producer found no room and sleeps until an entry is freed. The consumer wakes it then. On two threads they may
/// miss each other in the cycle in which the producer falls asleep, and only in that one, so it looks again in the next.
class Refusal {
 public:
  /// For the producer. Whether it must look again by itself.
  bool note(bool together) {
    if (noted_.load(std::memory_order_relaxed)) return false;
    noted_.store(true, std::memory_order_relaxed);
    return together;
  }
  /// For the consumer, which has freed an entry. Whether it must wake the producer.
  bool take() {
    if (!noted_.load(std::memory_order_relaxed)) return false;
    noted_.store(false, std::memory_order_relaxed);
    return true;
  }

  void archive(Archive& a) { a(noted_); }

 private:
  std::atomic<bool> noted_{false};
};

}  // namespace terrace
