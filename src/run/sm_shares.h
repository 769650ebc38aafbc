// How many SMs each tenant of a configuration has, for whoever runs it or plans runs that are compared with it.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "gpu/config.h"

namespace terrace {

/// run.sms; without it, even shares; all of them for everyone when tenants share in time. Shares that the machine
/// does not have are the user's error.
std::vector<u64> sms_of_tenants(const GpuConfig& config, u32 tenants);

}  // namespace terrace
