// SPDX-License-Identifier: MIT
#include "gpu/controllers/launches.h"

#include <algorithm>

namespace terrace {

void Launches::act(Cycle now) {
  TenantTable& tenants = wiring_.tenants;
  for (const TenantId tenant : wiring_.dispatcher.take_finished()) {
    end_kernel(tenant, now);
    if (tenants[tenant].ended) {
      on_last_end(tenant, now);
      continue;
    }
    const u64 runs = tenants[tenant].done.completed_runs;
    launch_next(tenant, now);
    const bool completed = tenants[tenant].done.completed_runs > runs;
    if (completed && relaunch && !tenants.all_completed()) {
      if (wiring_.config.flush_on_relaunch) wiring_.translations.flush_tenant(tenant);
      start_run(tenant, now);
    }
  }
}

void Launches::start_run(TenantId tenant, Cycle now) {
  const TenantSetup& setup = wiring_.tenants.setup(tenant);
  wiring_.spaces.cover(tenant, *setup.memory);
  setup.stream->begin_run();
  setup.program->initialise(*setup.memory);
  launch_next(tenant, now);
}

void Launches::launch_next(TenantId tenant, Cycle now) {
  const TenantSetup& setup = wiring_.tenants.setup(tenant);
  const std::optional<Launch> launch = setup.program->next(*setup.memory);
  wiring_.host_writes.forget(tenant, *setup.memory);
  if (!launch) return end_run(tenant, now);
  wiring_.truth.launches(tenant);
  const LaunchShape shape = setup.stream->begin_launch(*launch);
  wiring_.spaces.cover(tenant, *setup.memory);  // local memory may have grown
  const Cycle at = now + wiring_.config.launch_gap;
  wiring_.dispatcher.launch(tenant, shape, at);
  wiring_.dispatcher.stats.idle_cycles[tenant] += wiring_.config.launch_gap;
  running_[index(tenant)] = {tenant,
                             shape.kernel,
                             at,
                             0,
                             wiring_.tenants.warp_instructions(tenant),
                             wiring_.tenants.thread_instructions(tenant)};
}

void Launches::end_kernel(TenantId tenant, Cycle now) {
  KernelRecord record = running_[index(tenant)];
  record.ended = now;
  record.began = std::min(record.began, record.ended);  // it may be called off in the gap before its first block
  record.warp_instructions = wiring_.tenants.warp_instructions(tenant) - record.warp_instructions;
  record.thread_instructions = wiring_.tenants.thread_instructions(tenant) - record.thread_instructions;
  kernels_.push_back(std::move(record));
}

void Launches::end_run(TenantId tenant, Cycle now) {
  TenantProgress& done = wiring_.tenants[tenant].done;
  ++done.completed_runs;
  done.last_completion = now;
  done.completed_warp_instructions = wiring_.tenants.warp_instructions(tenant);
  done.completed_thread_instructions = wiring_.tenants.thread_instructions(tenant);
  if (on_completion) on_completion(tenant);
}

}  // namespace terrace
