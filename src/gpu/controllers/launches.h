// What tenants' programs do: their host work, their kernels one after the other, and what follows the end of a program.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu/config.h"
#include "gpu/controller.h"
#include "gpu/host_writes.h"
#include "gpu/tenant_table.h"
#include "gpu/translations.h"
#include "tenancy/block_dispatcher.h"

namespace terrace {

/// One kernel launch that ended.
struct KernelRecord {
  TenantId tenant{};
  std::string name;
  Cycle began = 0, ended = 0;
  u64 warp_instructions = 0, thread_instructions = 0;
};

class Launches final : public Controller {
 public:
  struct Wiring {
    const TenancyConfig& config;
    TenantTable& tenants;
    BlockDispatcher& dispatcher;
    AddressSpaces& spaces;
    LineTruth& truth;
    HostWrites& host_writes;
    Translations& translations;
  };
  explicit Launches(Wiring wiring) : wiring_(wiring), running_(wiring.tenants.count()) {}

  Cycle next(Cycle) const override { return kNever; }
  /// Launches what follows the launches that have ended.
  void act(Cycle now) override;

  /// A tenant's program begins, or begins anew.
  void start_run(TenantId tenant, Cycle now);
  const std::vector<KernelRecord>& kernels() const { return kernels_; }

  bool relaunch = true;  // a program that ends starts again while others have not completed
  /// A program has ended; called before it starts again.
  std::function<void(TenantId)> on_completion;
  /// The last launch of a tenant that faulted or left has come back.
  std::function<void(TenantId, Cycle)> on_last_end;

 private:
  void launch_next(TenantId tenant, Cycle now);
  void follow_allocations(TenantId tenant);
  void end_kernel(TenantId tenant, Cycle now);
  void end_run(TenantId tenant, Cycle now);

  Wiring wiring_;
  std::vector<KernelRecord> running_;  // by tenant
  std::vector<KernelRecord> kernels_;
};

}  // namespace terrace
