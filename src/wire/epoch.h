// What tenants did in the last epoch, for policies that go by it. The epoch controller gathers it from what units counted and
// tells it to whom it concerns, between cycles.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bitset>
#include <span>
#include <vector>

#include "engine/types.h"

namespace terrace {

/// Levels of a page table that are told apart: 1 is the root.
inline constexpr u32 kWalkLevels = 4;

/// One tenant in one epoch.
struct TenantEpoch {
  u64 cycles = 0;  // of the epoch
  u64 warp_instructions = 0, thread_instructions = 0;
  u64 blocks_done = 0;
  u64 l2_requests = 0;  // what left its SMs: lines asked for or written, atomics; no reads of page walks
  u64 l2_hits = 0;      // of those
  u64 dram_lines = 0;   // read and written for it, but for page walks
  // Its page-table reads in the L2, by level from the root: looked up, and found.
  std::array<u64, kWalkLevels> walk_lookups{}, walk_hits{};
  u32 warps = 0;               // distinct places of warps that it had on its SMs
  std::bitset<kMaxSms> sms{};  // on which it had some
  u32 concurrent_walks = 0;    // the most that were in service at once
  u32 stalled_warps = 0;       // the most warps of an SM that waited for one page
  friend bool operator==(const TenantEpoch&, const TenantEpoch&) = default;
};

/// Of what is counted; peaks have no difference.
inline TenantEpoch difference(const TenantEpoch& after, const TenantEpoch& before) {
  TenantEpoch epoch{.warp_instructions = after.warp_instructions - before.warp_instructions,
                    .thread_instructions = after.thread_instructions - before.thread_instructions,
                    .blocks_done = after.blocks_done - before.blocks_done,
                    .l2_requests = after.l2_requests - before.l2_requests,
                    .l2_hits = after.l2_hits - before.l2_hits,
                    .dram_lines = after.dram_lines - before.dram_lines};
  for (u32 level = 0; level < kWalkLevels; ++level) {
    epoch.walk_lookups[level] = after.walk_lookups[level] - before.walk_lookups[level];
    epoch.walk_hits[level] = after.walk_hits[level] - before.walk_hits[level];
  }
  return epoch;
}

/// What every tenant did in the epoch that has ended, by tenant.
using TenantEpochs = std::span<const TenantEpoch>;

}  // namespace terrace
