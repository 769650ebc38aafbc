// All units of a machine and the crossbars between them, for what goes through them all: statistics and their identities,
// the waiting matrix, energies, a look at a run.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "cache/l2_slice.h"
#include "dram/channel.h"
#include "gpu/config.h"
#include "noc/crossbar.h"
#include "sm/sm.h"
#include "stats/stat_tree.h"
#include "tenancy/block_dispatcher.h"
#include "translation/fbt.h"
#include "translation/l2_tlb.h"
#include "translation/miss_translator.h"
#include "translation/mmu.h"

namespace terrace {

/// Refers to all of them, and may stand before they have been built.
struct MachineParts {
  const GpuConfig& config;
  u32 tenants;
  const std::unique_ptr<BlockDispatcher>& dispatcher;
  const std::vector<std::unique_ptr<Sm>>& sms;
  const std::unique_ptr<L2Tlb>& tlb;                                     // none on an ideal machine
  const std::unique_ptr<Fbt>& fbt;                                       // or none
  const std::vector<std::unique_ptr<MissTranslator>>& miss_translators;  // by slice, or none
  const std::vector<std::unique_ptr<Mmu>>& mmus;
  const std::vector<std::unique_ptr<L2Slice>>& slices;
  const std::vector<std::unique_ptr<Channel>>& channels;
  const std::unique_ptr<Crossbar<AccessRef>>&requests, &replies;

  /// Closes statistics that run over cycles, before cycle `now`.
  void settle(Cycle now) const;
  /// From now on: which tenant's requests wait for which tenant's. Before the first cycle.
  void enable_blame() const;
  /// What each counts, under its name.
  void describe(StatTree& stats) const;
  /// What must agree between them when nothing is in flight (identities.cc).
  void declare_identities(StatTree& stats) const;
};

}  // namespace terrace
