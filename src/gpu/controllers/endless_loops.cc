// SPDX-License-Identifier: MIT
#include "gpu/controllers/endless_loops.h"

namespace terrace {

void EndlessLoops::act(Cycle now) {
  if (now < due_) return;
  due_ = now - now % patience_ + patience_;
  for (u32 i = 0; i < tenants_.count(); ++i) {
    const auto tenant = TenantId(i);
    if (const auto sentence = tenants_.setup(tenant).stream->find_endless_loop()) faults_.end(tenant, *sentence, now);
  }
}

}  // namespace terrace
