// Loose round-robin: after the warp that issued last, the next ready one by place.
// Slot: WarpScheduler (sm/warp_scheduler.h). SPDX-License-Identifier: MIT
#include <bit>

#include "sm/warp_scheduler.h"

namespace terrace {
namespace {

class LrrWarpScheduler final : public WarpScheduler {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  LrrWarpScheduler(const Context&, Params) {}

  void arrive(u32) override {}
  u32 pick(u64 ready) override {
    const u64 after = ready & after_last_;
    const auto chosen = static_cast<u32>(std::countr_zero(after != 0 ? after : ready));
    after_last_ = ~u64{1} << chosen;
    return chosen;
  }

 private:
  u64 after_last_ = ~u64{0};  // the places beyond the one picked last
};

REGISTER_POLICY(WarpScheduler, LrrWarpScheduler, "lrr", .summary = "loose round-robin: the next ready warp in turn");

}  // namespace
}  // namespace terrace
