// SPDX-License-Identifier: MIT
#include "gpu/machine_parts.h"

#include <fmt/format.h>

namespace terrace {

void MachineParts::settle(Cycle now) const {
  for (const auto& sm : sms) sm->settle(now);
  if (tlb) tlb->settle(now);
  if (fbt) fbt->settle(now);
  for (const auto& mmu : mmus) mmu->settle(now);
  for (const auto& slice : slices) slice->settle(now);
  requests->settle(now);
  replies->settle(now);
  for (const auto& channel : channels) channel->settle(now);
}

void MachineParts::enable_blame() const {
  if (tlb) tlb->enable_blame(tenants);
  if (fbt) fbt->enable_blame(tenants);
  for (const auto& mmu : mmus) mmu->enable_blame(tenants);
  for (const auto& slice : slices) slice->enable_blame(tenants);
  for (const auto& channel : channels) channel->enable_blame(tenants);
  // An SM that serves one tenant at a time has nobody at its own port who waits for another one.
  for (u32 i = config.shares_sms() ? 0 : static_cast<u32>(sms.size()); i < replies->outputs(); ++i)
    replies->books(i).keep(tenants);
}

void MachineParts::describe(StatTree& stats) const {
  const auto add_blame = [&](const std::string& unit, Blame& blame) {
    if (blame.on()) stats.add(unit + ".blame", blame);
  };
  stats.add("gpu.dispatcher", dispatcher->stats);
  for (u32 i = 0; i < sms.size(); ++i) {
    stats.add(fmt::format("gpu.sm.{}", i), sms[i]->stats);
    stats.add(fmt::format("gpu.sm.{}.load_store", i), sms[i]->load_store().stats);
    if (config.translates_in_sm())
      stats.add(fmt::format("gpu.sm.{}.l1_tlb", i), sms[i]->load_store().translator().stats);
    stats.add(fmt::format("gpu.sm.{}.l1", i), sms[i]->load_store().l1_stats());
    if (L1FilterStats* filter = sms[i]->load_store().l1_filter_stats())
      stats.add(fmt::format("gpu.sm.{}.l1.filter", i), *filter);
    if (L1SynonymStats* synonyms = sms[i]->load_store().l1_synonym_stats())
      stats.add(fmt::format("gpu.sm.{}.l1.synonyms", i), *synonyms);
    stats.add(fmt::format("gpu.noc.to_sm.{}", i), replies->stats(i));
    if (config.shares_sms()) add_blame(fmt::format("gpu.noc.to_sm.{}", i), replies->books(i).blame());
  }
  if (tlb) {
    stats.add("gpu.l2_tlb.0", tlb->stats);
    stats.add("gpu.l2_tlb.0.fill_policy", tlb->fill_policy());
    if (tlb->has_banks()) stats.add("gpu.l2_tlb.0.banks", tlb->bank_stats);
    if (tlb->has_bypass_cache()) stats.add("gpu.l2_tlb.0.bypass_cache", tlb->bypass_stats);
    add_blame("gpu.l2_tlb.0", tlb->blame);
  }
  if (fbt) {
    stats.add("gpu.fbt", fbt->stats);
    add_blame("gpu.fbt", fbt->blame);
  }
  for (u32 i = 0; i < mmus.size(); ++i) {
    stats.add(fmt::format("gpu.mmu.{}", i), mmus[i]->stats);
    stats.add(fmt::format("gpu.mmu.{}.walk_scheduler", i), mmus[i]->scheduler());
    stats.add(fmt::format("gpu.mmu.{}.walk_path", i), mmus[i]->walk_path());
    add_blame(fmt::format("gpu.mmu.{}", i), mmus[i]->blame);
    if (config.walks_use(WalkPath::Way::kL2))
      add_blame(fmt::format("gpu.noc.to_mmu.{}", i), replies->books(config.sm.count + i).blame());
  }
  for (u32 i = 0; i < slices.size(); ++i) {
    stats.add(fmt::format("gpu.l2.{}", i), slices[i]->stats);
    if (!slices[i]->admits_all()) stats.add(fmt::format("gpu.l2.{}.admission", i), slices[i]->admission_stats);
    add_blame(fmt::format("gpu.l2.{}", i), slices[i]->blame);
    if (fbt) stats.add(fmt::format("gpu.l2.{}.names", i), slices[i]->names_stats);
    if (!miss_translators.empty()) stats.add(fmt::format("gpu.l2.{}.translator", i), miss_translators[i]->stats);
    stats.add(fmt::format("gpu.noc.to_l2.{}", i), requests->stats(i));
    add_blame(fmt::format("gpu.noc.to_l2.{}", i), requests->books(i).blame());
  }
  for (u32 i = 0; i < channels.size(); ++i) {
    stats.add(fmt::format("gpu.dram.{}", i), channels[i]->stats);
    stats.add(fmt::format("gpu.dram.{}.scheduler", i), channels[i]->scheduler());
    add_blame(fmt::format("gpu.dram.{}", i), channels[i]->blame);
  }
}

}  // namespace terrace
