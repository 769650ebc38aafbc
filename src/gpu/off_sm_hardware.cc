// SPDX-License-Identifier: MIT
#include "gpu/off_sm_hardware.h"

#include <algorithm>

namespace terrace {

OffSmHardware off_sm_hardware(const GpuConfig& config) {
  const u64 slice_ports = u64{config.l2.slices} * config.l2.ports;
  const u64 noc_ports = std::min<u64>(config.sm.count, slice_ports);
  const u64 memory = config.dram.resolved().pin_bytes_per_second() / (u64{config.core_mhz} * 1000);
  return {.sms = config.sm.count,
          .issue_width = config.sm.schedulers,
          .line_bytes = config.line_bytes,
          .noc = 1000 * noc_ports * config.noc.flit_bytes,
          .llc = 1000 * slice_ports * config.line_bytes,
          .memory = memory};
}

}  // namespace terrace
