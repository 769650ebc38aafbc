// SPDX-License-Identifier: MIT
#include "sm/context.h"

namespace terrace {

SmContext::SmContext(const SmConfig& config)
    : free_places_(config.warps == 64 ? ~u64{0} : (u64{1} << config.warps) - 1) {
  for (u32 i = 0; i < config.schedulers; ++i)
    schedulers_.push_back(config.warp_scheduler.make({.warps = config.warps}));
}

}  // namespace terrace
