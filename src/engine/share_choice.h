// Whether a cycle is worth sharing among threads, found out by trying: from how many due units on a round of all threads is
// faster than one thread alone depends on the simulated machine, on what runs on it and on the host. It is the host's clock
// that decides, which is why nothing else may depend on it; and nothing does, for results are the same either way.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <limits>

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
    if (fixed_ != 0 || ++cycles_ % kCyclesPerLook != 0) return false;
    end_run();
    begin_run();
    if (took_ < kStretch) return false;
    stretch_done();
    return true;
  }
  // What happens between runs takes time that does not count.
  void begin_run() { began_ = Clock::now(); }
  void end_run() { took_ += Clock::now() - began_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr u32 kNothing = std::numeric_limits<u32>::max();
  // No cycle, those with a dozen due units, nearly all.
  static constexpr std::array<u32, 3> kTried{kNothing, 12, 4};
  // From one decision to the next: so long that it hardly matters that the state of units has to move between the caches of
  // cores. How long a cycle takes differs by a factor of a hundred between machines.
  static constexpr Clock::duration kStretch = std::chrono::milliseconds(2);
  static constexpr u32 kCyclesPerLook = 16;
  // Stretches that the best choice is kept: trying then costs a few percent at worst.
  static constexpr u32 kKept = 60;

  void stretch_done() {
    const double per_cycle = static_cast<double>(took_.count()) / cycles_;
    took_ = {};
    cycles_ = 0;
    if (left_ > 0) {
      if (--left_ == 0) now_ = 0;  // tries all again
      return;
    }
    per_cycle_[now_] = per_cycle;
    if (++now_ < kTried.size()) return;
    now_ = 0;
    for (u32 i = 1; i < kTried.size(); ++i) {
      if (per_cycle_[i] < per_cycle_[now_]) now_ = i;
    }
    left_ = kKept;
  }

  const u32 fixed_;
  u32 now_ = 0;
  u32 left_ = 0;
  u32 cycles_ = 0;  // of this stretch
  Clock::time_point began_{};
  Clock::duration took_{};  // by this stretch
  std::array<double, kTried.size()> per_cycle_{};
};

}  // namespace terrace
