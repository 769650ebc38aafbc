// Loose round-robin: the next ready warp after the one that issued last.
// Slot: WarpScheduler (sm/warp_scheduler.h).
// SPDX-License-Identifier: MIT
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

  void started(u32, TenantId) override {}

  u32 pick(u64 candidates) override {
    const u64 after = last_ == 63 ? 0 : candidates & (~u64{0} << (last_ + 1));
    return last_ = static_cast<u32>(std::countr_zero(after != 0 ? after : candidates));
  }
  void archive(Archive& a) override { a(last_); }

 private:
  u32 last_ = 63;
};

REGISTER_POLICY(WarpScheduler, LrrWarpScheduler, "lrr",
                .summary = "loose round robin: the next ready warp after the last");

}  // namespace
}  // namespace terrace
