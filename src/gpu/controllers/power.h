// The power of the machine (gpu.power): gathers what units have counted and lets the power model make energy of it. It
// acts in no cycle and touches nothing: all is done when statistics are closed, after those of units.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "cache/l2_slice.h"
#include "dram/channel.h"
#include "gpu/config.h"
#include "gpu/controller.h"
#include "gpu/controllers/partition.h"
#include "noc/crossbar.h"
#include "power/power_model.h"
#include "sm/sm.h"
#include "tenancy/block_dispatcher.h"
#include "translation/l2_tlb.h"
#include "translation/mmu.h"

namespace terrace {

class Power final : public Controller {
 public:
  struct Wiring {
    const GpuConfig& config;
    u32 tenants;
    const std::vector<std::unique_ptr<Sm>>& sms;
    const std::unique_ptr<L2Tlb>& tlb;  // none on an ideal machine
    const std::vector<std::unique_ptr<Mmu>>& mmus;
    const std::vector<std::unique_ptr<L2Slice>>& slices;
    const std::vector<std::unique_ptr<Channel>>& channels;
    Crossbar<AccessRef>&requests, &replies;
    const BlockDispatcher& dispatcher;
    /// Knows who had which SM, and is settled before; null: tenants take turns, all have all SMs, and none has one.
    const Partition* partition;
  };
  explicit Power(Wiring wiring) : wiring_(std::move(wiring)), model_(wiring_.config.power, wiring_.config.core_mhz) {}

  Cycle next(Cycle) const override { return kNever; }
  void act(Cycle) override {}
  void archive(Archive&) override {}
  void describe(StatTree& tree) override;
  void settle(Cycle now) override;

 private:
  void add_sm_static(PowerActivity& activity) const;
  void add_sm(const Sm& sm, TenantId tenant, PowerActivity& activity) const;
  void add_translation(TenantId tenant, PowerActivity& activity) const;
  void add_memory(TenantId tenant, PowerActivity& activity) const;
  void add_contexts(TenantId tenant, PowerActivity& activity) const;

  Wiring wiring_;
  const PowerModel model_;
  PowerStats stats_;
};

}  // namespace terrace
