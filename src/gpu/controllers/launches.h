// What tenants' programs do: their host work, their kernels, and what follows the end of a program. A launch begins
// when the one before it in its stream has ended; the host goes on when all that it issued have.
// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <functional>
#include <optional>
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
  /// Of its tenant, meanwhile: with other launches in flight, theirs too.
  u64 warp_instructions = 0, thread_instructions = 0;
};

class Launches final : public Controller {
 public:
  struct Wiring {
    const GpuConfig& config;
    TenantTable& tenants;
    BlockDispatcher& dispatcher;
    AddressSpaces& spaces;
    LineTruth& truth;
    HostWrites& host_writes;
    Translations& translations;
  };
  explicit Launches(Wiring wiring) : wiring_(wiring), hosts_(wiring.tenants.count()) {}

  Cycle next(Cycle now) const override { return held_up_ == 0 ? kNever : now + 1; }
  /// Launches what follows the launches that have ended, and what waited for shootdowns.
  void act(Cycle now) override;
  void archive(Archive& a) override;

  /// A tenant's program begins, or begins anew.
  void start_run(TenantId tenant, Cycle now);
  /// Whether launches of the tenant have begun and are not taken note of as ended.
  bool running(TenantId tenant) const { return !hosts_[index(tenant)].running.empty(); }
  const std::vector<KernelRecord>& kernels() const { return kernels_; }
  /// Launches that have begun and not ended, as if they ended before cycle `now`.
  std::vector<KernelRecord> under_way(Cycle now) const;

  bool relaunch = true;  // a program that ends starts again while somebody has to go on
  /// A program has ended; called before it starts again.
  std::function<void(TenantId)> on_completion;
  /// A program has ended whose tenant leaves then.
  std::function<void(TenantId, Cycle)> on_leaving;
  /// The last launch of a tenant that faulted or left has come back.
  std::function<void(TenantId, Cycle)> on_last_end;

 private:
  struct Running {
    LaunchId launch;
    u32 stream;
    u64 ticket;
    KernelRecord record;
  };
  /// What a tenant's host waits for.
  struct Host {
    std::deque<Launch> waiting;  // for the one before it in its stream; in the order of issue
    std::vector<Running> running;
    Cycle from = 0;        // since when it works, or worked
    bool last = false;     // the program is done then
    bool held_up = false;  // pages are being shot down: what waits begins afterwards
  };

  void go_on(TenantId tenant, Cycle now);
  void launch_ready(TenantId tenant, Cycle now);
  static std::optional<size_t> ready(const Host& host, bool actions);
  void launch(TenantId tenant, const Launch& launch, Cycle now);
  void launch_held_up(Cycle now);
  void follow_allocations(TenantId tenant, Cycle now);
  void refuse_synonyms(TenantId tenant) const;
  void end_kernel(TenantId tenant, LaunchId launch, Cycle now);
  void end_run(TenantId tenant, Cycle now);

  Wiring wiring_;
  std::vector<Host> hosts_;  // by tenant
  u32 held_up_ = 0;          // of those
  std::vector<KernelRecord> kernels_;
};

}  // namespace terrace
