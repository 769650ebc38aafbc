// SPDX-License-Identifier: MIT
#include "gpu/tenant_table.h"

#include <algorithm>

namespace terrace {

std::vector<TenantId> TenantTable::present() const {
  std::vector<TenantId> all;
  for (u32 i = 0; i < count(); ++i) {
    if (states_[i].present) all.push_back(TenantId(i));
  }
  return all;
}

bool TenantTable::all_completed() const {
  return std::all_of(states_.begin(), states_.end(), [this](const TenantState& state) {
    return state.ended || (state.done.completed_runs > 0 && !window);
  });
}

u64 TenantTable::issued(TenantId tenant, PerTenant<Counter> SmStats::* counter) const {
  u64 total = 0;
  for (const auto& sm : sms_) total += (sm->stats.*counter)[tenant].value;
  return total;
}

TenantProgress TenantTable::progress(TenantId tenant) const {
  TenantProgress progress = states_[index(tenant)].done;
  progress.arrived = setups_[index(tenant)].arrive;
  progress.warp_instructions = warp_instructions(tenant);
  progress.thread_instructions = thread_instructions(tenant);
  return progress;
}

}  // namespace terrace
