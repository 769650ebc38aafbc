// Runs one of the kernels of bench/kernels.h on a whole GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include "bench/kernels.h"
#include "frontend/ptx/execute/machine.h"
#include "gpu/gpu.h"

namespace terrace::bench {

struct GpuWork {
  u64 warp_instructions = 0, line_requests = 0;
  Cycle cycles = 0;
  u64 ticks = 0;
};

inline GpuWork run_on_gpu(const GpuConfig& config, const Kernel& kernel) {
  GuestMemory memory(PageSize::k4K);
  ptx::Machine machine(ptx::parse_module("bench.ptx", std::string(kHeader) + kernel.text), memory,
                       {config.sm.warp_width});
  OneLaunch program([&](GuestMemory& into) { return kernel.make(into, config.sm.count); });
  program.allocate(memory);
  TenantSetup tenant{kernel.name, &program, &memory, &machine, {}};
  for (u32 i = 0; i < config.sm.count; ++i) tenant.sms.push_back(i);
  Gpu gpu(config, {tenant});
  gpu.run({});
  gpu.stats().check_identities(!gpu.quiet());
  GpuWork work{gpu.progress(TenantId{0}).warp_instructions, 0, gpu.now(), gpu.ticks()};
  for (const Stat& stat : gpu.stats().stats()) {
    if (stat.name.ends_with(".load_store.lines")) work.line_requests += stat.cells[0].value;
  }
  return work;
}

}  // namespace terrace::bench
