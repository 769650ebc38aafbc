// Fixed: every tenant has the SMs that it begins with, run.sms or an even share. SMs of a tenant that is not there stay
// idle.
// Slot: SmPartitioner (tenancy/sm_partitioner.h).
// SPDX-License-Identifier: MIT
#include "tenancy/sm_partitioner.h"

namespace terrace {
namespace {

class FixedSmPartitioner final : public SmPartitioner {
 public:
  struct Params {
    void describe(Fields&) {}
  };
  FixedSmPartitioner(const Context&, Params) {}

  SmPlan divide(const Situation&, const SmPlan& plan) override { return plan; }
  bool never_moves() const override { return true; }
  void archive(Archive&) override {}
};

REGISTER_POLICY(SmPartitioner, FixedSmPartitioner, "fixed",
                .summary = "as run.sms says, or evenly; the SMs of an absent tenant stay idle");

}  // namespace
}  // namespace terrace
