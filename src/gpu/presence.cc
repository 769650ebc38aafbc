// Who is on the GPU: tenants that arrive and leave during a run, and what is divided anew among those who are there.
// All of it happens between cycles. A tenant that leaves is there until the answers to its last accesses are back; then
// its walkers, and under tenancy.share = present its SMs, go to the others. What it left in caches and TLBs ages out,
// but for the L1 and L1 TLB of an SM that changes hands.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "engine/even_share.h"
#include "gpu/gpu.h"

namespace terrace {

/// Those who are there from the beginning start; somebody must be awake when others come or go.
void Gpu::expect_tenants() {
  for (const TenantSetup& tenant : tenants_) {
    for (const Cycle at : {tenant.arrive, tenant.leave}) {
      if (at != 0 && at != kNever) scheduler_.wake(dispatcher_unit_, at);
    }
  }
  handle_comings_and_goings();
}

Cycle Gpu::next_coming_or_going() const {
  Cycle next = kNever;
  for (const TenantSetup& tenant : tenants_) {
    for (const Cycle at : {tenant.arrive, tenant.leave}) {
      if (at > now()) next = std::min(next, at);
    }
  }
  return next;
}

void Gpu::handle_comings_and_goings() {
  for (u32 i = 0; i < tenants_.size(); ++i) {
    if (tenants_[i].leave != now() || states_[i].ended) continue;
    states_[i].done.left = now();
    end_tenant(TenantId(i));
  }
  std::vector<TenantId> coming;
  for (u32 i = 0; i < tenants_.size(); ++i) {
    if (tenants_[i].arrive == now() && !states_[i].present && !states_[i].ended) coming.push_back(TenantId(i));
  }
  if (coming.empty()) return;
  for (const TenantId tenant : coming) states_[index(tenant)].present = true;
  // A machine is built divided among all.
  if (coming.size() < tenants_.size()) divide_among_present();
  for (const TenantId tenant : coming) start_run(tenant);
}

/// Its warps end where they stand; depart() follows when nothing of it is under way any more.
void Gpu::end_tenant(TenantId tenant) {
  states_[index(tenant)].ended = true;
  const bool busy = dispatcher_->running(tenant);
  dispatcher_->cancel(tenant);
  for (const auto& sm : sms_) sm->abandon(tenant, now());
  if (!busy) depart(tenant);
}

void Gpu::depart(TenantId tenant) {
  states_[index(tenant)].present = false;
  divide_among_present();
}

void Gpu::divide_among_present() {
  std::vector<TenantId> present;
  for (u32 i = 0; i < tenants_.size(); ++i) {
    if (states_[i].present) present.push_back(TenantId(i));
  }
  if (present.empty()) return;
  // A walk system of a tenant's own stays its own.
  for (u32 i = 0; i < mmus_.size() && !config_.mmu.per_tenant; ++i) {
    mmus_[i]->divide_among(present, now());
    scheduler_.wake(mmu_units_[i], now());
  }
  if (config_.tenancy.share == TenancyConfig::Share::kFixed) return;
  std::vector<std::vector<u32>> sms_of_tenant(tenants_.size());
  for (u32 i = 0; i < present.size(); ++i) {
    const EvenShare share = even_share(config_.sm.count, static_cast<u32>(present.size()), i);
    for (u32 sm = 0; sm < share.count; ++sm) sms_of_tenant[index(present[i])].push_back(share.first + sm);
  }
  dispatcher_->assign(std::move(sms_of_tenant), now());
}

/// Whether nobody who is there has anything to do until another one comes: then time may pass without an instruction.
bool Gpu::all_wait_for_an_arrival() const {
  bool expected = false;
  for (u32 i = 0; i < tenants_.size(); ++i) {
    expected |= tenants_[i].arrive > now();
    if (dispatcher_->running(TenantId(i))) return false;
  }
  return expected;
}

}  // namespace terrace
