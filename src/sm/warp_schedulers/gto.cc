// Greedy then oldest: the warp that issued last goes on while it can; otherwise the one that has been on the SM
// longest. Slot: WarpScheduler (sm/warp_scheduler.h).
// SPDX-License-Identifier: MIT
#include "sm/warp_ages.h"
#include "sm/warp_scheduler.h"

namespace terrace {
namespace {

class GtoWarpScheduler final : public WarpScheduler {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  GtoWarpScheduler(const Context&, Params) {}

  void started(u32 place, TenantId) override {
    ages_.started(place);
    if (place == last_) last_ = kNobody;  // a new warp does not inherit the turn of the one before it
  }

  u32 pick(u64 candidates) override {
    if (last_ != kNobody && (candidates >> last_ & 1)) return last_;
    return last_ = ages_.oldest(candidates);
  }
  void archive(Archive& a) override { a(ages_, last_); }

 private:
  WarpAges ages_;
  static constexpr u32 kNobody = 64;
  u32 last_ = kNobody;
};

REGISTER_POLICY(WarpScheduler, GtoWarpScheduler, "gto",
                .summary = "greedy-then-oldest: the last warp while it is ready, else the oldest");

}  // namespace
}  // namespace terrace
