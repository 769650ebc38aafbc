// SPDX-License-Identifier: MIT
#include "gpu/controllers/samples.h"

#include "stats/stat_tree.h"

namespace terrace {

void Samples::act(Cycle now) {
  if (now % every_ != 0 || now == last_) return;
  last_ = now;
  ++stats_.samples;
  u64 walks = 0;
  for (const auto& mmu : mmus_) {
    for (u32 i = 0; i < kMaxTenants; ++i) {
      const u32 its = mmu->walks_in_service(TenantId(i));
      stats_.walks[TenantId(i)] += its;
      walks += its;
    }
  }
  stats_.concurrent_walks.add(walks);
  for (const auto& sm : sms_) {
    sm->load_store().translator().each_miss([&](TenantId tenant, u32 warps) {
      ++stats_.misses[tenant];
      stats_.stalled[tenant] += warps;
      stats_.stalled_warps.add(warps);
    });
  }
}

void Samples::describe(StatTree& tree) {
  tree.add("gpu.samples", stats_);
}

}  // namespace terrace
