// DWS++: a walker may also steal while its owner has walks waiting, if another tenant has many more of them. How many
// more depends on how unequally walks arrive, which is measured over epochs of arrivals: the more unequal, the more
// reluctant.
//
// Paper:  Improving GPU Multi-tenancy with Page Walk Stealing, HPCA 2021, §V. Notes: DWS-A6 to A9.
// Slot:   WalkScheduler (translation/walk_scheduler.h).   Overlay: configs/designs/dws_pp.toml
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "translation/walk_schedulers/dws.h"

namespace terrace {
namespace {

class DwsPpWalkScheduler final : public StealingWalkScheduler {
 public:
  struct Params : DwsParams {
    // Table IV of the paper.
    u32 epoch = 200;
    Fraction queue_threshold{510'000};
    Fraction upto_1_5{400'000}, upto_2{600'000}, upto_3{800'000}, upto_4{900'000}, above_4{1'000'000};
    void describe(Fields& v) {
      DwsParams::describe(v);
      v("epoch", epoch, in(1, 1'000'000),
        "arrivals, refused ones included, between two updates of the ratio of arrivals");
      v("queue_threshold", queue_threshold, in(0, Fraction::kOne),
        "a walker whose own queue is fuller than this steals nothing while its owner's walks wait");
      v("upto_1_5", upto_1_5, in(0, Fraction::kOne),
        "how many more walks of the other tenant must wait, as a share of a tenant's queue entries, if arrivals differ "
        "by a factor of at most 1.5");
      v("upto_2", upto_2, in(0, Fraction::kOne), "the same for a factor of at most 2");
      v("upto_3", upto_3, in(0, Fraction::kOne), "the same for a factor of at most 3");
      v("upto_4", upto_4, in(0, Fraction::kOne), "the same for a factor of at most 4");
      v("above_4", above_4, in(0, Fraction::kOne), "the same for a factor above 4; 1: never steal");
    }
  };
  DwsPpWalkScheduler(const Context& context, Params params) : StealingWalkScheduler(context, params), params_(params) {
    extra_ = true;
    thresholds_.fill(kNeverSteals);  // until the first epoch has ended (DWS-A7)
  }

  void archive(Archive& a) override {
    StealingWalkScheduler::archive(a);
    a(arrivals_, thresholds_, in_epoch_);
  }

 private:
  static constexpr u64 kNeverSteals = Fraction::kOne;

  /// Attempts count, refused ones included (DWS-A7): a tenant whose queues are full is let in no faster than it is
  /// served, so that accepted walks alone would make any two saturated tenants look alike.
  void on_attempt(TenantId tenant) override {
    ++arrivals_[index(tenant)];
    if (++in_epoch_ < params_.epoch) return;
    const auto& tenants = queues_.tenants();
    u64 most = 0, least = ~u64{0};
    for (const TenantId each : tenants) {
      most = std::max(most, arrivals_[index(each)]);
      least = std::min(least, arrivals_[index(each)]);
    }
    for (const TenantId each : tenants) {
      const u64 mine = arrivals_[index(each)];
      // Two tenants look at the same ratio; of more, each compares itself with the busiest, which never steals extra
      // (DWS-A6, DWS-A9).
      thresholds_[index(each)] = tenants.size() <= 2 ? threshold(most, least)
                                 : mine == most      ? kNeverSteals
                                                     : threshold(most, mine);
    }
    arrivals_.fill(0);
    in_epoch_ = 0;
  }

  u64 threshold(u64 most, u64 least) const {
    if (least == 0) return params_.above_4.millionths;  // DWS-A7
    if (2 * most <= 3 * least) return params_.upto_1_5.millionths;
    if (most <= 2 * least) return params_.upto_2.millionths;
    if (most <= 3 * least) return params_.upto_3.millionths;
    if (most <= 4 * least) return params_.upto_4.millionths;
    return params_.above_4.millionths;
  }

  bool steals_although_owner_waits(u32 walker, TenantId rival) const override {
    const TenantId owner = queues_.owner(walker);
    if (is_stolen(walker)) return false;
    if (u64{queues_.size(walker)} * Fraction::kOne > params_.queue_threshold.millionths * queues_.entries())
      return false;
    const u64 theirs = queues_.waiting(rival), ours = queues_.waiting(owner);
    if (theirs <= ours) return false;
    return (theirs - ours) * Fraction::kOne > thresholds_[index(owner)] * queues_.capacity(owner);
  }

  Params params_;
  std::array<u64, kMaxTenants> arrivals_{};
  std::array<u64, kMaxTenants> thresholds_{};  // in millionths
  u32 in_epoch_ = 0;
};

REGISTER_POLICY(
    WalkScheduler, DwsPpWalkScheduler, "dws_pp",
    .summary =
        "as dws, but a walker may also steal while its owner's walks wait, if another tenant has many more waiting",
    .paper = "HPCA 2021");

}  // namespace
}  // namespace terrace
