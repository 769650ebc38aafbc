// Whether a cycle is worth sharing among threads, found out by trying: from how many due units on a round of all threads is
// faster than one thread alone depends on the simulated machine, on what runs on it and on the host. It is the host's clock
// that decides, which is why nothing else may depend on it; and nothing does, for results are the same either way.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <limits>
#include <utility>

#include "engine/types.h"

namespace terrace {

class ShareChoice {
 public:
  /// `fixed`: always share from so many due units on; 0: find out.
  explicit ShareChoice(u32 fixed) : fixed_(fixed) {}

  u32 from() const { return fixed_ != 0 ? fixed_ : kTried[now_]; }
  /// Whether one thread ticks everything, for a while.
  bool nothing_shared() const { return from() == kNothing; }
  /// Whether the choice may have changed.
  bool cycle_done() {
    if (fixed_ != 0 || ++cycles_ < kStretch) return false;
    stretch_done();
    return true;
  }
  // What happens between runs takes time that does not count.
  void begin_run() { began_ = Clock::now(); }
  void end_run() { before_ += Clock::now() - began_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr u32 kNothing = std::numeric_limits<u32>::max();
  // No cycle, those with a dozen due units, nearly all.
  static constexpr std::array<u32, 3> kTried{kNothing, 12, 4};
  // Cycles between two decisions: so many that moving the state of units between the caches of cores does not matter.
  static constexpr u32 kStretch = 4096;
  // Stretches that the best choice is kept: trying then costs a few percent at worst.
  static constexpr u32 kKept = 40;

  void stretch_done() {
    end_run();
    const Clock::duration took = std::exchange(before_, {});
    cycles_ = 0;
    begin_run();
    if (left_ > 0) {
      if (--left_ == 0) now_ = 0;  // tries all again
      return;
    }
    took_[now_] = took;
    if (++now_ < kTried.size()) return;
    now_ = 0;
    for (u32 i = 1; i < kTried.size(); ++i) {
      if (took_[i] < took_[now_]) now_ = i;
    }
    left_ = kKept;
  }

  const u32 fixed_;
  u32 now_ = 0;
  u32 left_ = 0;
  u32 cycles_ = 0;
  Clock::time_point began_{};
  Clock::duration before_{};  // of this stretch, in earlier runs
  std::array<Clock::duration, kTried.size()> took_{};
};

}  // namespace terrace
