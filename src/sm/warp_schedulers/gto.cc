// Greedy, then oldest: stay with the warp that issued last while it is ready, otherwise the one that arrived first.
// Age is the order of arrival at this scheduler; warps of one block arrive in the order of their numbers.
// Paper: Cache-Conscious Wavefront Scheduling, MICRO 2012. Slot: WarpScheduler (sm/warp_scheduler.h).
// SPDX-License-Identifier: MIT
#include <array>
#include <bit>

#include "sm/warp_scheduler.h"

namespace terrace {
namespace {

class GtoWarpScheduler final : public WarpScheduler {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  GtoWarpScheduler(const Context&, Params) {}

  void arrive(u32 warp) override {
    arrival_[warp] = ++arrivals_;
    greedy_ &= ~(u64{1} << warp);  // another warp in the same place
  }
  u32 pick(u64 ready) override {
    const u32 chosen = (ready & greedy_) != 0 ? static_cast<u32>(std::countr_zero(greedy_)) : oldest(ready);
    greedy_ = u64{1} << chosen;
    return chosen;
  }

 private:
  u32 oldest(u64 ready) const {
    auto best = static_cast<u32>(std::countr_zero(ready));
    for (u64 left = ready & (ready - 1); left != 0; left &= left - 1) {
      const auto warp = static_cast<u32>(std::countr_zero(left));
      if (arrival_[warp] < arrival_[best]) best = warp;
    }
    return best;
  }

  std::array<u64, 64> arrival_{};
  u64 arrivals_ = 0;
  u64 greedy_ = 0;  // the bit of the warp picked last, if it is still there
};

REGISTER_POLICY(WarpScheduler, GtoWarpScheduler, "gto",
                .summary = "greedy, then oldest: the same warp while it is ready", .paper = "MICRO 2012");

}  // namespace
}  // namespace terrace
