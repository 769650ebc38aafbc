// Turns: a warp keeps issuing for a fixed number of instructions, then the next ready one has its turn.
// Slot: WarpScheduler (sm/warp_scheduler.h). Overlay: configs/designs/turns.toml.
// SPDX-License-Identifier: MIT
#include <bit>

#include "sm/warp_scheduler.h"

namespace terrace {
namespace {

class TurnsWarpScheduler final : public WarpScheduler {
 public:
  struct Params {
    u32 length = 4;
    void describe(Fields& v) { v("length", length, in(1, 1000), "instructions that a warp issues in its turn"); }
  };
  TurnsWarpScheduler(const Context&, Params params) : length_(params.length), issued_(params.length) {}

  void started(u32, TenantId) override {}

  u32 pick(u64 candidates) override {
    const bool goes_on = issued_ < length_ && (candidates >> last_ & 1) != 0;
    if (!goes_on) next_turn(candidates);
    ++issued_;
    return last_;
  }
  void archive(Archive& a) override { a(issued_, last_); }

 private:
  void next_turn(u64 candidates) {
    const u64 after = candidates & (~u64{1} << last_);
    last_ = static_cast<u32>(std::countr_zero(after != 0 ? after : candidates));
    issued_ = 0;
  }

  u32 length_;
  u32 issued_;  // in this turn
  u32 last_ = 63;
};

REGISTER_POLICY(WarpScheduler, TurnsWarpScheduler, "turns", .summary = "each warp in turn, for some instructions");

}  // namespace
}  // namespace terrace
