// SPDX-License-Identifier: MIT
#include "gpu/tenant_table.h"

namespace terrace {

std::vector<TenantId> TenantTable::present() const {
  std::vector<TenantId> all;
  for (u32 i = 0; i < count(); ++i) {
    if (states_[i].present) all.push_back(TenantId(i));
  }
  return all;
}

bool TenantTable::all_completed() const {
  for (u32 i = 0; i < count(); ++i) {
    const TenantState& state = states_[i];
    const bool visits = setups_[i].visitors != nullptr;
    const bool over = visits ? !state.present && !setups_[i].visitors->open()
                             : state.ended || (state.done.completed_runs > 0 && !window);
    if (!over) return false;
  }
  return true;
}

u64 TenantTable::issued(TenantId tenant, PerTenant<Counter> SmStats::* counter) const {
  u64 total = 0;
  for (const auto& sm : sms_) total += (sm->stats.*counter)[tenant].value;
  return total;
}

TenantProgress TenantTable::progress(TenantId tenant) const {
  TenantProgress progress = states_[index(tenant)].done;
  if (progress.visits == 0) progress.arrived = setups_[index(tenant)].arrive;
  progress.warp_instructions = warp_instructions(tenant);
  progress.thread_instructions = thread_instructions(tenant);
  return progress;
}

}  // namespace terrace
