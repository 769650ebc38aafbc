// SPDX-License-Identifier: MIT
#include "gpu/controllers/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/archive.h"
#include "engine/check.h"
#include "stats/decision_log.h"
#include "stats/stat_tree.h"

namespace terrace {

Partition::Partition(Wiring wiring, std::unique_ptr<SmPartitioner> policy, SmPlan plan)
    : wiring_(wiring),
      policy_(std::move(policy)),
      plan_(std::move(plan)),
      phases_(wiring_.sms.size(), Phase::kRunning),
      leaving_since_(wiring_.sms.size(), kNever),
      former_(wiring_.sms.size(), 0),
      gated_(wiring_.sms.size(), 0),
      owned_(wiring_.sms.size()),
      needs_(wiring_.tenants.count()),
      last_epoch_(wiring_.tenants.count()) {}

Cycle Partition::next(Cycle now) const {
  Cycle next = policy_->appointment();
  if (plan_.drain_cycles != kNever) {
    for (const Cycle since : leaving_since_) {
      if (since != kNever) next = std::min(next, since + plan_.drain_cycles);
    }
  }
  return std::max(next, now + 1);
}

void Partition::act(Cycle now) {
  const bool epoch_ended = std::exchange(epoch_ended_, false);
  if (wiring_.tenants.present().empty()) return follow_leaving(now);
  if (epoch_ended && policy_->by_epochs()) ask(SmPartitioner::Occasion::kEpoch, now);
  if (policy_->by_kernels() && kernels_changed()) ask(SmPartitioner::Occasion::kKernel, now);
  if (policy_->appointment() <= now) ask(SmPartitioner::Occasion::kAppointment, now);
  SIM_CHECK(policy_->appointment() > now, "the SM partitioner's next appointment has passed");
  follow_leaving(now);
}

void Partition::hear_of_epoch(TenantEpochs tenants) {
  last_epoch_.assign(tenants.begin(), tenants.end());
  epoch_ended_ = true;
}

void Partition::ask(SmPartitioner::Occasion occasion, Cycle now) {
  const bool searched = policy_->searching();
  const SmPlan plan = policy_->divide(situation(occasion, now), plan_);
  if (plan != plan_) carry_out(plan, now);
  keep_log();
  if (searched && !policy_->searching() && !decisions_.empty()) write_down({now, {}, std::string(kSearchEnded), {}});
  stay_awake(now);
}

SmPartitioner::Situation Partition::situation(SmPartitioner::Occasion occasion, Cycle now) const {
  SmPartitioner::Situation result{
      .occasion = occasion, .now = now, .present = wiring_.tenants.present(), .epoch = last_epoch_};
  const u32 tenants = wiring_.tenants.count();
  for (u32 i = 0; i < tenants; ++i) {
    result.so_far.push_back(wiring_.activity.so_far(TenantId(i)));
    result.block.push_back(wiring_.dispatcher.block_needs(TenantId(i)));
  }
  for (const auto& sm : wiring_.sms) {
    std::vector<u64>& issued = result.issued.emplace_back();
    for (u32 i = 0; i < tenants; ++i) issued.push_back(sm->stats.warp_instructions[TenantId(i)].value);
  }
  result.settled = settled();
  return result;
}

/// A tenant without a kernel leaves things as they are.
bool Partition::kernels_changed() {
  bool changed = false;
  for (u32 i = 0; i < needs_.size(); ++i) {
    const SmRoom needs = wiring_.dispatcher.block_needs(TenantId(i));
    if (needs.blocks == 0 || needs == needs_[i]) continue;
    changed |= needs_[i].blocks != 0;
    needs_[i] = needs;
  }
  return changed;
}

void Partition::carry_out(const SmPlan& plan, Cycle now) {
  check(plan);
  settle(now);
  for (u32 sm = 0; sm < plan.sms.size(); ++sm) {
    const std::optional<TenantId> before = plan_.sms[sm].owner, after = plan.sms[sm].owner;
    if (before == after) continue;
    if (before) ++stats_.sms_taken[*before];
    if (after) ++stats_.sms_given[*after];
    if (before) former_[sm] |= u32{1} << index(*before);
    if (after) former_[sm] &= ~(u32{1} << index(*after));
  }
  plan_ = plan;
  for (u32 sm = 0; sm < plan_.sms.size(); ++sm) {
    const bool leaving = foreign_blocks(sm);
    if (!leaving) {
      leaving_since_[sm] = kNever;
      forget_former(sm);
    }
    if (leaving && leaving_since_[sm] == kNever) leaving_since_[sm] = now;
    enter(sm, phase_of(sm, now), now);
  }
  wiring_.dispatcher.assign(plan_.sms, now);
  if (!settled()) move_ = {now, preempted_blocks()};
}

bool Partition::settled() const {
  return std::all_of(leaving_since_.begin(), leaving_since_.end(), [](Cycle since) { return since == kNever; });
}

u64 Partition::preempted_blocks() const {
  u64 sum = 0;
  for (u32 i = 0; i < wiring_.tenants.count(); ++i) sum += stats_.preempted_blocks[TenantId(i)].value;
  return sum;
}

void Partition::check(const SmPlan& plan) const {
  SIM_CHECK(plan.sms.size() == plan_.sms.size(), "the SM partitioner divides {} SMs of {}", plan.sms.size(),
            plan_.sms.size());
  for (const SmUse& use : plan.sms) {
    SIM_CHECK(!use.owner || index(*use.owner) < wiring_.tenants.count(),
              "the SM partitioner gives an SM to tenant {}, and there are {}", index(*use.owner),
              wiring_.tenants.count());
    SIM_CHECK(!use.gated || (!use.owner && !use.shared()),
              "the SM partitioner takes the power of an SM that is in use");
    SIM_CHECK(!use.shared() || policy_->shares_sms(), "the SM partitioner shares an SM without saying that it does");
  }
}

void Partition::keep_log() {
  for (SmDecision& decision : policy_->take_decisions()) write_down(std::move(decision));
}

void Partition::write_down(SmDecision decision) {
  for (u32 i = 0; i < wiring_.tenants.count(); ++i) decision.running.push_back(plan_.running(TenantId(i)));
  decisions_.push_back(std::move(decision));
  ++stats_.decisions;
}

/// When the last block has left that might not stay, for those partitioners that keep a log.
void Partition::write_down_move(Cycle now) {
  if (!move_ || !settled()) return;
  const Move done = *std::exchange(move_, std::nullopt);
  if (decisions_.empty()) return;
  write_down({now,
              {},
              fmt::format("SMs have changed hands, {} cycles after the decision; {} blocks were preempted",
                          now - done.since, preempted_blocks() - done.preempted_before),
              {}});
}

/// Whether blocks are there that may not stay.
bool Partition::foreign_blocks(u32 sm) const {
  for (u32 i = 0; i < wiring_.tenants.count(); ++i) {
    if (wiring_.dispatcher.held(sm, TenantId(i)) > plan_.sms[sm].most_blocks(TenantId(i))) return true;
  }
  return false;
}

/// Blocks that may not stay must leave first, even from an SM that is to be stalled.
Partition::Phase Partition::phase_of(u32 sm, Cycle now) const {
  const SmUse& use = plan_.sms[sm];
  if (leaving_since_[sm] == kNever) {
    if (use.gated) return wiring_.dispatcher.empty(sm) ? Phase::kGated : Phase::kRunning;
    return use.stalled ? Phase::kStalled : Phase::kRunning;
  }
  if (plan_.drain_cycles != kNever && now >= leaving_since_[sm] + plan_.drain_cycles) return Phase::kPreempting;
  for (u32 i = 0; i < wiring_.tenants.count(); ++i) {
    const bool may_not_stay = wiring_.dispatcher.held(sm, TenantId(i)) > use.most_blocks(TenantId(i));
    if (may_not_stay && plan_.leave[i] == Leave::kPreempt) return Phase::kPreempting;
  }
  return Phase::kRunning;
}

void Partition::enter(u32 sm, Phase phase, Cycle now) {
  // An SM without blocks is waited for no longer; one that loses them is looked at whenever one is back.
  const bool waits = leaving_since_[sm] != kNever || (plan_.sms[sm].gated && phase != Phase::kGated);
  wiring_.dispatcher.watch(sm, waits);
  const Phase before = std::exchange(phases_[sm], phase);
  if (phase == before) return;
  Sm& unit = *wiring_.sms[sm];
  if (before == Phase::kGated) {
    ++stats_.wakes;
    wiring_.dispatcher.close(sm, now + wiring_.config.tenancy.wake_cycles);
  }
  switch (phase) {
    case Phase::kRunning:
      return unit.resume_issue(now);
    case Phase::kStalled:
      return unit.hold_issue(Sm::WhenDrained::kGoOn);
    case Phase::kPreempting:
      return unit.hold_issue(Sm::WhenDrained::kStopRun);
    case Phase::kGated:
      return unit.lose_power();
  }
}

/// SMs whose blocks are on their way out: are they gone, or must they be preempted?
void Partition::follow_leaving(Cycle now) {
  for (u32 sm = 0; sm < phases_.size(); ++sm) {
    if (leaving_since_[sm] != kNever && phases_[sm] != Phase::kPreempting) {
      if (!foreign_blocks(sm)) {
        leaving_since_[sm] = kNever;
        forget_former(sm);
      }
      settle(now);
      enter(sm, phase_of(sm, now), now);
    }
    if (phases_[sm] == Phase::kPreempting) {
      const bool due = wiring_.sms[sm]->drained() && wiring_.starts[sm]->empty() && !wiring_.dispatcher.restores(sm);
      if (due) preempt(sm, now);
    }
    if (plan_.sms[sm].gated && phases_[sm] == Phase::kRunning && wiring_.dispatcher.empty(sm)) {
      settle(now);
      enter(sm, Phase::kGated, now);
    }
  }
  write_down_move(now);
}

void Partition::preempt(u32 sm, Cycle now) {
  std::vector<UnfinishedBlock> blocks = wiring_.sms[sm]->take_blocks(now);
  for (const UnfinishedBlock& block : blocks) ++stats_.preempted_blocks[block.tenant];
  const Cycle open = wiring_.dispatcher.take_back(sm, std::move(blocks), now);
  stats_.closed_cycles += open - now;
  // Blocks that ended by themselves may still be on their way to the dispatcher; they need nothing of the SM any more.
  settle(now);
  leaving_since_[sm] = kNever;
  forget_former(sm);
  enter(sm, plan_.sms[sm].stalled ? Phase::kStalled : Phase::kRunning, now);
}

/// The last block of tenants that had the SM before has left it: whoever walks for them next does so elsewhere.
void Partition::forget_former(u32 sm) {
  u32 tenants = std::exchange(former_[sm], 0);
  if (!wiring_.config.tenancy.flush_shared_on_switch) return;
  for (; tenants != 0; tenants &= tenants - 1)
    wiring_.translations.flush_core(SmId(sm), TenantId(std::countr_zero(tenants)));
}

/// An SM that is stalled may be all that has work: somebody must be awake when the partitioner is asked next.
void Partition::stay_awake(Cycle now) {
  const Cycle length = wiring_.config.run.epoch;
  const bool stalled = std::find(phases_.begin(), phases_.end(), Phase::kStalled) != phases_.end();
  if (stalled && length != 0) wiring_.scheduler.wake(wiring_.dispatcher_unit, (now / length + 1) * length);
  if (const Cycle at = next(now); at != kNever) wiring_.scheduler.wake(wiring_.dispatcher_unit, at);
}

void Partition::archive(Archive& a) {
  a.part("partitioner");
  a(*policy_);
  a.part("partition");
  a(plan_, phases_, leaving_since_, former_, since_, gated_, owned_, needs_, decisions_, move_, last_epoch_,
    epoch_ended_);
}

void Partition::describe(StatTree& tree) {
  if (!policy_->never_moves()) tree.add("gpu.partition", stats_);
}

void Partition::settle(Cycle now) {
  const u64 cycles = now - since_;
  since_ = now;
  for (u32 i = 0; i < wiring_.tenants.count(); ++i) {
    const auto id = TenantId(i);
    stats_.context_bytes[id].value = wiring_.dispatcher.saved_bytes(id) + wiring_.dispatcher.restored_bytes(id);
  }
  if (cycles == 0) return;
  for (u32 sm = 0; sm < phases_.size(); ++sm) {
    if (phases_[sm] == Phase::kGated) {
      gated_[sm] += cycles;
      stats_.gated_cycles += cycles;
    }
    const std::optional<TenantId> owner = plan_.sms[sm].owner;
    if (!owner) continue;
    owned_[sm][index(*owner)] += cycles;
    stats_.owned_cycles[*owner] += cycles;
    if (phases_[sm] == Phase::kStalled) stats_.stalled_cycles[*owner] += cycles;
  }
}

}  // namespace terrace
