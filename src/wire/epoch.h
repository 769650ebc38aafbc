// What tenants did in the last epoch, for policies that go by it. The epoch controller publishes between cycles, from
// what units counted; everybody may read.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bitset>
#include <span>
#include <vector>

#include "engine/archive.h"
#include "engine/bulletin.h"
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

class EpochBoard {
 public:
  explicit EpochBoard(u32 tenants) : tenants_(tenants) {}

  u32 tenants() const { return static_cast<u32>(tenants_.size()); }
  /// Epochs that have ended.
  u64 epochs(Cycle now) const { return epochs_.read(now); }
  /// What a tenant did in the last of them; nothing before the first.
  const TenantEpoch& last(TenantId tenant, Cycle now) const { return tenants_[index(tenant)].read(now); }

  /// For the epoch controller: before cycle `now`, so that cycle `now` sees it.
  void publish(TenantId tenant, const TenantEpoch& values, Cycle now) {
    tenants_[index(tenant)].publish(now - 1, values);
  }
  void publish_end(u64 epochs, Cycle now) { epochs_.publish(now - 1, epochs); }

  void archive(Archive& a) { a(tenants_, epochs_); }

 private:
  std::vector<Bulletin<TenantEpoch>> tenants_;
  Bulletin<u64> epochs_{0};
};

}  // namespace terrace
