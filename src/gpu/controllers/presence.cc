// SPDX-License-Identifier: MIT
#include "gpu/controllers/presence.h"

#include <algorithm>

namespace terrace {

/// Somebody must be awake when tenants come or go.
Presence::Presence(Wiring wiring) : wiring_(wiring) {
  for (u32 i = 0; i < wiring_.tenants.count(); ++i) {
    const TenantSetup& tenant = wiring_.tenants.setup(TenantId(i));
    for (const Cycle at : {tenant.arrive, tenant.leave}) {
      if (at != 0 && at != kNever) wiring_.scheduler.wake(wiring_.dispatcher_unit, at);
    }
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
  if (coming.empty()) return;
  for (const TenantId tenant : coming) tenants[tenant].present = true;
  // Walkers are built divided among all.
  if (coming.size() < tenants.count()) divide_walkers(now);
  divide_sms(SmPartitioner::Occasion::kArrival, now);
  for (const TenantId tenant : coming) wiring_.launches.start_run(tenant, now);
}

void Presence::leave(TenantId tenant, Cycle now) {
  TenantState& state = wiring_.tenants[tenant];
  state.ended = true;
  state.done.left = now;
  depart(tenant, now);
}

void Presence::end(TenantId tenant, Cycle now) {
  wiring_.tenants[tenant].ended = true;
  const bool busy = wiring_.dispatcher.running(tenant);
  wiring_.dispatcher.cancel(tenant);
  for (const auto& sm : wiring_.sms) sm->abandon(tenant, now);
  const TenantSetup& setup = wiring_.tenants.setup(tenant);
  setup.program->stopped(*setup.memory, wiring_.tenants[tenant].done.fault);
  if (!busy) depart(tenant, now);
}

void Presence::depart(TenantId tenant, Cycle now) {
  wiring_.tenants[tenant].present = false;
  divide_walkers(now);
  divide_sms(SmPartitioner::Occasion::kDeparture, now);
}

void Presence::divide_walkers(Cycle now) {
  const std::vector<TenantId> present = wiring_.tenants.present();
  // A walk system of a tenant's own stays its own.
  if (present.empty() || wiring_.config.mmu.per_tenant) return;
  for (u32 i = 0; i < wiring_.mmus.size(); ++i) {
    wiring_.mmus[i]->divide_among(present, now);
    wiring_.scheduler.wake(wiring_.mmu_units[i], now);
  }
}

void Presence::divide_sms(SmPartitioner::Occasion occasion, Cycle now) {
  if (wiring_.partition != nullptr && !wiring_.tenants.present().empty()) wiring_.partition->ask(occasion, now);
}

}  // namespace terrace
