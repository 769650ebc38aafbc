// What tenants did in the last epoch, for policies that go by it. The epoch controller publishes between cycles, from
// what units counted; everybody may read.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "engine/bulletin.h"
#include "engine/types.h"

namespace terrace {

/// One tenant in one epoch.
struct TenantEpoch {
  u64 cycles = 0;  // of the epoch
  u64 warp_instructions = 0, thread_instructions = 0;
  u64 blocks_done = 0;
  u64 l2_requests = 0;  // what left its SMs: lines asked for or written, atomics; no reads of page walks
  u64 l2_hits = 0;      // of those
  u64 dram_lines = 0;   // read and written for it, but for page walks
  friend bool operator==(const TenantEpoch&, const TenantEpoch&) = default;
};

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

 private:
  std::vector<Bulletin<TenantEpoch>> tenants_;
  Bulletin<u64> epochs_{0};
};

}  // namespace terrace
