// Tenants in turn, greedy then oldest within each: the next tenant after the one that issued last, among those with a
// ready warp; of its warps the one that issued last, or the one that has been on the SM longest. For SMs that tenants
// share. Slot: WarpScheduler (sm/warp_scheduler.h).
// SPDX-License-Identifier: MIT
#include <array>
#include <bit>

#include "sm/warp_ages.h"
#include "sm/warp_scheduler.h"

namespace terrace {
namespace {

class TenantGtoWarpScheduler final : public WarpScheduler {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  TenantGtoWarpScheduler(const Context&, Params) { last_warp_.fill(kNobody); }

  void started(u32 place, TenantId tenant) override {
    for (u64& warps : warps_) warps &= ~(u64{1} << place);
    warps_[index(tenant)] |= u64{1} << place;
    ages_.started(place);
    for (u32& last : last_warp_) {
      if (last == place) last = kNobody;  // a new warp does not inherit the turn of the one before it
    }
  }

  u32 pick(u64 candidates) override {
    for (u32 step = 1; step <= kMaxTenants; ++step) {
      const u32 tenant = (last_tenant_ + step) % kMaxTenants;
      if ((candidates & warps_[tenant]) == 0) continue;
      last_tenant_ = tenant;
      return last_warp_[tenant] = pick_within(candidates & warps_[tenant], last_warp_[tenant]);
    }
    return static_cast<u32>(std::countr_zero(candidates));  // never: each warp is some tenant's
  }
  void archive(Archive& a) override { a(ages_, warps_, last_warp_, last_tenant_); }

 private:
  static constexpr u32 kNobody = 64;

  u32 pick_within(u64 candidates, u32 last) const {
    if (last != kNobody && (candidates >> last & 1)) return last;
    return ages_.oldest(candidates);
  }

  WarpAges ages_;
  std::array<u64, kMaxTenants> warps_{};  // by tenant: its places
  std::array<u32, kMaxTenants> last_warp_{};
  u32 last_tenant_ = kMaxTenants - 1;
};

REGISTER_POLICY(WarpScheduler, TenantGtoWarpScheduler, "tenant_gto",
                .summary = "tenants in turn, greedy-then-oldest within each; for SMs that tenants share");

}  // namespace
}  // namespace terrace
