// Carries out what the SM partitioner decides (tenancy/sm_partitioner.h): asks it when tenants have come or gone, at
// epochs, at its appointments and when kernels change; stalls SMs and lets them go on, takes their power and gives it
// back, and moves SMs from one tenant to another while both run. Blocks on an SM where they may not stay end there, or
// its warps stop issuing and, when the last access has been answered, its blocks come back unfinished and go on
// elsewhere.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/scheduler.h"
#include "gpu/config.h"
#include "gpu/controller.h"
#include "gpu/tenant_activity.h"
#include "gpu/tenant_table.h"
#include "gpu/translations.h"
#include "stats/stat_fields.h"
#include "tenancy/block_dispatcher.h"
#include "tenancy/sm_partitioner.h"

namespace terrace {

struct PartitionStats {
  PerTenant<Counter> sms_given, sms_taken, preempted_blocks, context_bytes, stalled_cycles, owned_cycles;
  Counter closed_cycles, gated_cycles, wakes, decisions;
  void describe(StatFields& v) {
    v("sms_given", sms_given, "SMs", "SMs that a tenant gained during the run");
    v("sms_taken", sms_taken, "SMs", "SMs that a tenant lost, to another one or to none");
    v("preempted_blocks", preempted_blocks, "blocks", "blocks that left their SM before they had ended");
    v("context_bytes", context_bytes, "bytes",
      "registers and shared memory of such blocks that moved to memory, and back");
    v("owned_cycles", owned_cycles, "cycles", "cycles in which a tenant had SMs of its own, summed over SMs");
    v("stalled_cycles", stalled_cycles, "cycles", "of those, cycles in which they were stalled");
    v("closed_cycles", closed_cycles, "cycles",
      "cycles in which SMs were closed while blocks were saved, summed over SMs");
    v("gated_cycles", gated_cycles, "cycles", "cycles in which SMs had no power, summed over SMs");
    v("wakes", wakes, "SMs", "SMs that got their power back");
    v("decisions", decisions, "decisions", "lines of the partitioner's log");
  }
};

class Partition final : public Controller {
 public:
  struct Wiring {
    const GpuConfig& config;
    const TenantTable& tenants;
    const TenantActivity& activity;
    Scheduler& scheduler;
    BlockDispatcher& dispatcher;
    UnitId dispatcher_unit;
    const std::vector<std::unique_ptr<Sm>>& sms;
    const std::vector<std::unique_ptr<Link<BlockStart>>>& starts;
    Translations& translations;
  };
  /// `plan` is how the machine was built.
  Partition(Wiring wiring, std::unique_ptr<SmPartitioner> policy, SmPlan plan);

  Cycle next(Cycle now) const override;  // the end of an epoch stops the run by itself
  void act(Cycle now) override;
  void archive(Archive& a) override;
  void describe(StatTree& tree) override;
  void settle(Cycle now) override;

  /// An epoch has ended, in which tenants did this. The partitioner is asked in `act`.
  void hear_of_epoch(TenantEpochs tenants);
  /// Tenants have come, or one has gone; at least one is there.
  void ask(SmPartitioner::Occasion occasion, Cycle now);

  const SmPartitioner& policy() const { return *policy_; }
  /// What the partitioner measured and decided.
  const std::vector<SmDecision>& decisions() const { return decisions_; }
  /// Cycles in which an SM had no power, up to the last settle().
  u64 gated_cycles(u32 sm) const { return gated_[sm]; }
  /// Cycles in which an SM was a tenant's own, up to the last settle().
  u64 owned_cycles(u32 sm, TenantId tenant) const { return owned_[sm][index(tenant)]; }

 private:
  /// What an SM does, as long as it holds what it holds.
  enum class Phase : u8 { kRunning, kStalled, kPreempting, kGated };

  SmPartitioner::Situation situation(SmPartitioner::Occasion occasion, Cycle now) const;
  bool kernels_changed();
  void carry_out(const SmPlan& plan, Cycle now);
  void check(const SmPlan& plan) const;
  bool settled() const;
  u64 preempted_blocks() const;
  void keep_log();
  void write_down(SmDecision decision);
  void write_down_move(Cycle now);
  bool foreign_blocks(u32 sm) const;
  Phase phase_of(u32 sm, Cycle now) const;
  void enter(u32 sm, Phase phase, Cycle now);
  void follow_leaving(Cycle now);
  void preempt(u32 sm, Cycle now);
  void forget_former(u32 sm);
  void stay_awake(Cycle now);

  Wiring wiring_;
  std::unique_ptr<SmPartitioner> policy_;
  SmPlan plan_;
  std::vector<Phase> phases_;         // by SM
  std::vector<Cycle> leaving_since_;  // by SM: since when blocks are there that may not stay; kNever: there are none
  std::vector<u32> former_;  // by SM: whose it was, a bit each, until it is flushed (tenancy.flush_shared_on_switch)
  Cycle since_ = 0;          // cycles are counted from here
  std::vector<u64> gated_;   // by SM
  std::vector<std::array<u64, kMaxTenants>> owned_;
  std::vector<SmRoom> needs_;  // by tenant: of its blocks when last looked at
  std::vector<SmDecision> decisions_;
  struct Move {
    Cycle since = 0;
    u64 preempted_before = 0;
  };
  std::optional<Move> move_;             // SMs that change hands, until all have
  std::vector<TenantEpoch> last_epoch_;  // by tenant; zeros before the first has ended
  bool epoch_ended_ = false;             // since the last `act`
  PartitionStats stats_;
};

}  // namespace terrace
