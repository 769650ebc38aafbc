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

/// One SM; it has one owner at most, because a plan names it once.
struct SmUse {
  std::optional<TenantId> owner;  // none: it stays idle
  bool stalled = false;           // its blocks stay and issue nothing, and no other block comes
  friend bool operator==(const SmUse&, const SmUse&) = default;
};

/// How a tenant's blocks leave an SM that is no longer its own: they end there, or are put aside unfinished and go on
/// elsewhere.
enum class Leave : u8 { kDrain, kPreempt };

struct SmPlan {
  std::vector<SmUse> sms;
  std::array<Leave, kMaxTenants> leave{};  // by tenant

  /// SMs that a tenant has and may use.
  u32 running(TenantId tenant) const {
    return static_cast<u32>(std::count(sms.begin(), sms.end(), SmUse{tenant, false}));
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
