// Whether a warp comes back to a state that it was in before. While nothing changes in memory, its next instructions depend
// on its own state alone, so that it then goes round for ever. The state is looked at where the warp jumps back, and
// compared with one from before, which is taken anew after 1, 2, 4, ... jumps: so any period is found (Brent, "An
// improved Monte Carlo factorization algorithm", 1980).
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "frontend/ptx/decode/inst.h"
#include "frontend/ptx/execute/warp.h"

namespace terrace::ptx {

class Recurrence {
 public:
  /// The warp has jumped back at `pc`, with nothing pending.
  void step(const Warp& warp, u32 pc, u32 stride);
  bool found() const { return found_; }
  /// The jump at which it was found.
  u32 pc() const { return pc_; }
  u64 jumps() const { return jumps_; }
  /// Whether a pass may read a clock.
  bool reads_clock(const Code& code) const;

  bool gives_way = false;  // the warp lets others issue first: it was known to go round when this was last looked at

  void archive(Archive& a) {
    a(gives_way, found_, whole_, pc_, jumps_, since_, patience_, differing_, control_, rows_, predicates_);
  }

 private:
  /// All but registers.
  struct Control {
    u32 pc = 0, reconverge = 0, rounds = 0;
    u64 active = 0, full = 0, alive = 0, carry = 0, lanes = 0;
    bool gathered = false;
    std::vector<Suspended> stack;
    std::vector<Frame> frames;
    std::vector<Strand> strands;
    friend bool operator==(const Control&, const Control&) = default;
  };
  static Control control_of(const Warp& warp);
  /// Whether registers that the loop does not name may matter.
  static bool needs_whole(const Warp& warp, const LoopFacts& loop);
  void take(const Warp& warp, const LoopFacts& loop, u32 stride);
  bool same(const Warp& warp, const LoopFacts& loop, u32 stride);

  bool found_ = false;
  bool whole_ = false;  // all registers are in the state, not only those that decide
  u32 pc_ = kNowhere;
  u64 jumps_ = 0, since_ = 0, patience_ = 1;
  u32 differing_ = 0;  // the row that was not the same last time: looked at first
  Control control_;
  Rows rows_;
  std::vector<u64> predicates_;
};

}  // namespace terrace::ptx
