// SPDX-License-Identifier: MIT
#include "gpu/controllers/presence.h"

#include <algorithm>

#include "engine/archive.h"
#include "engine/check.h"

namespace terrace {

/// Somebody must be awake when tenants come or go.
Presence::Presence(Wiring wiring) : wiring_(wiring) {
  for (u32 i = 0; i < wiring_.tenants.count(); ++i) {
    const TenantSetup& tenant = wiring_.tenants.setup(TenantId(i));
    for (const Cycle at : {tenant.arrive, tenant.leave}) {
      if (at != 0 && at != kNever) wiring_.scheduler.wake(wiring_.dispatcher_unit, at);
    }
    if (tenant.visitors != nullptr) visitors_ = tenant.visitors;
  }
}

Cycle Presence::next(Cycle now) const {
  Cycle next = kNever;
  for (u32 i = 0; i < wiring_.tenants.count(); ++i) {
    const TenantSetup& tenant = wiring_.tenants.setup(TenantId(i));
    for (const Cycle at : {tenant.arrive, tenant.leave}) {
      if (at > now) next = std::min(next, at);
    }
  }
  if (visitors_ != nullptr && visitors_->open() && !absent_visitors().empty())
    next = std::min(next, std::max(next_look_, now + 1));
  return next;
}

void Presence::act(Cycle now) {
  TenantTable& tenants = wiring_.tenants;
  for (u32 i = 0; i < tenants.count(); ++i) {
    TenantState& tenant = tenants[TenantId(i)];
    if (tenants.setup(TenantId(i)).leave != now || tenant.ended) continue;
    tenant.done.left = now;
    end(TenantId(i), now);
  }
  std::vector<TenantId> coming;
  for (u32 i = 0; i < tenants.count(); ++i) {
    const TenantState& tenant = tenants[TenantId(i)];
    if (tenants.setup(TenantId(i)).arrive == now && !tenant.present && !tenant.ended) coming.push_back(TenantId(i));
  }
  arrive(coming, now);
  if (visitors_ != nullptr) receive_visitors(now);
}

/// Visitors are processes, which no file holds.
void Presence::archive(Archive& a) {
  SIM_CHECK(visitors_ == nullptr, "tenants that come and go when they like cannot be saved");
  a(divided_);
}

void Presence::arrive(std::span<const TenantId> coming, Cycle now) {
  TenantTable& tenants = wiring_.tenants;
  if (coming.empty()) return;
  for (const TenantId tenant : coming) tenants[tenant].present = true;
  // Walkers are built divided among all.
  if (divided_ || coming.size() < tenants.count()) divide_walkers(now);
  divide_sms(SmPartitioner::Occasion::kArrival, now);
  for (const TenantId tenant : coming) wiring_.launches.start_run(tenant, now);
}

/// Some may leave in the cycle in which they come.
void Presence::receive_visitors(Cycle now) {
  while (visitors_->open()) {
    const bool nobody = wiring_.tenants.present().empty();
    if (!nobody && now < next_look_) return;
    if (nobody) visitors_->wait();
    next_look_ = now + kLookEvery;
    const std::vector<TenantId> coming = visitors_->admit(absent_visitors());
    for (const TenantId tenant : coming) {
      TenantState& state = wiring_.tenants[tenant];
      TenantProgress& done = state.done;
      state.ended = false;
      if (done.visits++ == 0)
        done.arrived = now;
      else
        done.absent += now - done.left;
      done.came = now;
      done.left = kNever;
      done.fault.clear();
    }
    arrive(coming, now);
  }
}

std::vector<TenantId> Presence::absent_visitors() const {
  std::vector<TenantId> absent;
  for (u32 i = 0; i < wiring_.tenants.count(); ++i) {
    const bool comes = wiring_.tenants.setup(TenantId(i)).visitors != nullptr;
    if (comes && !wiring_.tenants[TenantId(i)].present) absent.push_back(TenantId(i));
  }
  return absent;
}

void Presence::leave(TenantId tenant, Cycle now) {
  TenantState& state = wiring_.tenants[tenant];
  state.ended = true;
  state.done.left = now;
  depart(tenant, now);
}

void Presence::end(TenantId tenant, Cycle now) {
  wiring_.tenants[tenant].ended = true;
  const bool busy = wiring_.launches.running(tenant);
  wiring_.dispatcher.cancel(tenant);
  for (const auto& sm : wiring_.sms) sm->abandon(tenant, now);
  const TenantSetup& setup = wiring_.tenants.setup(tenant);
  setup.program->stopped(*setup.memory, wiring_.tenants[tenant].done.fault);
  if (!busy) depart(tenant, now);
}

void Presence::depart(TenantId tenant, Cycle now) {
  TenantState& state = wiring_.tenants[tenant];
  state.present = false;
  divide_walkers(now);
  divide_sms(SmPartitioner::Occasion::kDeparture, now);
  if (wiring_.tenants.setup(tenant).visitors == nullptr) return;
  if (state.done.left == kNever) state.done.left = now;  // a fault ended it
  if (on_departure) on_departure(tenant);
  // Its place is free for the next one. Somebody must be awake to look.
  next_look_ = now + 1;
  wiring_.scheduler.wake(wiring_.dispatcher_unit, now + 1);
}

void Presence::divide_walkers(Cycle now) {
  const std::vector<TenantId> present = wiring_.tenants.present();
  // An MMU of a tenant's own stays its own.
  if (present.empty() || wiring_.config.mmu.per_tenant) return;
  divided_ = true;
  for (u32 i = 0; i < wiring_.mmus.size(); ++i) {
    wiring_.mmus[i]->divide_among(present, now);
    wiring_.scheduler.wake(wiring_.mmu_units[i], now);
  }
}

void Presence::divide_sms(SmPartitioner::Occasion occasion, Cycle now) {
  if (wiring_.partition != nullptr && !wiring_.tenants.present().empty()) wiring_.partition->ask(occasion, now);
}

}  // namespace terrace
