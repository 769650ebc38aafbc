// SPDX-License-Identifier: MIT
#include "gpu/controllers/presence.h"

#include <algorithm>

#include "engine/even_share.h"

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
  // A machine is built divided among all.
  if (coming.size() < tenants.count()) divide_among_present(now);
  for (const TenantId tenant : coming) wiring_.launches.start_run(tenant, now);
}

void Presence::end(TenantId tenant, Cycle now) {
  wiring_.tenants[tenant].ended = true;
  const bool busy = wiring_.dispatcher.running(tenant);
  wiring_.dispatcher.cancel(tenant);
  for (const auto& sm : wiring_.sms) sm->abandon(tenant, now);
  if (!busy) depart(tenant, now);
}

void Presence::depart(TenantId tenant, Cycle now) {
  wiring_.tenants[tenant].present = false;
  divide_among_present(now);
}

void Presence::divide_among_present(Cycle now) {
  const std::vector<TenantId> present = wiring_.tenants.present();
  if (present.empty()) return;
  const GpuConfig& config = wiring_.config;
  // A walk system of a tenant's own stays its own.
  for (u32 i = 0; i < wiring_.mmus.size() && !config.mmu.per_tenant; ++i) {
    wiring_.mmus[i]->divide_among(present, now);
    wiring_.scheduler.wake(wiring_.mmu_units[i], now);
  }
  if (config.tenancy.share == TenancyConfig::Share::kFixed) return;
  std::vector<std::vector<u32>> sms_of_tenant(wiring_.tenants.count());
  for (u32 i = 0; i < present.size(); ++i) {
    const EvenShare share = even_share(config.sm.count, static_cast<u32>(present.size()), i);
    for (u32 sm = 0; sm < share.count; ++sm) sms_of_tenant[index(present[i])].push_back(share.first + sm);
  }
  wiring_.dispatcher.assign(std::move(sms_of_tenant), now);
}

}  // namespace terrace
