// Carries out what the SM partitioner decides (tenancy/sm_partitioner.h): asks it when tenants have come or gone and at
// epochs, stalls SMs and lets them go on, and moves SMs from one tenant to another while both run. Blocks on an SM that
// changes hands end there, or its warps stop issuing and, when the last access has been answered, its blocks come back
// unfinished and go on elsewhere. Simplified: registers and shared memory of those blocks move without traffic, in the
// time that they take to memory and back at its peak bandwidth; the SM that they leave is closed for that long.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "engine/scheduler.h"
#include "gpu/config.h"
#include "gpu/controller.h"
#include "gpu/tenant_table.h"
#include "stats/stat_fields.h"
#include "tenancy/block_dispatcher.h"
#include "tenancy/sm_partitioner.h"

namespace terrace {

struct PartitionStats {
  PerTenant<Counter> sms_given, sms_taken, preempted_blocks, stalled_cycles;
  Counter closed_cycles;
  void describe(StatFields& v) {
    v("sms_given", sms_given, "SMs", "SMs that a tenant gained during the run");
    v("sms_taken", sms_taken, "SMs", "SMs that a tenant lost, to another one or to none");
    v("preempted_blocks", preempted_blocks, "blocks", "blocks that left their SM before they had ended");
    v("stalled_cycles", stalled_cycles, "cycles", "cycles in which a tenant's SMs were stalled, summed over SMs");
    v("closed_cycles", closed_cycles, "cycles",
      "cycles in which SMs were closed while blocks were saved, summed over SMs");
  }
};

class Partition final : public Controller {
 public:
  struct Wiring {
    const GpuConfig& config;
    const TenantTable& tenants;
    const EpochBoard& epochs;
    Scheduler& scheduler;
    BlockDispatcher& dispatcher;
    UnitId dispatcher_unit;
    const std::vector<std::unique_ptr<Sm>>& sms;
    const std::vector<std::unique_ptr<Link<BlockStart>>>& starts;
  };
  /// `plan` is how the machine was built.
  Partition(Wiring wiring, std::unique_ptr<SmPartitioner> policy, SmPlan plan);

  Cycle next(Cycle) const override { return kNever; }  // the end of an epoch stops the run
  void act(Cycle now) override;
  void describe(StatTree& tree) override;
  void settle(Cycle now) override;

  /// Tenants have come, or one has gone; at least one is there.
  void ask(SmPartitioner::Occasion occasion, Cycle now);

 private:
  /// What an SM does, as long as it holds what it holds.
  enum class Phase : u8 { kRunning, kStalled, kPreempting };

  void carry_out(const SmPlan& plan, Cycle now);
  void check(const SmPlan& plan) const;
  Phase phase_of(u32 sm) const;
  void enter(u32 sm, Phase phase, Cycle now);
  void assign(Cycle now);
  void preempt_drained(Cycle now);
  void preempt(u32 sm, Cycle now);
  void stay_awake(Cycle now);
  Cycle cycles_to_memory_and_back(u64 bytes) const;

  Wiring wiring_;
  std::unique_ptr<SmPartitioner> policy_;
  SmPlan plan_;
  std::vector<Phase> phases_;  // by SM
  std::vector<Cycle> since_;   // by SM: stalled cycles are counted from here
  u64 epochs_seen_ = 0;
  PartitionStats stats_;
};

}  // namespace terrace
