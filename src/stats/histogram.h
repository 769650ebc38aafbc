// How often a value fell where: 32 buckets of equal width, then 32 that double. The buckets never move, so a histogram
// is a fixed number of counters: epochs of it are records of one size, and subtracting two of them is meaningful.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#include "stats/counter.h"

namespace terrace {

class Histogram {
 public:
  static constexpr u32 kLinear = 32, kDoubling = 32, kBuckets = kLinear + kDoubling;

  /// The equal buckets are 2^log2_width values wide.
  explicit Histogram(u32 log2_width = 0) : log2_width_(log2_width) {}

  void add(u64 value) {
    ++cells_[bucket(value)];
    cells_[kBuckets] += value;
  }

  u32 bucket(u64 value) const {
    const u64 step = value >> log2_width_;
    if (step < kLinear) return static_cast<u32>(step);
    constexpr u32 kFirstWidth = std::bit_width(kLinear);  // the first doubling bucket begins at kLinear
    return std::min(kLinear + static_cast<u32>(std::bit_width(step)) - kFirstWidth, kBuckets - 1);
  }
  /// The smallest value that falls into a bucket.
  u64 low(u32 bucket) const {
    return (bucket < kLinear ? u64{bucket} : u64{kLinear} << (bucket - kLinear)) << log2_width_;
  }

  /// The buckets' counts, then the sum of all values.
  std::array<Counter, kBuckets + 1>& cells() { return cells_; }
  u32 log2_width() const { return log2_width_; }
  void archive(Archive& a) { a(cells_); }

 private:
  std::array<Counter, kBuckets + 1> cells_{};
  u32 log2_width_;
};

}  // namespace terrace
