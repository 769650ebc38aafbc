// Sharing inside SMs (simultaneous multikernel execution): blocks of all tenants on every SM, in a mix that is found at
// run time in the manner of Warped-Slicer (ISCA'16). First each tenant runs on SMs of its own that admit one block, two,
// and so on, so that one window gives its IPC by number of blocks. Then blocks are handed out one after the other, each
// to whoever has the least part of its best IPC, until no more fit. Slot: SmPartitioner (tenancy/sm_partitioner.h).
// SPDX-License-Identifier: MIT
#pragma once

#include <utility>
#include <vector>

#include "tenancy/profile_window.h"
#include "tenancy/sm_partitioner.h"

namespace terrace {

/// How many blocks of each tenant an SM has room for together. `curves` give what a tenant achieves by its number of
/// blocks, from none on. Empty when not even one block of each fits.
std::vector<u32> divide_sm(const SmRoom& whole, const std::vector<SmRoom>& blocks,
                           const std::vector<std::vector<u64>>& curves);

class IntraSm final : public SmPartitioner {
 public:
  struct Params {
    WindowParams window;
    void describe(Fields& v) { v.group("window", window, "how tenants are measured"); }
  };
  IntraSm(const Context& context, Params params)
      : whole_(context.whole_sm),
        window_(params.window),
        leave_(context.tenants, Leave::kPreempt),
        curves_(context.tenants) {}

  SmPlan divide(const Situation& situation, const SmPlan& plan) override;
  Cycle appointment() const override { return stage_ == Stage::kBegin ? look_again_ : window_.appointment(); }
  bool by_kernels() const override { return true; }
  bool shares_sms() const override { return true; }
  bool searching() const override { return stage_ != Stage::kDone; }
  void archive(Archive& a) override { a(window_, stage_, look_again_, leave_, curves_, began_with_); }

 private:
  enum class Stage : u8 { kBegin, kProfile, kDone };
  using Curve = std::vector<u64>;
  /// What a tenant's kernels with such blocks achieve.
  using Curves = std::vector<std::pair<SmRoom, Curve>>;

  SmPlan begin(const Situation& situation, SmPlan plan);
  SmPlan profile(const Situation& situation, SmPlan plan);
  void learn(const Situation& situation, const SmPlan& plan);
  void learn_curve(Cycle now, TenantId id, const SmRoom& block, const SmPlan& plan);
  SmPlan share(const Situation& situation, SmPlan plan);
  const Curve* curve_of(TenantId tenant, const SmRoom& block) const;
  u32 most_blocks(const SmRoom& block) const;

  const SmRoom whole_;
  ProfileWindow window_;
  Stage stage_ = Stage::kDone;
  Cycle look_again_ = kNever;
  std::vector<Leave> leave_;        // by tenant
  std::vector<Curves> curves_;      // by tenant
  std::vector<SmRoom> began_with_;  // by tenant: its blocks when the window began
};

}  // namespace terrace
