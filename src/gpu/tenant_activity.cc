// SPDX-License-Identifier: MIT
#include "gpu/tenant_activity.h"

namespace terrace {

TenantEpoch TenantActivity::so_far(TenantId tenant) const {
  TenantEpoch sum;
  for (const auto& sm : sms_) {
    sum.warp_instructions += sm->stats.warp_instructions[tenant].value;
    sum.thread_instructions += sm->stats.thread_instructions[tenant].value;
    sum.blocks_done += sm->stats.blocks_done[tenant].value;
  }
  for (const auto& slice : slices_) {
    const L2Stats& l2 = slice->stats;
    sum.l2_requests += l2.lookups[tenant].value;
    sum.l2_hits += l2.hits[tenant].value;
    for (u32 level = 0; level < kWalkLevels; ++level) {
      sum.walk_lookups[level] += l2.walk_lookups[level][tenant].value;
      sum.walk_hits[level] += l2.walk_hits[level][tenant].value;
      sum.l2_requests -= l2.walk_lookups[level][tenant].value;
      sum.l2_hits -= l2.walk_hits[level][tenant].value;
    }
  }
  for (const auto& channel : channels_) {
    const DramTrafficStats& data = channel->stats.data;
    sum.dram_lines += data.reads[tenant].value + data.writes[tenant].value;
  }
  return sum;
}

}  // namespace terrace
