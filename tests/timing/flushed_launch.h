// Two tenants that touch the same virtual pages twice, with a flush between their two launches: what the second misses
// shows what was forgotten.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <ostream>
#include <vector>

#include "timing/scripted_tenants.h"

namespace terrace {

inline constexpr u32 kFlushedPages = 4, kFlushedSms = 2;  // of each tenant

struct Misses {
  u64 of_l1 = 0, walks = 0;
  friend bool operator==(const Misses&, const Misses&) = default;
  friend void PrintTo(const Misses& misses, std::ostream* out) {
    *out << misses.of_l1 << " L1 misses and " << misses.walks << " walks";
  }
};
inline Misses misses_of(Gpu& gpu, TenantId tenant) {
  return {gpu.stats().total("gpu.sm.*.l1_tlb.misses", tenant).value(),
          gpu.stats().total("gpu.mmu.*.walks_done", tenant).value()};
}

struct FlushedLaunch {
  std::vector<Misses> first, second;  // of each launch, by tenant
};

/// Both tenants touch their pages on both of their SMs, twice; `flush` is called in the gap between the first launches
/// and the second ones.
inline FlushedLaunch launch_twice(GpuConfig config, const std::function<void(Gpu&)>& flush) {
  config.sm.count = 2 * kFlushedSms;
  const ScriptedTenant tenant{
      .script = {{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {1}, {2}),
                  [](const ScriptPlace& place, u32) { return GuestMemory::kBase + place.round * 4096; }}},
      .rounds = kFlushedPages,
      .blocks = kFlushedSms,
      .launches = 2,
      .buffer_bytes = kFlushedPages * 4096};
  ScriptedTenants run(config, {tenant, tenant});
  FlushedLaunch launch{std::vector<Misses>(2), std::vector<Misses>(2)};
  // They do the same work, but do not end in the same cycle: whoever comes second flushes.
  u32 waiting = 0;
  for (u32 i = 0; i < 2; ++i) {
    run.program(i).between_launches = [&, i] {
      launch.first[i] = misses_of(run.gpu(), TenantId(i));
      if (++waiting == 2) flush(run.gpu());
    };
  }
  run.gpu().run({.relaunch = false});
  for (u32 i = 0; i < 2; ++i) {
    const Misses all = misses_of(run.gpu(), TenantId(i));
    launch.second[i] = {all.of_l1 - launch.first[i].of_l1, all.walks - launch.first[i].walks};
  }
  return launch;
}

}  // namespace terrace
