// Greedy then oldest: the warp that issued last goes on while it can; otherwise the one that has been on the SM
// longest. Slot: WarpScheduler (sm/warp_scheduler.h).
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

  void started(u32 place, u64 age, TenantId) override {
    age_[place] = age;
    if (place == last_) last_ = kNobody;  // a new warp does not inherit the turn of the one before it
  }

  u32 pick(u64 candidates) override {
    if (last_ != kNobody && (candidates >> last_ & 1)) return last_;
    u32 oldest = static_cast<u32>(std::countr_zero(candidates));
    for (u64 left = candidates & (candidates - 1); left != 0; left &= left - 1) {
      const u32 place = static_cast<u32>(std::countr_zero(left));
      if (age_[place] < age_[oldest]) oldest = place;
    }
    return last_ = oldest;
  }
  void archive(Archive& a) override { a(age_, last_); }

 private:
  std::array<u64, 64> age_{};
  static constexpr u32 kNobody = 64;
  u32 last_ = kNobody;
};

REGISTER_POLICY(WarpScheduler, GtoWarpScheduler, "gto",
                .summary = "greedy-then-oldest: the last warp while it is ready, else the oldest");

}  // namespace
}  // namespace terrace
