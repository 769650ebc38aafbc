// SPDX-License-Identifier: MIT
#include "tenancy/cd_search.h"

#include <fmt/format.h>

#include <algorithm>

namespace terrace {

SmPlan CdSearch::divide(const Situation& situation, const SmPlan& plan) {
  if (situation.occasion == Occasion::kArrival || situation.occasion == Occasion::kDeparture)
    return restart(situation, plan);
  if (situation.occasion != Occasion::kAppointment || !window_.advance(situation)) return plan;
  switch (step_) {
    case Step::kDone:
      return plan;
    case Step::kClassify:
      return classify(situation, plan);
    case Step::kPerformance:
      return after_stall(situation, plan);
    case Step::kOneSm:
      return predict(situation, plan);
    case Step::kPowerSearch:
      return add_sms(situation, plan);
  }
  return plan;
}

SmPlan CdSearch::restart(const Situation& situation, SmPlan plan) {
  plan.divide_evenly(situation.present);
  saves_power_ = false;
  bool enough = true;
  for (const TenantId id : situation.present) {
    Tenant& tenant = of(id);
    tenant.share = plan.owned(id);
    tenant.kept = static_cast<u32>(tenant.share.size());
    tenant.done = false;
    enough &= tenant.kept > 0;
    // Nobody waits for a newcomer's blocks, and nobody knows yet how long they take.
    plan.leave[index(id)] = tenant.known ? tenant.leave : Leave::kPreempt;
  }
  if (!enough) {
    note(situation.now, {}, "there are more tenants than SMs: nothing to search");
    return finish(std::move(plan));
  }
  note(situation.now, {},
       fmt::format("even shares; classify: warm up for {} cycles, profile for {}", params_.window.warm_up,
                   params_.window.profile));
  step_ = Step::kClassify;
  window_.begin(situation.now);
  return plan;
}

SmPlan CdSearch::classify(const Situation& situation, SmPlan plan) {
  note(situation.now, {},
       fmt::format("off-SM bandwidth in bytes/cycle: crossbar {:.1f}, L2 {:.1f}, DRAM {:.1f}, of which {} % count; "
                   "issue width {}, {} SMs",
                   static_cast<double>(hardware_.noc) / 1000, static_cast<double>(hardware_.llc) / 1000,
                   static_cast<double>(hardware_.memory) / 1000, params_.dram_percent, hardware_.issue_width,
                   hardware_.sms));
  u32 memory = 0;
  for (const TenantId id : situation.present) {
    classify_tenant(id, situation.now);
    plan.leave[index(id)] = of(id).leave;
    memory += of(id).memory_intensive;
  }
  if (memory == 0) {
    note(situation.now, {}, "all are compute-intensive: shares stay even");
    return finish(std::move(plan));
  }
  if (memory == situation.present.size()) {
    note(situation.now, {}, "all are memory-intensive: power mode");
    return try_one_sm(situation, std::move(plan));
  }
  note(situation.now, {}, "tenants of both kinds are present: performance mode");
  searched_.clear();
  for (const TenantId id : situation.present) {
    if (of(id).memory_intensive) searched_.push_back(id);
  }
  step_ = Step::kPerformance;
  return next_candidate(situation, std::move(plan));
}

void CdSearch::classify_tenant(TenantId id, Cycle now) {
  Tenant& tenant = of(id);
  const TenantEpoch& did = window_.profiled(id);
  const OffSmBandwidth bandwidth =
      off_sm_bandwidth(hardware_, {did.warp_instructions, did.l2_requests, did.l2_hits}, params_.dram_percent);
  // In bytes per 1,000 cycles, as the hardware's.
  const u64 dram = did.cycles == 0 ? 0 : did.dram_lines * hardware_.line_bytes * 1000 / did.cycles;
  const bool by_model = params_.classifier == Classifier::kOffSmBandwidth;
  tenant.memory_intensive =
      by_model ? bandwidth.memory_intensive() : dram * 100 >= u64{params_.dram_threshold} * hardware_.memory;
  tenant.known = true;
  tenant.leave = window_.warmed_up(id).blocks_done > 0 ? Leave::kDrain : Leave::kPreempt;
  tenant.even_instructions = did.warp_instructions;
  tenant.even_cycles = std::max<u64>(did.cycles, 1);
  const auto per = [](u64 a, u64 b) { return b == 0 ? 0.0 : static_cast<double>(a) / static_cast<double>(b); };
  note(now, id,
       fmt::format("{}-intensive: demands {:.1f} of {:.1f} bytes/cycle offered; {:.1f} L2 accesses per 1,000 warp "
                   "instructions, L2 hit rate {:.1f} %, {:.1f} % of DRAM's peak; warp IPC {:.3f} on {} SMs; {} blocks "
                   "ended in the warm-up, so its blocks {}",
                   tenant.memory_intensive ? "memory" : "compute", static_cast<double>(bandwidth.demand) / 1000,
                   static_cast<double>(bandwidth.offered) / 1000, 1000 * per(did.l2_requests, did.warp_instructions),
                   100 * per(did.l2_hits, did.l2_requests), 100 * per(dram, hardware_.memory),
                   per(did.warp_instructions, did.cycles), tenant.share.size(), window_.warmed_up(id).blocks_done,
                   tenant.leave == Leave::kDrain ? "drain" : "are preempted"));
}

/// Whether it has the IPC that it may not fall below.
bool CdSearch::keeps_up(TenantId id) {
  const Tenant& tenant = of(id);
  const TenantEpoch& did = window_.profiled(id);
  return did.warp_instructions * tenant.even_cycles * 100 >=
         tenant.even_instructions * did.cycles * (100 - params_.loss_percent);
}

void CdSearch::stall_all_but_kept(SmPlan& plan, TenantId id) {
  const Tenant& tenant = of(id);
  for (u32 i = 0; i < tenant.share.size(); ++i) plan.sms[tenant.share[i]].stalled = i >= tenant.kept;
}

/// Stalls more SMs of the tenant that is searched, or goes on with the next one.
SmPlan CdSearch::next_candidate(const Situation& situation, SmPlan plan) {
  while (!searched_.empty()) {
    const TenantId id = searched_.front();
    Tenant& tenant = of(id);
    if (tenant.kept > params_.step) {
      tenant.kept -= params_.step;
      stall_all_but_kept(plan, id);
      window_.begin(situation.now);
      return plan;
    }
    note(situation.now, id, fmt::format("needs no more than {} SMs", tenant.kept));
    searched_.erase(searched_.begin());
  }
  return give_away(situation, std::move(plan));
}

SmPlan CdSearch::after_stall(const Situation& situation, SmPlan plan) {
  const TenantId id = searched_.front();
  Tenant& tenant = of(id);
  const bool enough = keeps_up(id);
  note(situation.now, id,
       fmt::format("warp IPC {:.3f} on {} SMs, {:.1f} % of that under even shares: {}",
                   static_cast<double>(kilo_ipc(window_.profiled(id))) / 1000, tenant.kept,
                   100.0 * static_cast<double>(window_.profiled(id).warp_instructions * tenant.even_cycles) /
                       static_cast<double>(std::max<u64>(1, tenant.even_instructions * window_.profiled(id).cycles)),
                   enough ? "go on" : "too little"));
  if (!enough) {
    tenant.kept += params_.step;
    stall_all_but_kept(plan, id);
    note(situation.now, id, fmt::format("needs {} SMs", tenant.kept));
    searched_.erase(searched_.begin());
  }
  return next_candidate(situation, std::move(plan));
}

/// What memory-intensive tenants do not need, in equal parts to the compute-intensive ones.
SmPlan CdSearch::give_away(const Situation& situation, SmPlan plan) {
  std::vector<u32> free;
  std::vector<TenantId> takers;
  for (const TenantId id : situation.present) {
    const Tenant& tenant = of(id);
    if (!tenant.memory_intensive) takers.push_back(id);
    for (u32 i = tenant.kept; i < tenant.share.size(); ++i) free.push_back(tenant.share[i]);
  }
  for (u32 i = 0; i < takers.size(); ++i) {
    const EvenShare part = even_share(static_cast<u32>(free.size()), static_cast<u32>(takers.size()), i);
    for (u32 j = 0; j < part.count; ++j) plan.sms[free[part.first + j]] = {takers[i]};
    note(situation.now, takers[i], fmt::format("gets {} SMs more", part.count));
  }
  return finish(std::move(plan));
}

SmPlan CdSearch::try_one_sm(const Situation& situation, SmPlan plan) {
  for (const TenantId id : situation.present) {
    of(id).kept = 1;
    stall_all_but_kept(plan, id);
  }
  note(situation.now, {}, "each on one SM");
  step_ = Step::kOneSm;
  window_.begin(situation.now);
  return plan;
}

SmPlan CdSearch::predict(const Situation& situation, SmPlan plan) {
  for (const TenantId id : situation.present) {
    Tenant& tenant = of(id);
    const TenantEpoch& did = window_.profiled(id);
    // IPC under even shares over IPC on one SM, rounded up.
    const u64 one = did.warp_instructions * tenant.even_cycles, even = tenant.even_instructions * did.cycles;
    const u64 all = tenant.share.size();
    tenant.kept = static_cast<u32>(one == 0 ? all : std::clamp<u64>((even + one - 1) / one, 1, all));
    stall_all_but_kept(plan, id);
    note(situation.now, id,
         fmt::format("warp IPC {:.3f} on one SM: try {} SMs", static_cast<double>(kilo_ipc(did)) / 1000, tenant.kept));
  }
  step_ = Step::kPowerSearch;
  window_.begin(situation.now);
  return plan;
}

SmPlan CdSearch::add_sms(const Situation& situation, SmPlan plan) {
  bool more = false;
  for (const TenantId id : situation.present) {
    Tenant& tenant = of(id);
    if (tenant.done) continue;
    const double ipc = static_cast<double>(kilo_ipc(window_.profiled(id))) / 1000;
    tenant.done = keeps_up(id) || tenant.kept == tenant.share.size();
    if (tenant.done) {
      note(situation.now, id, fmt::format("warp IPC {:.3f}: {} SMs are enough", ipc, tenant.kept));
      continue;
    }
    ++tenant.kept;
    more = true;
    stall_all_but_kept(plan, id);
    note(situation.now, id, fmt::format("warp IPC {:.3f} is too little: try {} SMs", ipc, tenant.kept));
  }
  if (!more) return gate(situation, std::move(plan));
  window_.begin(situation.now);
  return plan;
}

SmPlan CdSearch::gate(const Situation& situation, SmPlan plan) {
  u32 gated = 0;
  for (const TenantId id : situation.present) {
    const Tenant& tenant = of(id);
    for (u32 i = tenant.kept; i < tenant.share.size(); ++i, ++gated) {
      plan.sms[tenant.share[i]] = {.owner = std::nullopt, .gated = true};
    }
  }
  note(situation.now, {}, fmt::format("{} SMs lose their power", gated));
  saves_power_ = true;
  return finish(std::move(plan));
}

SmPlan CdSearch::finish(SmPlan plan) {
  step_ = Step::kDone;
  window_.stop();
  return plan;
}

}  // namespace terrace
