// The power of the machine (gpu.power): gathers what units have counted and lets the power model make energy of it. It
// acts in no cycle and touches nothing: all is done when statistics are closed, after those of units.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpu/controller.h"
#include "gpu/controllers/partition.h"
#include "gpu/machine_parts.h"
#include "power/power_model.h"

namespace terrace {

class Power final : public Controller {
 public:
  /// `partition` knows who had which SM, and is settled before; null: tenants take turns, all have all SMs, and none has one.
  Power(const MachineParts& parts, const Partition* partition)
      : parts_(parts), partition_(partition), model_(parts.config.power, parts.config.core_mhz) {}

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

  const MachineParts& parts_;
  const Partition* const partition_;
  const PowerModel model_;
  PowerStats stats_;
};

}  // namespace terrace
