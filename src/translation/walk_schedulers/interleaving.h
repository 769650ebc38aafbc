// How far walks of other tenants delay a tenant's walks, as DWS counts it (DWS-A11): for walk schedulers whose queues or
// walkers tenants share.
// SPDX-License-Identifier: MIT
#pragma once

#include "stats/stat_fields.h"

namespace terrace {

struct InterleavingStats {
  PerTenant<Counter> interleaving;
  void describe(StatFields& v, const PerTenant<Counter>& placed) {
    v("interleaving", interleaving, "walks", "walks of other tenants that each walk had to wait for, summed (DWS-A11)");
    v.ratio("mean_interleaving", sum(interleaving), sum(placed), "walks of others per walk");
  }
};

}  // namespace terrace
