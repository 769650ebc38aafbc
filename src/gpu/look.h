// How the machine stands between two cycles: for a page that shows a run while it goes on.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "wire/epoch.h"

namespace terrace {

struct MachineLook {
  Cycle cycle = 0;
  std::vector<TenantEpoch> tenants;   // what each has done since the run began
  std::vector<u32> walks_in_service;  // by tenant
  u32 walks_waiting = 0;              // for a walker, of all tenants
};

}  // namespace terrace
