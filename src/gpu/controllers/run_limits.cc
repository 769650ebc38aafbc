// SPDX-License-Identifier: MIT
#include "gpu/controllers/run_limits.h"

namespace terrace {

void RunLimits::act(Cycle now) {
  const auto reach = [&](RunEnd end) {
    reached_ = true;
    end_ = end;
  };
  if (tenants_.all_completed()) return reach(RunEnd::kCompleted);
  if (now >= cycles_) return reach(RunEnd::kCycleLimit);
  if (enough_instructions()) return reach(RunEnd::kInstructionLimit);
  if (stop_ && stop_()) return reach(RunEnd::kAsked);
}

bool RunLimits::enough_instructions() const {
  u64 threads = 0;
  for (u32 i = 0; i < tenants_.count(); ++i) threads += tenants_.thread_instructions(TenantId(i));
  return threads >= thread_instructions_;
}

}  // namespace terrace
