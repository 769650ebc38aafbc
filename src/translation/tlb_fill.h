// The slot `l2_tlb.fill`: which structure of the L2 TLB takes a translation that a walk brings? The L1 TLBs that
// wait for it take it in any case.
//
//   choose     once for each translation that arrives. `askers` are the warps that wait for it: the first of each SM, in
//              order of arrival, and, if the policy wants them, those that joined the SM's miss later, as far as word of
//              them has come.
//     kTlb       the TLB itself.
//     kBypass    the bypass cache beside it, which every look-up also searches; the policy says how large it is.
//     kNowhere   none.
//   looked_up  once for each look-up: whether the page was there, in either structure.
//   epoch      between cycles, when an epoch ends, if it goes by epochs.
//
// Contract: a translation goes into one structure at most.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "config/registry.h"
#include "engine/archive.h"
#include "engine/types.h"
#include "stats/stat_fields.h"
#include "wire/epoch.h"

namespace terrace {

/// A warp that waits for a page.
struct TlbAsker {
  SmId sm{};
  u8 warp = 0;
};

class TlbFillPolicy {
 public:
  struct Context {
    u32 tenants = 1;
    u32 sms = 1;
    u32 warps = 1;  // of an SM
    u64 seed = 1;
  };
  enum class Into : u8 { kTlb, kBypass, kNowhere };
  static constexpr SlotInfo kSlot{"l2_tlb.fill", "TLB fill policy", "which TLB a translation is filled into"};

  virtual ~TlbFillPolicy() = default;
  virtual Into choose(u64 key, TenantId tenant, std::span<const TlbAsker> askers) = 0;
  /// What changes while it runs, but for statistics, for checkpoints; `{}` when nothing does. Between cycles only.
  virtual void archive(Archive& a) = 0;
  virtual void looked_up(TenantId /*tenant*/, bool /*hit*/) {}
  /// Statistics of its own.
  virtual void describe(StatFields& /*v*/) {}
  virtual void epoch(TenantEpochs /*tenants*/) {}
  /// Whether it goes by epochs; then run.epoch must say how long they are.
  virtual bool by_epochs() const { return false; }

  // Asked once, when the machine is built.
  /// Translations that the bypass cache holds, fully associative; 0: there is none.
  virtual u32 bypass_entries() const { return 0; }
  /// Whether SMs send word of warps that join a miss.
  virtual bool wants_merged_warps() const { return false; }
};

}  // namespace terrace
