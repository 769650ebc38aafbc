// Two tenants that touch the same virtual pages in each of two launches: what the second launches miss shows what was
// forgotten in the gap before them.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <vector>

#include "timing/scripted_tenants.h"

namespace terrace {

inline constexpr u32 kFlushedPages = 4, kFlushedSms = 2;  // of each tenant

struct Misses {
  u64 of_l1 = 0, walks = 0;
  friend bool operator==(const Misses&, const Misses&) = default;
  friend Misses operator-(const Misses& a, const Misses& b) { return {a.of_l1 - b.of_l1, a.walks - b.walks}; }
  friend void PrintTo(const Misses& misses, std::ostream* out) {
    *out << misses.of_l1 << " L1 misses and " << misses.walks << " walks";
  }
};
inline Misses misses_of(Gpu& gpu, TenantId tenant) {
  return {gpu.stats().total("gpu.sm.*.l1_tlb.misses", tenant).value(),
          gpu.stats().total("gpu.mmu.*.walks_done", tenant).value()};
}

/// What happens in the gap.
struct Gap {
  /// Work of a tenant's host.
  std::function<void(TenantId, GuestMemory&)> host = {};
  /// An SM that its tenant loses to nobody, and has again an epoch later.
  std::optional<u32> lost_sm = {};
};

/// Touches its pages on both of its SMs. Each page is a buffer of its own.
inline ScriptedTenant toucher(u32 rounds, u32 launches) {
  return {.script = {{memory_inst(MemoryAction::kLoad, MemorySpace::kGlobal, 4, {1}, {2}),
                      [](const ScriptPlace& place, u32) {
                        return GuestMemory::kBase + place.round % kFlushedPages * 4096;
                      }}},
          .rounds = rounds,
          .blocks = kFlushedSms,
          .launches = launches,
          .buffer_bytes = 4096};
}
inline void allocate_other_pages(Gpu& gpu) {
  for (const TenantSetup& tenant : gpu.tenants())
    for (u32 page = 1; page < kFlushedPages; ++page) tenant.memory->allocate("page", 4096);
}

struct FlushedLaunch {
  std::vector<Misses> first, second;  // of each launch, by tenant
};

inline FlushedLaunch launch_twice(GpuConfig config, const Gap& gap = {}) {
  config.sm.count = 2 * kFlushedSms;
  // They do the same work, but do not end in the same cycle.
  u32 in_gap = 0;
  std::unique_ptr<SmPartitioner> partitioner;
  if (gap.lost_sm) {
    if (config.run.epoch == 0) config.run.epoch = 100;
    config.tenancy.launch_gap = static_cast<u32>(10 * config.run.epoch);
    partitioner = std::make_unique<ScriptedPartitioner>(
        [&, asked = 0u](const SmPartitioner::Situation& situation, SmPlan plan) mutable {
          if (situation.occasion != SmPartitioner::Occasion::kEpoch || in_gap < 2) return plan;
          const TenantId owner{static_cast<u8>(*gap.lost_sm / kFlushedSms)};
          if (++asked <= 2) plan.sms[*gap.lost_sm] = asked == 1 ? SmUse{} : SmUse{owner};
          return plan;
        });
  }
  ScriptedTenants run(config, {toucher(kFlushedPages, 2), toucher(kFlushedPages, 2)}, {}, std::move(partitioner));
  allocate_other_pages(run.gpu());
  FlushedLaunch launch{std::vector<Misses>(2), std::vector<Misses>(2)};
  for (u32 i = 0; i < 2; ++i) {
    run.program(i).between_launches = [&, i] {
      launch.first[i] = misses_of(run.gpu(), TenantId(i));
      ++in_gap;
      if (gap.host) gap.host(TenantId(i), *run.gpu().tenants()[i].memory);
    };
  }
  run.gpu().run({.relaunch = false});
  for (u32 i = 0; i < 2; ++i) launch.second[i] = misses_of(run.gpu(), TenantId(i)) - launch.first[i];
  return launch;
}

}  // namespace terrace
