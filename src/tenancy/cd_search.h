// Classification-driven search (CD-search, ICS'18): which tenants would ask the memory system for more than it offers,
// and how few SMs do they need? Slot: SmPartitioner (tenancy/sm_partitioner.h).
//
//   classify     Even shares; warm up, then profile. The off-SM bandwidth model says who is memory-intensive. Who has
//                finished a block in the warm-up is drained when it loses an SM; others are preempted.
//   performance  Some are, some are not: stall SMs of a memory-intensive tenant, two more at a time, as long as it keeps
//                95 % of its IPC under even shares. The compute-intensive ones get what it does not need.
//   power        All are: run each on one SM, predict how many it needs, add one at a time until it has 95 % of its IPC
//                under even shares. The others lose their power.
//   even         None is: shares stay even.
//
// Whoever comes or goes begins it anew.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "tenancy/profile_window.h"
#include "tenancy/sm_partitioner.h"

namespace terrace {

class CdSearch final : public SmPartitioner {
 public:
  enum class Classifier : u8 { kOffSmBandwidth, kDramUtilisation };
  struct Params {
    WindowParams window;
    u32 loss_percent = 5;
    u32 step = 2;
    u32 dram_percent = 50;
    Classifier classifier = Classifier::kOffSmBandwidth;
    u32 dram_threshold = 20;
    void describe(Fields& v) {
      v.group("window", window, "how tenants are measured");
      v("loss_percent", loss_percent, in(0, 100), "percent of its IPC under even shares that a tenant may lose");
      v("step", step, in(1, kMaxSms), "SMs that each step of the performance mode stalls in addition");
      v("dram_percent", dram_percent, in(0, 100),
        "percent of DRAM's peak bandwidth that the model assumes to be usable");
      v("classifier", classifier, {"off_sm_bandwidth", "dram_utilisation"},
        "how tenants are classified: by the off-SM bandwidth model, or by their use of DRAM's peak bandwidth");
      v("dram_threshold", dram_threshold, in(0, 100),
        "percent of DRAM's peak bandwidth from which a tenant counts as memory-intensive (dram_utilisation)");
    }
  };
  CdSearch(const Context& context, Params params)
      : hardware_(context.hardware), params_(params), window_(params.window), tenants_(context.tenants) {}

  SmPlan divide(const Situation& situation, const SmPlan& plan) override;
  Cycle appointment() const override { return window_.appointment(); }
  bool searching() const override { return step_ != Step::kDone; }
  void archive(Archive& a) override { a(window_, tenants_, step_, searched_, saves_power_); }
  /// Whether SMs lost their power: there is nothing to gain for performance.
  bool saves_power() const { return saves_power_; }

 private:
  enum class Step : u8 { kDone, kClassify, kPerformance, kOneSm, kPowerSearch };
  struct Tenant {
    bool memory_intensive = false;
    bool known = false;  // has been classified
    Leave leave = Leave::kPreempt;
    u64 even_instructions = 0, even_cycles = 1;
    std::vector<u32> share;  // SMs under even shares
    u32 kept = 0;            // of those, that it goes on with
    bool done = false;
  };

  Tenant& of(TenantId tenant) { return tenants_[index(tenant)]; }
  SmPlan restart(const Situation& situation, SmPlan plan);
  SmPlan classify(const Situation& situation, SmPlan plan);
  void classify_tenant(TenantId id, Cycle now);
  SmPlan next_candidate(const Situation& situation, SmPlan plan);
  SmPlan after_stall(const Situation& situation, SmPlan plan);
  SmPlan give_away(const Situation& situation, SmPlan plan);
  SmPlan try_one_sm(const Situation& situation, SmPlan plan);
  SmPlan predict(const Situation& situation, SmPlan plan);
  SmPlan add_sms(const Situation& situation, SmPlan plan);
  SmPlan gate(const Situation& situation, SmPlan plan);
  SmPlan finish(SmPlan plan);
  void stall_all_but_kept(SmPlan& plan, TenantId id);
  bool keeps_up(TenantId id);

  const OffSmHardware hardware_;
  const Params params_;
  ProfileWindow window_;
  std::vector<Tenant> tenants_;
  Step step_ = Step::kDone;
  std::vector<TenantId>
      searched_;  // performance mode: memory-intensive tenants that are not done, the current one first
  bool saves_power_ = false;
};

}  // namespace terrace
