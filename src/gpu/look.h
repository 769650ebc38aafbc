// How the machine stands between two cycles: for a page that shows a run while it goes on.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "gpu/machine_parts.h"
#include "gpu/tenant_activity.h"
#include "wire/epoch.h"

namespace terrace {

struct MachineLook {
  Cycle cycle = 0;
  std::vector<TenantEpoch> tenants;   // what each has done since the run began
  std::vector<u32> walks_in_service;  // by tenant
  u32 walks_waiting = 0;              // for a walker, of all tenants
  /// Cycles that requests have waited in a part of the machine that tenants share, by tenant. None unless they are counted.
  struct Waits {
    std::string part;
    std::vector<u64> cycles;
  };
  std::vector<Waits> waits = {};
};

/// Between cycles. It changes nothing.
MachineLook look_at(const MachineParts& parts, const TenantActivity& activity, Cycle now);

}  // namespace terrace
