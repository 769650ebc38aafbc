// The slot `tenancy.partition`: whose SMs are whose? For tenants that share the GPU in space.
//
//   divide       between cycles: when tenants have come, when one has gone, and when the partitioner asked for it: at
//                its appointment, at the end of each epoch (run.epoch), or when a tenant launches a kernel whose blocks
//                take up something else. The plan comes as it stands, and the answer is carried out at once: SMs are
//                stalled, go on or lose power, blocks that may not stay end there or are preempted (SmPlan::leave), and
//                an SM's new owner sends blocks when the last foreign one is gone.
//   appointment  the cycle in which it wants to be asked next; kNever when only the other occasions matter.
//   decisions    what it measured and decided, for the log of the run.
//   archive      what changes while it runs, for checkpoints; `{}` when nothing does. Decisions have been taken by then.
//
// Each tenant that is there needs an SM that is not stalled; with fewer SMs than tenants some have none and wait. A
// decision rests on what was told alone: no floating point, no clock, nothing that depends on who ticks first.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/registry.h"
#include "engine/archive.h"
#include "tenancy/off_sm_bandwidth.h"
#include "tenancy/sm_plan.h"
#include "wire/dispatch.h"
#include "wire/epoch.h"

namespace terrace {

/// A line of the decision log.
struct SmDecision {
  Cycle at = 0;
  std::optional<TenantId> tenant;  // whom it concerns; none: all
  std::string text;
  std::vector<u32> running;  // SMs that each tenant may use from then on
};

class SmPartitioner {
 public:
  struct Context {
    u32 tenants = 1;
    SmPlan first = {};  // as the run begins: run.sms, or even shares
    OffSmHardware hardware = {};
    SmRoom whole_sm = {};  // what the blocks of an SM share
  };
  static constexpr SlotInfo kSlot{"tenancy.partition", "SM partitioner", "which SMs belong to which tenant"};

  enum class Occasion : u8 { kArrival, kDeparture, kEpoch, kAppointment, kKernel };
  struct Situation {
    Occasion occasion{};
    Cycle now = 0;
    std::vector<TenantId> present;   // in rising order, at least one
    std::vector<TenantEpoch> epoch;  // by tenant: what each did in the last epoch; zeros before the first has ended
    std::vector<TenantEpoch> so_far = {};       // by tenant: what each has done since the run began
    std::vector<std::vector<u64>> issued = {};  // by SM and tenant: warp instructions since the run began
    std::vector<SmRoom> block = {};  // by tenant: what a block of the kernel that it runs takes up; zeros: none
    bool settled = true;             // no block is where it may not stay
  };

  virtual ~SmPartitioner() = default;
  virtual SmPlan divide(const Situation& situation, const SmPlan& plan) = 0;
  virtual void archive(Archive& a) = 0;

  /// Whether SMs stay with whom they begin with; then run.sms may say how many each has.
  virtual bool never_moves() const { return false; }
  /// Whether it is asked at epochs; then run.epoch must say how long they are.
  virtual bool by_epochs() const { return false; }
  /// Whether it is asked when the needs of a tenant's blocks change.
  virtual bool by_kernels() const { return false; }
  /// Whether blocks of several tenants may be on an SM.
  virtual bool shares_sms() const { return false; }
  virtual Cycle appointment() const { return kNever; }
  /// Whether it will change the plan again though nobody comes or goes.
  virtual bool searching() const { return false; }

  std::vector<SmDecision> take_decisions() { return std::exchange(decisions_, {}); }

 protected:
  void note(Cycle at, std::optional<TenantId> tenant, std::string text) {
    decisions_.push_back({at, tenant, std::move(text), {}});
  }
  void note_all(std::vector<SmDecision> of_another) {
    for (SmDecision& each : of_another) decisions_.push_back(std::move(each));
  }

 private:
  std::vector<SmDecision> decisions_;
};

}  // namespace terrace
