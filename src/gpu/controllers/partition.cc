// SPDX-License-Identifier: MIT
#include "gpu/controllers/partition.h"

#include <algorithm>

#include "engine/check.h"
#include "stats/stat_tree.h"

namespace terrace {

Partition::Partition(Wiring wiring, std::unique_ptr<SmPartitioner> policy, SmPlan plan)
    : wiring_(wiring),
      policy_(std::move(policy)),
      plan_(std::move(plan)),
      phases_(wiring_.sms.size(), Phase::kRunning),
      since_(wiring_.sms.size(), 0) {}

void Partition::act(Cycle now) {
  const u64 epochs = wiring_.epochs.epochs(now);
  const bool asks = epochs != epochs_seen_ && policy_->by_epochs() && !wiring_.tenants.present().empty();
  epochs_seen_ = epochs;
  if (asks) ask(SmPartitioner::Occasion::kEpoch, now);
  preempt_drained(now);
}

void Partition::ask(SmPartitioner::Occasion occasion, Cycle now) {
  SmPartitioner::Situation situation{occasion, now, wiring_.tenants.present(), {}};
  for (u32 i = 0; i < wiring_.tenants.count(); ++i) situation.epoch.push_back(wiring_.epochs.last(TenantId(i), now));
  const SmPlan plan = policy_->divide(situation, plan_);
  if (plan != plan_) carry_out(plan, now);
  stay_awake(now);
}

void Partition::carry_out(const SmPlan& plan, Cycle now) {
  check(plan);
  settle(now);
  for (u32 sm = 0; sm < plan.sms.size(); ++sm) {
    const std::optional<TenantId> before = plan_.sms[sm].owner, after = plan.sms[sm].owner;
    if (before == after) continue;
    if (before) ++stats_.sms_taken[*before];
    if (after) ++stats_.sms_given[*after];
  }
  plan_ = plan;
  for (u32 sm = 0; sm < plan_.sms.size(); ++sm) enter(sm, phase_of(sm), now);
  assign(now);
}

void Partition::check(const SmPlan& plan) const {
  SIM_CHECK(plan.sms.size() == plan_.sms.size(), "the SM partitioner divides {} SMs of {}", plan.sms.size(),
            plan_.sms.size());
  for (const SmUse& use : plan.sms) {
    SIM_CHECK(!use.owner || index(*use.owner) < wiring_.tenants.count(),
              "the SM partitioner gives an SM to tenant {}, and there are {}", index(*use.owner),
              wiring_.tenants.count());
  }
}

/// Blocks that are not the owner's must leave first, even where the owner is to be stalled.
Partition::Phase Partition::phase_of(u32 sm) const {
  const SmUse& use = plan_.sms[sm];
  const std::optional<TenantId> holder = wiring_.dispatcher.holder(sm);
  if (!holder || holder == use.owner) return use.stalled ? Phase::kStalled : Phase::kRunning;
  return plan_.leave[index(*holder)] == Leave::kPreempt ? Phase::kPreempting : Phase::kRunning;
}

void Partition::enter(u32 sm, Phase phase, Cycle now) {
  if (phase == phases_[sm]) return;
  phases_[sm] = phase;
  since_[sm] = now;
  Sm& unit = *wiring_.sms[sm];
  switch (phase) {
    case Phase::kRunning:
      return unit.resume_issue(now);
    case Phase::kStalled:
      return unit.hold_issue(Sm::WhenDrained::kGoOn);
    case Phase::kPreempting:
      return unit.hold_issue(Sm::WhenDrained::kStopRun);
  }
}

void Partition::assign(Cycle now) {
  std::vector<std::vector<u32>> sms_of_tenant(wiring_.tenants.count());
  for (u32 sm = 0; sm < plan_.sms.size(); ++sm) {
    const SmUse& use = plan_.sms[sm];
    if (use.owner && !use.stalled) sms_of_tenant[index(*use.owner)].push_back(sm);
  }
  wiring_.dispatcher.assign(std::move(sms_of_tenant), now);
}

void Partition::preempt_drained(Cycle now) {
  for (u32 sm = 0; sm < phases_.size(); ++sm) {
    const bool due = phases_[sm] == Phase::kPreempting && wiring_.sms[sm]->drained() && wiring_.starts[sm]->empty();
    if (due) preempt(sm, now);
  }
}

void Partition::preempt(u32 sm, Cycle now) {
  std::vector<UnfinishedBlock> blocks = wiring_.sms[sm]->take_blocks(now);
  u64 bytes = 0;
  for (const UnfinishedBlock& block : blocks) {
    ++stats_.preempted_blocks[block.tenant];
    bytes += wiring_.dispatcher.context_bytes(block.tenant, block.launch);
  }
  const Cycle closed = cycles_to_memory_and_back(bytes);
  stats_.closed_cycles += closed;
  wiring_.dispatcher.take_back(sm, std::move(blocks), now, now + closed);
  // Blocks that ended by themselves may still be on their way to the dispatcher; they need nothing of the SM any more.
  enter(sm, plan_.sms[sm].stalled ? Phase::kStalled : Phase::kRunning, now);
}

/// An SM that is stalled may be all that has work: somebody must be awake when the next epoch ends.
void Partition::stay_awake(Cycle now) {
  const Cycle length = wiring_.config.run.epoch;
  const bool stalled = std::find(phases_.begin(), phases_.end(), Phase::kStalled) != phases_.end();
  if (stalled && length != 0) wiring_.scheduler.wake(wiring_.dispatcher_unit, (now / length + 1) * length);
}

Cycle Partition::cycles_to_memory_and_back(u64 bytes) const {
  const u64 per_second = wiring_.config.dram.resolved().pin_bytes_per_second();
  const u64 cycles_per_second = u64{wiring_.config.core_mhz} * 1'000'000;
  return (2 * bytes * cycles_per_second + per_second - 1) / per_second;
}

void Partition::describe(StatTree& tree) {
  if (!policy_->never_moves()) tree.add("gpu.partition", stats_);
}

void Partition::settle(Cycle now) {
  for (u32 sm = 0; sm < phases_.size(); ++sm) {
    if (phases_[sm] == Phase::kStalled && plan_.sms[sm].owner) {
      stats_.stalled_cycles[*plan_.sms[sm].owner] += now - since_[sm];
    }
    since_[sm] = now;
  }
}

}  // namespace terrace
