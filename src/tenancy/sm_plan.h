// What each SM is used for: the answer of an SM partitioner.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "engine/even_share.h"
#include "engine/types.h"

namespace terrace {

/// The most blocks that each tenant may have on an SM.
using BlockQuotas = std::array<u8, kMaxTenants>;

/// One SM. It has one owner, or several tenants share it, each with a quota of blocks, or it is nobody's.
struct SmUse {
  std::optional<TenantId> owner = {};
  bool stalled = false;     // its blocks stay and issue nothing, and no other block comes
  bool gated = false;       // nobody's, and without power as soon as it is empty
  BlockQuotas quotas = {};  // without an owner: of those who share it; with one: 0 means that it may fill the SM
  friend bool operator==(const SmUse&, const SmUse&) = default;

  bool shared() const {
    return !owner && std::any_of(quotas.begin(), quotas.end(), [](u8 quota) { return quota > 0; });
  }
  /// The most blocks that a tenant may have here.
  u32 most_blocks(TenantId tenant) const {
    const u32 quota = quotas[index(tenant)];
    if (!owner) return quota;
    if (*owner != tenant) return 0;
    return quota == 0 ? ~u32{0} : quota;
  }
};

/// How a tenant's blocks leave an SM that is no longer its own: they end there, or are preempted and go on
/// elsewhere.
enum class Leave : u8 { kDrain, kPreempt };

struct SmPlan {
  std::vector<SmUse> sms;
  std::array<Leave, kMaxTenants> leave{};  // by tenant
  Cycle drain_cycles = kNever;             // blocks that have not ended after so long are preempted after all

  /// SMs that a tenant may use.
  u32 running(TenantId tenant) const {
    return static_cast<u32>(std::count_if(
        sms.begin(), sms.end(), [&](const SmUse& use) { return use.most_blocks(tenant) > 0 && !use.stalled; }));
  }
  /// The SMs that a tenant owns, in order.
  std::vector<u32> owned(TenantId tenant) const {
    std::vector<u32> its;
    for (u32 sm = 0; sm < sms.size(); ++sm) {
      if (sms[sm].owner == tenant) its.push_back(sm);
    }
    return its;
  }
  /// Contiguous even shares, in the order of the tenants.
  void divide_evenly(const std::vector<TenantId>& tenants) {
    std::fill(sms.begin(), sms.end(), SmUse{});
    for (u32 i = 0; i < tenants.size(); ++i) {
      const EvenShare share = even_share(static_cast<u32>(sms.size()), static_cast<u32>(tenants.size()), i);
      for (u32 sm = 0; sm < share.count; ++sm) sms[share.first + sm].owner = tenants[i];
    }
  }
  friend bool operator==(const SmPlan&, const SmPlan&) = default;
};

}  // namespace terrace
