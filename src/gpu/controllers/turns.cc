// SPDX-License-Identifier: MIT
#include "gpu/controllers/turns.h"

#include <algorithm>

#include "engine/archive.h"
#include "stats/stat_tree.h"

namespace terrace {

void Turns::act(Cycle now) {
  if (wiring_.tenants.all_completed()) return;
  if (!turn_.ending) {
    const bool over = !turn_.tenant || now >= turn_.ends || !has_work(*turn_.tenant);
    if (!over) return;
    const std::optional<TenantId> next = next_in_turn();
    if (!next) return;  // nobody has work
    if (next == turn_.tenant) {
      turn_.ends = now + wiring_.config.quantum;
      return;
    }
    begin_switch(now);
  }
  if (!drained()) return;
  // Whoever was next may have left meanwhile, and the old one may be the only one again.
  if (const std::optional<TenantId> next = next_in_turn()) finish_switch(*next, now);
}

void Turns::begin_switch(Cycle now) {
  settle(now);
  if (const std::optional<TurnSpan> ended = open_turn(now); spans_ && ended) spans_->add(*ended);
  turn_.ending = true;
  turn_.begins = now;  // it may have left during the switch to it
  wiring_.dispatcher.end_turn();
  for (const auto& sm : wiring_.sms) sm->hold_issue(Sm::WhenDrained::kStopRun);
}

bool Turns::drained() const {
  return std::all_of(wiring_.sms.begin(), wiring_.sms.end(), [](const auto& sm) { return sm->drained(); }) &&
         std::all_of(wiring_.starts.begin(), wiring_.starts.end(), [](const auto& link) { return link->empty(); });
}

void Turns::finish_switch(TenantId next, Cycle now) {
  settle(now);
  const bool other = next != turn_.tenant;
  // The first turn of all follows none.
  const Cycle resume = now + (other && turn_.tenant ? wiring_.config.switch_cycles : 0);
  for (const auto& sm : wiring_.sms) {
    other ? sm->switch_to(next, now, resume) : sm->resume_issue(now);
  }
  wiring_.dispatcher.give_turn(next, resume);
  if (other && turn_.tenant) {
    if (wiring_.config.flush_shared_on_switch) wiring_.translations.flush_tenant(*turn_.tenant);
    ++stats_.switches;
    if (spans_) spans_->add({next, turn_.tenant, turn_.begins, resume});
  }
  turn_ = {next, resume + wiring_.config.quantum, now, resume, false};
}

std::optional<TurnSpan> Turns::open_turn(Cycle now) const {
  if (!turn_.tenant || turn_.ending || turn_.begins >= now) return std::nullopt;
  return TurnSpan{*turn_.tenant, std::nullopt, turn_.begins, now};
}

bool Turns::has_work(TenantId tenant) const {
  return !wiring_.tenants[tenant].ended && wiring_.dispatcher.running(tenant);
}

/// The first one with work after whose turn it is; that one itself comes last.
std::optional<TenantId> Turns::next_in_turn() const {
  const u32 count = wiring_.tenants.count();
  const u32 last = turn_.tenant ? index(*turn_.tenant) : count - 1;
  for (u32 step = 1; step <= count; ++step) {
    const TenantId tenant{static_cast<u8>((last + step) % count)};
    if (has_work(tenant)) return tenant;
  }
  return std::nullopt;
}

void Turns::archive(Archive& a) {
  a(turn_);
  if (spans_) a(*spans_);
}

void Turns::describe(StatTree& tree) {
  tree.add("gpu.turns", stats_);
}

void Turns::settle(Cycle now) {
  if (!turn_.tenant || now <= turn_.since) return;
  const Cycle switched = std::min(now, std::max(turn_.since, turn_.begins));
  stats_.switch_cycles += switched - turn_.since;
  (turn_.ending ? stats_.drain_cycles : stats_.turn_cycles[*turn_.tenant]) += now - switched;
  turn_.since = now;
}

}  // namespace terrace
