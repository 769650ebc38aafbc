// Present: SMs are divided evenly among those who are there, anew whenever one comes or goes. An SM changes hands when
// its blocks have ended, or, if that takes too long for whoever waits, when they have been preempted.
// Slot: SmPartitioner (tenancy/sm_partitioner.h).
// SPDX-License-Identifier: MIT
#include "tenancy/sm_partitioner.h"

namespace terrace {
namespace {

class PresentSmPartitioner final : public SmPartitioner {
 public:
  struct Params {
    u64 drain_cycles = 20'000;  // as long as CD-search watches whether a block ends before it decides to put it aside
    void describe(Fields& v) {
      v("drain_cycles", drain_cycles, in(0, Range::kHighest),
        "cycles that blocks have to end on an SM that moves to another tenant; those left are preempted and continue "
        "elsewhere");
    }
  };
  PresentSmPartitioner(const Context&, Params params) : params_(params) {}

  SmPlan divide(const Situation& situation, const SmPlan& plan) override {
    SmPlan next = plan;
    next.divide_evenly(situation.present);
    next.drain_cycles = params_.drain_cycles;
    return next;
  }
  void archive(Archive&) override {}

 private:
  Params params_;
};

REGISTER_POLICY(SmPartitioner, PresentSmPartitioner, "present",
                .summary = "evenly among the tenants that are present, again whenever one arrives or leaves");

}  // namespace
}  // namespace terrace
