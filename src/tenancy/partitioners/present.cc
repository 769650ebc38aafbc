// Present: SMs are divided evenly among those who are there, anew whenever one comes or goes. An SM changes hands when
// its blocks have ended.
// Slot: SmPartitioner (tenancy/sm_partitioner.h).
// SPDX-License-Identifier: MIT
#include "tenancy/sm_partitioner.h"

namespace terrace {
namespace {

class PresentSmPartitioner final : public SmPartitioner {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  PresentSmPartitioner(const Context&, Params) {}

  SmPlan divide(const Situation& situation, const SmPlan& plan) override {
    SmPlan next = plan;
    next.divide_evenly(situation.present);
    return next;
  }
};

REGISTER_POLICY(SmPartitioner, PresentSmPartitioner, "present",
                .summary = "evenly among the tenants that are present, again whenever one arrives or leaves");

}  // namespace
}  // namespace terrace
