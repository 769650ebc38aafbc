// SPDX-License-Identifier: MIT
#include "gpu/controllers/power.h"

#include "engine/check.h"
#include "stats/stat_tree.h"

namespace terrace {

void Power::describe(StatTree& tree) {
  tree.add_derived("gpu.power", stats_);
}

void Power::settle(Cycle now) {
  PowerActivity activity{.cycles = now};
  add_sm_static(activity);
  for (u32 i = 0; i < parts_.tenants; ++i) {
    const auto tenant = TenantId(i);
    for (const auto& sm : parts_.sms) add_sm(*sm, tenant, activity);
    add_translation(tenant, activity);
    add_memory(tenant, activity);
    add_contexts(tenant, activity);
  }
  for (const auto& channel : parts_.channels) activity(CommonPart::kDramRefresh) += channel->stats.refreshes.value;
  activity(CommonPart::kDramBackground) = now * parts_.channels.size();
  activity(CommonPart::kUncore) = now;
  model_.account(activity, stats_);
}

void Power::add_sm_static(PowerActivity& activity) const {
  const Cycle now = activity.cycles;
  for (u32 sm = 0; sm < parts_.sms.size(); ++sm) {
    u64 accounted = partition_ != nullptr ? partition_->gated_cycles(sm) : 0;
    for (u32 i = 0; partition_ != nullptr && i < parts_.tenants; ++i) {
      const u64 owned = partition_->owned_cycles(sm, TenantId(i));
      activity(TenantId(i), TenantPart::kSmStatic) += owned;
      accounted += owned;
    }
    SIM_CHECK(accounted <= now, "SM {} was gated or a tenant's for {} of {} cycles", sm, accounted, now);
    activity(CommonPart::kUnownedSms) += now - accounted;
  }
}

void Power::add_sm(const Sm& sm, TenantId tenant, PowerActivity& activity) const {
  const SmStats& stats = sm.stats;
  activity(tenant, TenantPart::kIssue) += stats.warp_instructions[tenant].value;
  activity(tenant, TenantPart::kInteger) += stats.integer[tenant].value;
  activity(tenant, TenantPart::kSingle) += stats.single[tenant].value;
  activity(tenant, TenantPart::kDouble) += stats.double_precision[tenant].value;
  activity(tenant, TenantPart::kSpecial) += stats.special[tenant].value;
  constexpr u64 kMacsOfEvent = 512;  // power.tensor_pj; every tensor instruction does a multiple of it
  activity(tenant, TenantPart::kTensor) += stats.tensor_macs[tenant].value / kMacsOfEvent;
  activity(tenant, TenantPart::kControl) +=
      stats.control[tenant].value + stats.barriers[tenant].value + stats.fences[tenant].value;
  activity(tenant, TenantPart::kMemory) += stats.memory[tenant].value;
  activity(tenant, TenantPart::kRegisters) += stats.thread_instructions[tenant].value;
  activity(tenant, TenantPart::kShared) += stats.shared_passes[tenant].value;
  const L1Stats& l1 = sm.load_store().l1_stats();
  activity(tenant, TenantPart::kL1) +=
      l1.loads[tenant].value + l1.stores[tenant].value + l1.atomics[tenant].value + l1.misses[tenant].value;
  activity(tenant, TenantPart::kL1Tlb) += sm.load_store().translator().stats.lookups[tenant].value;
}

void Power::add_translation(TenantId tenant, PowerActivity& activity) const {
  if (parts_.tlb)
    activity(tenant, TenantPart::kL2Tlb) +=
        parts_.tlb->stats.lookups[tenant].value + parts_.tlb->stats.misses[tenant].value;
  for (const auto& mmu : parts_.mmus) activity(tenant, TenantPart::kWalks) += mmu->stats.walks[tenant].value;
}

void Power::add_memory(TenantId tenant, PowerActivity& activity) const {
  u64 flits = 0;
  for (Crossbar<AccessRef>* crossbar : {parts_.requests.get(), parts_.replies.get()})
    for (u32 i = 0; i < crossbar->outputs(); ++i) flits += crossbar->stats(i).flits_of[tenant].value;
  activity(tenant, TenantPart::kNoc) += flits * parts_.config.noc.flit_bytes;
  for (const auto& slice : parts_.slices)
    activity(tenant, TenantPart::kL2) += slice->stats.lookups[tenant].value + slice->stats.misses[tenant].value;
  const DramConfig dram = parts_.config.dram.resolved();
  for (const auto& channel : parts_.channels) {
    const DramStats& stats = channel->stats;
    activity(tenant, TenantPart::kDramActivate) += stats.activations_of[tenant].value;
    for (const DramTrafficStats* traffic : {&stats.data, &stats.walk}) {
      activity(tenant, TenantPart::kDramRead) += traffic->reads[tenant].value;
      activity(tenant, TenantPart::kDramWrite) += traffic->writes[tenant].value;
      activity(tenant, TenantPart::kDramBus) +=
          traffic->bus_cycles[tenant].value * dram.transfers_per_clock * dram.bus_bits / 8;
    }
  }
}

/// Registers and shared memory of preempted blocks are no accesses that a unit counts, but move as others do.
void Power::add_contexts(TenantId tenant, PowerActivity& activity) const {
  const u64 saved = parts_.dispatcher->saved_bytes(tenant), restored = parts_.dispatcher->restored_bytes(tenant);
  const auto lines = [&](u64 bytes) { return (bytes + parts_.config.line_bytes - 1) / parts_.config.line_bytes; };
  activity(tenant, TenantPart::kNoc) += saved + restored;
  activity(tenant, TenantPart::kDramWrite) += lines(saved);
  activity(tenant, TenantPart::kDramRead) += lines(restored);
  activity(tenant, TenantPart::kDramBus) += saved + restored;
}

}  // namespace terrace
