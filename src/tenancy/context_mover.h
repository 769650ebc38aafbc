// Registers and shared memory of blocks on their way between an SM and memory: at the peak bandwidth of memory, one block
// after the other. Simplified: what is moved takes its time and slows down no other access to memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "engine/archive.h"
#include "engine/types.h"

namespace terrace {

class ContextMover {
 public:
  /// Moves everything at once.
  ContextMover() = default;
  ContextMover(u64 bytes_per_second, u64 cycles_per_second)
      : bytes_per_second_(bytes_per_second), cycles_per_second_(cycles_per_second) {}

  /// When these bytes have arrived, if they may leave in cycle `now`.
  Cycle move(u64 bytes, Cycle now) {
    if (bytes_per_second_ == 0) return now;
    free_ = std::max(free_, now) + (bytes * cycles_per_second_ + bytes_per_second_ - 1) / bytes_per_second_;
    return free_;
  }
  void archive(Archive& a) { a(free_); }

 private:
  u64 bytes_per_second_ = 0, cycles_per_second_ = 0;
  Cycle free_ = 0;
};

}  // namespace terrace
