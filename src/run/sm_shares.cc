// SPDX-License-Identifier: MIT
#include "run/sm_shares.h"

#include <algorithm>
#include <numeric>

#include "engine/check.h"
#include "engine/even_share.h"

namespace terrace {

std::vector<u64> sms_of_tenants(const GpuConfig& config, u32 tenants) {
  if (config.tenancy.sharing == TenancyConfig::Sharing::kTime) return std::vector<u64>(tenants, config.sm.count);
  const std::vector<u64> counts = config.run.sms.empty() ? even_counts(config.sm.count, tenants) : config.run.sms;
  if (counts.size() != tenants)
    input_error("run.sms: has {} numbers for {} tenants; give one number per tenant", counts.size(), tenants);
  const u64 total = std::accumulate(counts.begin(), counts.end(), u64{0});
  if (total > config.sm.count || std::find(counts.begin(), counts.end(), 0u) != counts.end()) {
    input_error("run.sms: {} tenants cannot have {} SMs of {}; give each at least one", tenants, total,
                config.sm.count);
  }
  return counts;
}

}  // namespace terrace
