// What the memory system offers to SMs and what a tenant would ask of it if nothing held it up: the off-SM bandwidth
// model of CD-search (ICS'18, section 4.1). A tenant that would ask for more than there is does not get faster with more
// SMs: it is memory-intensive. Bandwidths are bytes per 1,000 core cycles, so that all arithmetic is exact.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "engine/types.h"

namespace terrace {

/// What a machine has, from its configuration alone.
struct OffSmHardware {
  u32 sms = 1, issue_width = 1, line_bytes = 128;
  u64 noc = 0, llc = 0, memory = 0;  // peak bandwidth of the crossbar, the L2 cache and DRAM
};

/// What a tenant did in a window.
struct OffSmActivity {
  u64 warp_instructions = 0, l2_requests = 0, l2_hits = 0;
};

struct OffSmBandwidth {
  u64 demand = 0;   // of all SMs of the machine, issuing without a stall
  u64 offered = 0;  // by crossbar, L2 cache and DRAM, at the tenant's hit rate
  bool memory_intensive() const { return demand > offered; }
};

/// `dram_percent`: the part of DRAM's peak that accesses can use.
inline OffSmBandwidth off_sm_bandwidth(const OffSmHardware& machine, const OffSmActivity& did, u32 dram_percent) {
  OffSmBandwidth result{0, machine.noc};
  if (did.warp_instructions > 0) {
    // All warp instructions of the machine in 1,000 cycles; each asks for l2_requests / warp_instructions lines.
    const u64 issued = u64{1000} * machine.issue_width * machine.sms;
    result.demand = issued * machine.line_bytes * did.l2_requests / did.warp_instructions;
  }
  if (did.l2_requests > 0) {
    const u64 misses = did.l2_requests - did.l2_hits;
    const u64 behind = (machine.llc * did.l2_hits + machine.memory * misses * dram_percent / 100) / did.l2_requests;
    result.offered = std::min(result.offered, behind);
  }
  return result;
}

}  // namespace terrace
