// A tenant whose warps go round loops that nothing can end is ended. Its stream is asked every run.spin_cycles, and tells
// it when two such stretches have passed without a change in memory.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/archive.h"
#include "gpu/controller.h"
#include "gpu/controllers/faults.h"
#include "gpu/tenant_table.h"

namespace terrace {

class EndlessLoops final : public Controller {
 public:
  EndlessLoops(Cycle patience, const TenantTable& tenants, Faults& faults)
      : patience_(patience), due_(patience), tenants_(tenants), faults_(faults) {}

  Cycle next(Cycle) const override { return due_; }
  void act(Cycle now) override;
  void archive(Archive& a) override { a(due_); }

 private:
  const Cycle patience_;
  Cycle due_;
  const TenantTable& tenants_;
  Faults& faults_;
};

}  // namespace terrace
