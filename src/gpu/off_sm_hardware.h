// What lies between the SMs of a machine and its memory can carry at most: for SM partitioners that go by it.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpu/config.h"
#include "tenancy/off_sm_bandwidth.h"

namespace terrace {

/// Ports times bytes per cycle: on either side of the crossbar there may be fewer. A port of an L2 slice serves a
/// line per cycle.
OffSmHardware off_sm_hardware(const GpuConfig& config);

}  // namespace terrace
