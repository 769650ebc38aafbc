// How many SMs each tenant of a configuration has: for the run itself, and for the alone runs it is compared with.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "gpu/config.h"

namespace terrace {

/// run.sms if given, otherwise even shares; under time sharing, all SMs for every tenant. Asking for more SMs than the
/// machine has is an InputError.
std::vector<u64> sms_of_tenants(const GpuConfig& config, u32 tenants);

}  // namespace terrace
