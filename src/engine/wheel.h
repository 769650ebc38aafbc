// Which units are due in which cycle: a timing wheel of 4,096 buckets, each a bitset of units, with distant wake-ups in a
// small heap. Units are known by their rank, which is also the order in which those of one cycle tick.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <queue>
#include <utility>
#include <vector>

#include "engine/out_of_line.h"
#include "engine/types.h"

namespace terrace {

class Wheel {
 public:
  /// Ranks are below this. Nobody may be due.
  void resize(u32 units);

  /// The unit is due in cycle `at`, now or later. O(1), idempotent, never cancelled.
  void wake(u32 rank, Cycle at) {
    if (at - now_ < kBuckets) [[likely]]
      set(at, rank);
    else
      wake_far(rank, at);
  }
  /// The first cycle in which a unit is due, or kNever.
  Cycle next_due() const;
  /// How many are due in a cycle less than 4,096 ahead.
  u32 due_in(Cycle at) const;

  /// Everything that is due, by cycle and rank; nothing is any more.
  std::vector<std::pair<Cycle, u32>> take_all();

  /// Time has reached this cycle. Nothing was due before.
  void advance(Cycle now) {
    now_ = now;
    while (!far_.empty() && far_.top().first - now_ < kBuckets) {
      set(far_.top().first, far_.top().second);
      far_.pop();
    }
  }
  /// Calls `tick(rank)` for each unit that is due now, by rank; none is due any more.
  template <class F>
  void take_due(F&& tick) {
    take_bucket();
    for (u32 word = 0; word < words_; ++word) {
      for (u64 left = due_[word]; left != 0; left &= left - 1)
        tick(word * 64 + static_cast<u32>(std::countr_zero(left)));
    }
  }
  void drop_due() { take_bucket(); }

 private:
  static constexpr u32 kBuckets = 4096;
  static constexpr u32 kBucketMask = kBuckets - 1;
  using Far = std::pair<Cycle, u32>;

  void set(Cycle at, u32 rank) {
    const u32 bucket = at & kBucketMask;
    buckets_[bucket * words_ + rank / 64] |= u64{1} << rank % 64;
    occupied_[bucket / 64] |= u64{1} << bucket % 64;
    occupied_words_ |= u64{1} << bucket / 64;
  }
  TERRACE_OUT_OF_LINE void wake_far(u32 rank, Cycle at);
  void take_bucket() {
    const u32 bucket = now_ & kBucketMask;
    u64* bits = &buckets_[size_t{bucket} * words_];
    for (u32 word = 0; word < words_; ++word) due_[word] = std::exchange(bits[word], 0);
    occupied_[bucket / 64] &= ~(u64{1} << bucket % 64);
    if (occupied_[bucket / 64] == 0) occupied_words_ &= ~(u64{1} << bucket / 64);
  }

  Cycle now_ = 0;
  u32 words_ = 0;           // 64-bit words per bucket
  u64 occupied_words_ = 0;  // which words of the following have a bit set
  std::vector<u64> buckets_;
  u64 occupied_[kBuckets / 64] = {};  // which buckets have one
  std::priority_queue<Far, std::vector<Far>, std::greater<>> far_;
  std::vector<u64> due_;  // the bucket being ticked
};

}  // namespace terrace
