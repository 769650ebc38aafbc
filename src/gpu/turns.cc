// Tenants that share the GPU in time: each has every SM in turn. When a turn ends nothing issues any more and no block
// leaves; when every SM's accesses have been answered, all change their root register and context at once, and the next
// tenant goes on after the time of a switch. A tenant without work, or the only one with some, costs no switch. All of
// it happens between cycles. Simplified: the context is saved and restored without traffic, in tenancy.switch_cycles.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "gpu/gpu.h"

namespace terrace {

void Gpu::handle_turns() {
  if (!takes_turns() || all_completed()) return;
  if (!turn_.ending) {
    const bool over = !turn_.tenant || now() >= turn_.ends || !has_work(index(*turn_.tenant));
    if (!over) return;
    const std::optional<TenantId> next = next_in_turn();
    if (!next) return;  // nobody has work
    if (next == turn_.tenant) {
      turn_.ends = now() + config_.tenancy.quantum;
      return;
    }
    begin_switch();
  }
  if (!drained()) return;
  // Whoever was next may have left meanwhile, and the old one may be the only one again.
  if (const std::optional<TenantId> next = next_in_turn()) finish_switch(*next);
}

void Gpu::begin_switch() {
  settle_turn();
  turn_.ending = true;
  turn_.begins = now();  // it may have left during the switch to it
  dispatcher_->end_turn();
  for (const auto& sm : sms_) sm->hold_issue();
}

bool Gpu::drained() const {
  return std::all_of(sms_.begin(), sms_.end(), [](const auto& sm) { return sm->drained(); }) &&
         std::all_of(starts_.begin(), starts_.end(), [](const auto& link) { return link->empty(); });
}

void Gpu::finish_switch(TenantId next) {
  settle_turn();
  const bool other = next != turn_.tenant;
  // The first turn of all follows none.
  const Cycle resume = now() + (other && turn_.tenant ? config_.tenancy.switch_cycles : 0);
  for (const auto& sm : sms_) {
    other ? sm->switch_to(next, now(), resume) : sm->resume_issue(now());
  }
  dispatcher_->give_turn(next, resume);
  if (other && turn_.tenant) ++turn_stats_.switches;
  turn_ = {next, resume + config_.tenancy.quantum, now(), resume, false};
}

bool Gpu::has_work(u32 tenant) const {
  return !states_[tenant].ended && dispatcher_->running(TenantId(tenant));
}

/// The first one with work after whose turn it is; that one itself comes last.
std::optional<TenantId> Gpu::next_in_turn() const {
  const u32 count = static_cast<u32>(tenants_.size());
  const u32 last = turn_.tenant ? index(*turn_.tenant) : count - 1;
  for (u32 step = 1; step <= count; ++step) {
    const u32 tenant = (last + step) % count;
    if (has_work(tenant)) return TenantId(tenant);
  }
  return std::nullopt;
}

/// Counts the cycles since the last call to whom they belong.
void Gpu::settle_turn() {
  if (!turn_.tenant || now() <= turn_.since) return;
  const Cycle switched = std::min(now(), std::max(turn_.since, turn_.begins));
  turn_stats_.switch_cycles += switched - turn_.since;
  (turn_.ending ? turn_stats_.drain_cycles : turn_stats_.turn_cycles[*turn_.tenant]) += now() - switched;
  turn_.since = now();
}

}  // namespace terrace
