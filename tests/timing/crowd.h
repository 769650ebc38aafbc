// A machine with next to no room in its caches and TLBs, and tenants that fight for the same few lines.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/rng.h"
#include "timing/scripted_tenants.h"

namespace terrace {

/// Caches of a few lines, TLBs of a few pages: lines leave dirty, come back and are changed while they are on their
/// way.
inline GpuConfig crowded_gpu() {
  GpuConfig config;
  config.sm.count = 4;
  config.l1.bytes = 8 * config.line_bytes;
  config.l1.ways = 2;
  config.l2.slices = 2;
  config.l2.bytes = 16 * config.line_bytes;
  config.l2.ways = 4;
  config.dram.channels = 2;
  config.dram.write_high = 24;
  config.tenancy.launch_gap = 10;
  config.l1_tlb.entries = 4;
  config.l2_tlb.entries = 8;
  config.l2_tlb.ways = 0;
  return config;
}

/// Loads, stores of parts of lines and of whole lines, atomics, loads past the L1: all at random among 48 lines on 12
/// pages, from every warp.
inline ScriptedTenant crowd(u64 seed, u32 launches = 1) {
  const auto line = [seed](const ScriptPlace& place, u32 op, u32 part) {
    const u64 access = place.block << 32 | place.warp << 24 | place.round << 8 | op << 4 | part;
    const u64 random = Rng(seed << 48 ^ access, "lines").next();
    return GuestMemory::kBase + random % 12 * 4096 + random / 12 % 4 * 128;
  };
  const auto spread = [line](u32 op) {
    return [=](const ScriptPlace& place, u32 lane) { return line(place, op, lane / 16) + lane % 16 * 8; };
  };
  const auto whole = [line](const ScriptPlace& place, u32 lane) { return line(place, 9, 0) + lane * 4; };
  ScriptOp past_l1{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {1}, {5}), spread(3)};
  past_l1.inst.volatile_access = true;
  return {.script = {{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {1}, {2}), spread(0)},
                     {memory_inst(MemoryAction::kStore, MemorySpace::kGlobal, 4, {1, 2}, {}), spread(1)},
                     {memory_inst(MemoryAction::kStore, MemorySpace::kGlobal, 4, {1}, {}), whole},
                     {memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {1}, {3}), spread(1)},
                     {memory_inst(MemoryAction::kReduction, MemorySpace::kGlobal, 4, {1}, {}), spread(2)},
                     past_l1},
          .rounds = 12,
          .blocks = 8,
          .threads = 128,
          .launches = launches,
          .buffer_bytes = 12 * 4096};
}

/// What a host does between launches that frees the crowd's buffer and allocates another one: it has the same addresses, and
/// each of its pages another frame. Frames that were freed last are given first, so that pages take each other's; two of them
/// go to pages that nobody touches, for a buffer may be a single page.
inline void move_buffer(GuestMemory& memory) {
  const u64 bytes = memory.allocations().front().bytes, other = 2 * static_cast<u64>(memory.page_size());
  memory.free({GuestMemory::kBase});
  memory.allocate_at("other pages",
                     {GuestMemory::kBase + GuestMemory::kNearBytes + memory.allocations().size() * other}, other);
  memory.allocate_at("buffer", {GuestMemory::kBase}, bytes);
}

}  // namespace terrace
