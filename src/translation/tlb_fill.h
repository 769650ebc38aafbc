// The slot `l2_tlb.fill`: when a walk has found a translation, is it filled into the L2 TLB, into the bypass cache beside
// it, or into neither? The L1 TLBs that wait for it are always filled.
//
//   choose     once for each translation that arrives. `askers` are the warps that wait for it: the first warp of each SM,
//              in order of arrival, and, if the policy wants them (wants_merged_warps), those that joined its miss later
//              and whose message has arrived by now.
//     kTlb       the TLB itself.
//     kBypass    the bypass cache beside it, which every look-up also searches; the policy says how large it is.
//     kNowhere   neither.
//   looked_up  once for each look-up: whether the page was there, in either structure.
//   epoch      between cycles, at the end of each epoch, if it uses epochs (by_epochs).
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
  /// Saves and restores what changes during a run, except statistics; `{}` when nothing does. Between cycles only.
  virtual void archive(Archive& a) = 0;
  virtual void looked_up(TenantId /*tenant*/, bool /*hit*/) {}
  /// Statistics of its own.
  virtual void describe(StatFields& /*v*/) {}
  virtual void epoch(TenantEpochs /*tenants*/) {}
  /// Whether it uses epochs; then run.epoch must give their length.
  virtual bool by_epochs() const { return false; }

  // Asked once, when the machine is built.
  /// Translations that the bypass cache holds, fully associative; 0: there is none.
  virtual u32 bypass_entries() const { return 0; }
  /// Whether SMs tell the L2 TLB of warps that join a miss.
  virtual bool wants_merged_warps() const { return false; }
};

}  // namespace terrace
