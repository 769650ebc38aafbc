// SPDX-License-Identifier: MIT
#include "engine/wheel.h"

#include <algorithm>

#include "engine/check.h"

namespace terrace {

void Wheel::resize(u32 units) {
  if (words_ == (units + 63) / 64) return;
  words_ = (units + 63) / 64;
  buckets_.assign(size_t{kBuckets} * words_, 0);
  due_.assign(words_, 0);
}

void Wheel::wake_far(u32 rank, Cycle at) {
  if (at == kNever) return;
  SIM_CHECK(at > now_, "a wake-up at cycle {} is asked for in cycle {}", at, now_);
  far_.emplace(at, rank);
}

Cycle Wheel::next_due() const {
  Cycle near = kNever;
  if (occupied_words_ != 0) {
    // Buckets are read as a circle that begins at now_: first the rest of its word, then whole words, last its beginning.
    const u32 first = now_ & kBucketMask, word = first / 64;
    const u64 rest = occupied_[word] >> first % 64;
    if (rest != 0) {
      near = now_ + static_cast<u32>(std::countr_zero(rest));
    } else {
      const u64 others = std::rotr(occupied_words_, static_cast<int>((word + 1) % 64));
      const u32 ahead = static_cast<u32>(std::countr_zero(others)) + 1;
      const u32 found = (word + ahead) % 64;
      const u32 bucket = found * 64 + static_cast<u32>(std::countr_zero(occupied_[found]));
      near = now_ + ((bucket - first) & kBucketMask);
    }
  }
  return far_.empty() ? near : std::min(near, far_.top().first);
}

u32 Wheel::due_in(Cycle at) const {
  if (at - now_ >= kBuckets) return 0;
  u32 count = 0;
  for (u32 word = 0; word < words_; ++word)
    count += static_cast<u32>(std::popcount(buckets_[(at & kBucketMask) * words_ + word]));
  return count;
}

std::vector<std::pair<Cycle, u32>> Wheel::take_all() {
  std::vector<std::pair<Cycle, u32>> all;
  const Cycle began = now_;
  for (Cycle at = next_due(); at != kNever; at = next_due()) {
    advance(at);
    take_due([&](u32 rank) { all.emplace_back(at, rank); });
  }
  now_ = began;
  return all;
}

}  // namespace terrace
