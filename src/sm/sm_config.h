// SPDX-License-Identifier: MIT
#pragma once

#include "config/fields.h"
#include "sm/warp_scheduler.h"

namespace terrace {

struct SmConfig {
  Policy<WarpScheduler> warp_scheduler{"gto"};

  void describe(Fields& v) { v.policy("warp_scheduler", warp_scheduler, "which of the ready warps issues next"); }
};

}  // namespace terrace
