// Who is on the GPU: tenants that arrive and leave during a run, and what is divided anew among those who are there. A
// tenant that leaves is there until the answers to its last accesses are back; then its walkers go to the others, and
// the SM partitioner is asked who gets its SMs. What it left in caches and TLBs ages out, but for the L1 and L1 TLB of
// an SM that changes hands.
//
// Tenants that come and go when they like (frontend/visitors.h) are looked for now and then while one of them is absent. While
// nobody is there, simulated time stands still.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/scheduler.h"
#include "gpu/config.h"
#include "gpu/controller.h"
#include "gpu/controllers/launches.h"
#include "gpu/controllers/partition.h"
#include "gpu/tenant_table.h"
#include "tenancy/block_dispatcher.h"
#include "translation/mmu.h"

namespace terrace {

class Presence final : public Controller {
 public:
  struct Wiring {
    const GpuConfig& config;
    TenantTable& tenants;
    Scheduler& scheduler;
    BlockDispatcher& dispatcher;
    UnitId dispatcher_unit;
    const std::vector<std::unique_ptr<Sm>>& sms;
    const std::vector<std::unique_ptr<Mmu>>& mmus;
    const std::vector<UnitId>& mmu_units;
    Launches& launches;
    Partition* partition;  // none when tenants take turns
  };
  explicit Presence(Wiring wiring);

  Cycle next(Cycle now) const override;
  void act(Cycle now) override;
  void archive(Archive& a) override;

  /// Its program has ended, and it with it.
  void leave(TenantId tenant, Cycle now);
  /// Its warps end where they stand; depart() follows when nothing of it is under way any more.
  void end(TenantId tenant, Cycle now);
  /// Nothing of it is on the GPU any more.
  void depart(TenantId tenant, Cycle now);

  /// A tenant that comes and goes has gone.
  std::function<void(TenantId)> on_departure;

 private:
  static constexpr Cycle kLookEvery = 2048;  // as often as an interrupt is noticed

  void arrive(std::span<const TenantId> coming, Cycle now);
  void receive_visitors(Cycle now);
  std::vector<TenantId> absent_visitors() const;
  void divide_walkers(Cycle now);
  void divide_sms(SmPartitioner::Occasion occasion, Cycle now);

  Wiring wiring_;
  Visitors* visitors_ = nullptr;  // none: all is known beforehand
  Cycle next_look_ = 0;           // for them
  bool divided_ = false;          // walkers, otherwise than they are built
};

}  // namespace terrace
