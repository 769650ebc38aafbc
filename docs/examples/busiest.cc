// Busiest: at the end of each epoch the tenant that issued least per SM gives one to the tenant that issued most.
// Slot: SmPartitioner (tenancy/sm_partitioner.h). Overlay: configs/designs/busiest.toml.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "tenancy/sm_partitioner.h"

namespace terrace {
namespace {

class BusiestSmPartitioner final : public SmPartitioner {
 public:
  struct Params {
    u32 keep = 1;
    bool preempt = false;
    void describe(Fields& v) {
      v("keep", keep, in(1, 256), "SMs that no tenant gives away");
      v("preempt", preempt, "blocks on an SM that changes hands go on elsewhere instead of ending there");
    }
  };
  BusiestSmPartitioner(const Context&, Params params) : params_(params) {}

  bool by_epochs() const override { return true; }
  void archive(Archive&) override {}

  SmPlan divide(const Situation& situation, const SmPlan& plan) override {
    SmPlan next = plan;
    next.leave.fill(params_.preempt ? Leave::kPreempt : Leave::kDrain);
    if (situation.occasion == Occasion::kEpoch) {
      move_one(situation, next);
    } else {
      next.divide_evenly(situation.present);
    }
    return next;
  }

 private:
  void move_one(const Situation& situation, SmPlan& plan) const {
    // Instructions per SM, compared without a division.
    const auto busier = [&](TenantId a, TenantId b) {
      return situation.epoch[index(a)].warp_instructions * plan.running(b) >
             situation.epoch[index(b)].warp_instructions * plan.running(a);
    };
    TenantId most = situation.present.front(), least = most;
    for (const TenantId tenant : situation.present) {
      if (busier(tenant, most)) most = tenant;
      if (busier(least, tenant)) least = tenant;
    }
    if (most == least || plan.running(least) <= params_.keep) return;
    std::find(plan.sms.rbegin(), plan.sms.rend(), SmUse{least})->owner = most;
  }

  Params params_;
};

REGISTER_POLICY(SmPartitioner, BusiestSmPartitioner, "busiest",
                .summary = "each epoch an SM goes to the busiest tenant");

}  // namespace
}  // namespace terrace
