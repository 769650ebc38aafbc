// A machine on paper for SM partitioners: what each tenant achieves is a function of what the plan gives it, and time
// passes from one appointment to the next.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tenancy/sm_partitioner.h"

namespace terrace {

struct PaperTenant {
  std::function<u64(u32 sms)> kilo_ipc = {};           // warp instructions per 1,000 cycles on so many SMs
  u64 l2_per_kilo = 0;                                 // L2 accesses per 1,000 warp instructions
  u64 hit_percent = 50;                                // of those
  u64 dram_per_kilo = 0;                               // lines of DRAM per 1,000 warp instructions
  bool ends_blocks = true;                             // a block in every 1,000 cycles, or none
  std::function<u64(u32 blocks)> kilo_ipc_of_sm = {};  // on each SM, by its blocks there; instead of kilo_ipc
  SmRoom block = {1, 1, 1, 0};
};

class PaperMachine {
 public:
  static constexpr u32 kSms = 24;

  /// cd_24sm: 384 bytes per cycle of crossbar, 1,536 of L2, 253.44 of DRAM; two warp instructions per SM and cycle.
  static OffSmHardware hardware() {
    return {.sms = kSms, .issue_width = 2, .line_bytes = 128, .noc = 384'000, .llc = 1'536'000, .memory = 253'440};
  }
  PaperMachine(std::unique_ptr<SmPartitioner> partitioner, std::vector<PaperTenant> tenants)
      : policy(std::move(partitioner)),
        tenants_(std::move(tenants)),
        so_far_(tenants_.size()),
        issued_(kSms, std::vector<u64>(tenants_.size(), 0)),
        present_(tenants_.size(), false) {
    plan.sms.resize(kSms);
  }
  static SmPartitioner::Context context(u32 tenants) {
    SmPlan first;
    first.sms.resize(kSms);
    return {tenants, first, hardware(), {.warps = 48, .blocks = 8, .registers = 32768, .shared_bytes = 49152}};
  }

  void arrive(const std::vector<u32>& who) {
    for (const u32 tenant : who) present_[tenant] = true;
    ask(SmPartitioner::Occasion::kArrival);
  }
  void depart(u32 who) {
    present_[who] = false;
    ask(SmPartitioner::Occasion::kDeparture);
  }
  /// A tenant's next kernel has other blocks.
  void launch(u32 tenant, const SmRoom& block) {
    tenants_[tenant].block = block;
    ask(SmPartitioner::Occasion::kKernel);
  }
  void ask(SmPartitioner::Occasion occasion) {
    SmPartitioner::Situation situation{.occasion = occasion, .now = now, .present = {}, .epoch = {}};
    situation.epoch.resize(tenants_.size());
    situation.so_far = so_far_;
    situation.issued = issued_;
    situation.settled = settled;
    for (u32 i = 0; i < tenants_.size(); ++i) {
      situation.block.push_back(tenants_[i].block);
      if (present_[i]) situation.present.push_back(TenantId(i));
    }
    const SmPlan next = policy->divide(situation, plan);
    if (next != plan) changes[now] = next;
    plan = next;
    for (const SmDecision& each : policy->take_decisions()) log.push_back(each);
  }
  void run_until(Cycle end) {
    while (now < end) {
      const Cycle to = std::min(end, policy->appointment());
      pass(to - now);
      now = to;
      if (policy->appointment() == now) ask(SmPartitioner::Occasion::kAppointment);
    }
  }
  u32 running(u32 tenant) const { return plan.running(TenantId(tenant)); }
  u32 gated() const {
    return static_cast<u32>(
        std::count_if(plan.sms.begin(), plan.sms.end(), [](const SmUse& use) { return use.gated; }));
  }
  bool said(const std::string& text) const {
    return std::any_of(log.begin(), log.end(),
                       [&](const SmDecision& each) { return each.text.find(text) != each.text.npos; });
  }

  std::unique_ptr<SmPartitioner> policy;
  SmPlan plan;
  Cycle now = 0;
  bool settled = true;
  std::map<Cycle, SmPlan> changes;  // plans by the cycle in which they came
  std::vector<SmDecision> log;

 private:
  void pass(Cycle cycles) {
    for (u32 i = 0; i < tenants_.size(); ++i) {
      if (!present_[i]) continue;
      const PaperTenant& tenant = tenants_[i];
      u64 all = 0;
      const u32 sms = running(i);
      for (u32 sm = 0; sm < kSms; ++sm) {
        const SmUse& use = plan.sms[sm];
        const u32 most = use.most_blocks(TenantId(i));
        if (most == 0 || use.stalled) continue;
        const u64 kilo =
            tenant.kilo_ipc_of_sm ? tenant.kilo_ipc_of_sm(std::min<u32>(most, 8)) : tenant.kilo_ipc(sms) / sms;
        issued_[sm][i] += kilo * cycles / 1000;
        all += kilo * cycles / 1000;
      }
      TenantEpoch& did = so_far_[i];
      did.warp_instructions += all;
      did.l2_requests += all * tenant.l2_per_kilo / 1000;
      did.l2_hits += all * tenant.l2_per_kilo / 1000 * tenant.hit_percent / 100;
      did.dram_lines += all * tenant.dram_per_kilo / 1000;
      if (tenant.ends_blocks) did.blocks_done += cycles / 1000;
    }
  }

  std::vector<PaperTenant> tenants_;
  std::vector<TenantEpoch> so_far_;
  std::vector<std::vector<u64>> issued_;
  std::vector<bool> present_;
};

}  // namespace terrace
