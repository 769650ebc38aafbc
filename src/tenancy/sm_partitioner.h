// The slot `tenancy.partition`: whose SMs are whose? For tenants that share the GPU in space.
//
//   divide   between cycles: when tenants have come, when one has gone, and, for a partitioner that goes by epochs, at
//            the end of each (run.epoch). The plan comes as it stands, and the answer is carried out at once: SMs are
//            stalled or go on, blocks that are not their new owner's end there or are put aside (SmPlan::leave), and an
//            SM's new owner sends blocks when the last foreign one is gone.
//
// Each tenant that is there needs an SM that is not stalled; with fewer SMs than tenants some have none and wait. A
// decision rests on what was told alone: no floating point, no clock, nothing that depends on who ticks first.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "config/registry.h"
#include "tenancy/sm_plan.h"
#include "wire/epoch.h"

namespace terrace {

class SmPartitioner {
 public:
  struct Context {
    u32 tenants = 1;
    SmPlan first;  // as the run begins: run.sms, or even shares
  };
  static constexpr SlotInfo kSlot{"tenancy.partition", "SM partitioner", "which SMs belong to which tenant"};

  enum class Occasion : u8 { kArrival, kDeparture, kEpoch };
  struct Situation {
    Occasion occasion{};
    Cycle now = 0;
    std::vector<TenantId> present;   // in rising order, at least one
    std::vector<TenantEpoch> epoch;  // by tenant: what each did in the last epoch; zeros before the first has ended
  };

  virtual ~SmPartitioner() = default;
  virtual SmPlan divide(const Situation& situation, const SmPlan& plan) = 0;

  /// Whether SMs stay with whom they begin with; then run.sms may say how many each has.
  virtual bool never_moves() const { return false; }
  /// Whether it is asked at epochs; then run.epoch must say how long they are.
  virtual bool by_epochs() const { return false; }
};

}  // namespace terrace
