// Many links that end at one unit: one input per producer, each with its own queue entries, all with the same latency,
// unless a message makes a detour; those of one input must all make the same one.
// The consumer sees at once which inputs hold messages, so it never scans empty ones. Each input behaves like a Link:
// nothing passes within a cycle, in either direction.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "engine/archive.h"
#include "engine/check.h"
#include "engine/scheduler.h"
#include "engine/shared_ring.h"
#include "engine/types.h"

namespace terrace {

template <class T>
class Funnel {
 public:
  static constexpr u32 kNoInput = ~u32{0};

  /// `capacity`: messages on the way and waiting, per input. `detour`: cycles that a message takes longer, at most.
  Funnel(Scheduler& scheduler, u32 inputs, u32 latency, u32 capacity, u32 detour = 0)
      : scheduler_(scheduler),
        latency_(latency),
        wheel_mask_(std::bit_ceil(latency + detour + 1) - 1),
        words_((inputs + 63) / 64),
        count_(inputs),
        inputs_(std::make_unique<Input[]>(inputs)) {
    const u32 words = words_ * (kArriving + wheel_mask_ + 1);
    if (words > few_sets_.size()) {
      many_sets_ = std::make_unique<u64[]>(words);
      sets_ = many_sets_.get();
    }
    SIM_CHECK(latency >= 1 && capacity >= 1, "a funnel of latency {} and capacity {}", latency, capacity);
    for (u32 i = 0; i < inputs; ++i) inputs_[i].waiting.set_capacity(capacity);
  }
  Funnel(const Funnel&) = delete;
  Funnel& operator=(const Funnel&) = delete;

  void connect_producer(u32 input, UnitId producer) { inputs_[input].producer = producer; }
  void connect_consumer(UnitId consumer) { consumer_ = consumer; }

  /// Whether one more message fits into the input in this cycle. A refused producer is woken when a place is freed.
  bool can_push(u32 input_index, Cycle now) {
    Input& input = inputs_[input_index];
    if (input.waiting.has_room(now)) return true;
    if (input.refused.note(scheduler_.ticks_together()) || input.waiting.popped_in(now))
      scheduler_.wake(input.producer, now + 1);
    return false;
  }
  void push(u32 input_index, Cycle now, T message, u32 detour = 0) {
    const Cycle arrives = now + latency_ + detour;
    inputs_[input_index].waiting.push({arrives, std::move(message)});
    u64& word = arriving_at(arrives)[input_index / 64];
    const u64 bit = u64{1} << input_index % 64;
    if (scheduler_.ticks_together()) [[unlikely]]
      std::atomic_ref(word).fetch_or(bit, std::memory_order_relaxed);  // other producers share the word
    else
      word |= bit;
    scheduler_.wake(consumer_, arrives);
  }

  /// Takes note of what arrives in this cycle. The consumer calls it first in each tick; the pushes have woken it in
  /// every cycle in which something arrives. Whether something did.
  bool absorb(Cycle now) {
    u64* const arriving = arriving_at(now);
    if (words_ == 1) [[likely]] {
      // No host foresees whether something arrives: hence the same work in any case.
      const u64 fresh = set_of(kNew)[0] = std::exchange(*arriving, 0);
      set_of(kReady)[0] |= fresh;
      return fresh != 0;
    }
    u64 any = 0;
    for (u32 word = 0; word < words_; ++word) {
      const u64 fresh = set_of(kNew)[word] = std::exchange(arriving[word], 0);
      set_of(kReady)[word] |= fresh;
      any |= fresh;
    }
    return any != 0;
  }
  /// Later in the tick: calls `each(input, message)` for everything that arrived in this cycle and is still there.
  template <class F>
  void visit_new(Cycle now, F&& each) const {
    for (u32 word = 0; word < words_; ++word) {
      for (u64 left = set_of(kNew)[word]; left != 0; left &= left - 1) {
        const u32 input = word * 64 + static_cast<u32>(std::countr_zero(left));
        const SharedRing<Traveller>& waiting = inputs_[input].waiting;
        for (u32 i = waiting.size(); i > 0 && waiting[i - 1].arrives >= now; --i) {
          if (waiting[i - 1].arrives == now) each(input, waiting[i - 1].message);
        }
      }
    }
  }
  /// Calls `each(message, arrived)` for what has arrived on an input by cycle `now`, in order.
  template <class F>
  void visit_arrived(u32 input, Cycle now, F&& each) const {
    const SharedRing<Traveller>& waiting = inputs_[input].waiting;
    for (u32 i = 0; i < waiting.size() && waiting[i].arrives <= now; ++i) each(waiting[i].message, waiting[i].arrives);
  }
  /// When the front of an input arrived.
  Cycle arrival(u32 input) const { return inputs_[input].waiting.front().arrives; }
  /// The first input at or after `from`, around the circle, whose front has arrived; kNoInput when there is none.
  u32 next_ready(u32 from) const {
    return scan(from, [&](u32 word) { return set_of(kReady)[word]; });
  }
  /// Likewise, leaving out inputs whose bit is set in `without`.
  u32 next_ready(u32 from, const std::vector<u64>& without) const {
    return scan(from, [&](u32 word) { return set_of(kReady)[word] & ~without[word]; });
  }
  bool any_ready() const {
    if (words_ == 1) [[likely]]
      return set_of(kReady)[0] != 0;
    u64 any = 0;
    for (u32 word = 0; word < words_; ++word) any |= set_of(kReady)[word];
    return any != 0;
  }
  const T& front(u32 input) const { return inputs_[input].waiting.front().message; }
  T pop(u32 input_index, Cycle now) {
    Input& input = inputs_[input_index];
    SIM_DCHECK(set_of(kReady)[input_index / 64] >> input_index % 64 & 1,
               "pop from input {}, on which nothing has arrived", input_index);
    T message = input.waiting.pop(now).message;
    if (input.refused.take()) scheduler_.wake(input.producer, now + 1);
    // The place behind the last message holds an old one, or none: it is there to be read.
    const bool none = input.waiting.empty() | (input.waiting.front().arrives > now);
    set_of(kReady)[input_index / 64] &= ~(u64{none} << input_index % 64);
    return message;
  }

  u32 inputs() const { return count_; }
  u32 latency() const { return latency_; }
  bool empty(u32 input) const { return inputs_[input].waiting.empty(); }
  u32 size(u32 input) const { return inputs_[input].waiting.size(); }

  void archive(Archive& a) {
    a.expect(words_ * (kArriving + wheel_mask_ + 1), "the words of a funnel");
    for (u32 i = 0; i < words_ * (kArriving + wheel_mask_ + 1); ++i) a(sets_[i]);
    for (u32 i = 0; i < count_; ++i) a(inputs_[i].waiting, inputs_[i].refused);
  }

 private:
  struct Traveller {
    Cycle arrives = 0;
    T message{};
  };
  struct Input {
    SharedRing<Traveller> waiting;
    UnitId producer{};
    Refusal refused;
  };
  template <class Bits>
  u32 scan(u32 from, Bits&& bits_of) const {
    if (words_ == 1) [[likely]] {
      const u64 bits = bits_of(0);
      // As a circle of 64, of which the last ones are not there.
      if (bits == 0) return kNoInput;
      return (from + static_cast<u32>(std::countr_zero(std::rotr(bits, static_cast<int>(from))))) % 64;
    }
    u32 word = from / 64;
    u64 bits = bits_of(word) & (~u64{0} << from % 64);
    for (u32 step = 0; step <= words_; ++step) {
      if (bits != 0) return word * 64 + static_cast<u32>(std::countr_zero(bits));
      word = word + 1 == words_ ? 0 : word + 1;
      bits = bits_of(word);
    }
    return kNoInput;
  }
  // Sets of inputs, one behind the other: a tick that finds nothing touches one cache line.
  enum Set : u32 {
    kReady,    // whose front has arrived
    kNew,      // on which something arrived last
    kArriving  // from here on, for each cycle of the latency ahead: on which something arrives then
  };
  u64* set_of(u32 set) { return &sets_[set * words_]; }
  const u64* set_of(u32 set) const { return &sets_[set * words_]; }
  u64* arriving_at(Cycle at) { return set_of(kArriving + (static_cast<u32>(at) & wheel_mask_)); }

  // With few inputs and a usual latency the sets stand here: a tick that finds nothing touches no other place.
  static constexpr u32 kFewSetWords = kArriving + 16;

  Scheduler& scheduler_;
  UnitId consumer_{};
  u32 latency_;
  u32 wheel_mask_;
  u32 words_;
  u64* sets_ = few_sets_.data();
  std::array<u64, kFewSetWords> few_sets_{};
  u32 count_;
  std::unique_ptr<Input[]> inputs_;
  std::unique_ptr<u64[]> many_sets_;
};

}  // namespace terrace
