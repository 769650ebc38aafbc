// A GPU of one SM, one slice and one channel, for tests that know what everything costs.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpu/config.h"

namespace terrace {

/// Its latencies. All differ, so that a sum tells what it is made of.
struct SmallGpuCycles {
  u32 l1_tlb = 3, l1 = 7, tlb_link = 2, l2_tlb = 9, transit = 4, noc = 5, l2 = 11;
  constexpr u32 l2_read() const { return noc + l2 + noc; }
};
inline constexpr SmallGpuCycles kSmallGpu;

inline GpuConfig small_gpu() {
  GpuConfig config;
  config.sm.count = 1;
  config.sm.schedulers = 1;
  config.l1.hit_cycles = kSmallGpu.l1;
  config.l2.slices = 1;
  config.l2.bytes = 1 << 20;
  config.l2.hit_cycles = kSmallGpu.l2;
  config.noc.latency = kSmallGpu.noc;
  config.dram.channels = 1;
  config.dram.refresh = false;
  config.tenancy.launch_gap = 0;
  config.pages.frames = FrameOrder::kContiguous;
  config.l1_tlb.entries = 8;
  config.l1_tlb.ways = 0;
  config.l1_tlb.hit_cycles = kSmallGpu.l1_tlb;
  config.l2_tlb.entries = 64;
  config.l2_tlb.ways = 0;
  config.l2_tlb.hit_cycles = kSmallGpu.l2_tlb;
  config.l2_tlb.link_cycles = kSmallGpu.tlb_link;
  config.mmu.transit_cycles = kSmallGpu.transit;
  return config;
}

/// No TLB holds more than one page; walks read the L2, which holds the tables once they have been read.
inline GpuConfig walking_gpu() {
  GpuConfig config = small_gpu();
  config.l1_tlb.entries = config.l2_tlb.entries = 1;
  return config;
}

}  // namespace terrace
