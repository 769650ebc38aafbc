// An SM partitioner that puts two tenants on the first SM, a block of each. For tests of what tenants share inside an SM.
// SPDX-License-Identifier: MIT
#pragma once

#include "tenancy/sm_partitioner.h"

namespace terrace {

class OneSmForBoth final : public SmPartitioner {
 public:
  SmPlan divide(const Situation&, const SmPlan& plan) override {
    SmPlan shared = plan;
    for (SmUse& use : shared.sms) use = {};
    shared.sms[0].quotas[0] = shared.sms[0].quotas[1] = 1;
    return shared;
  }
  bool shares_sms() const override { return true; }
  void archive(Archive&) override {}
};

}  // namespace terrace
