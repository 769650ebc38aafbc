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
  follow_allocations(tenant);
  setup.stream->begin_run();
  setup.program->initialise(*setup.memory);
  launch_next(tenant, now);
}

void Launches::launch_next(TenantId tenant, Cycle now) {
  const TenantSetup& setup = wiring_.tenants.setup(tenant);
  const std::optional<Launch> launch = setup.program->next(*setup.memory);
  follow_allocations(tenant);
  wiring_.host_writes.forget(tenant, *setup.memory);
  if (!launch) return end_run(tenant, now);
  wiring_.truth.launches(tenant);
  const LaunchShape shape = setup.stream->begin_launch(*launch);
  follow_allocations(tenant);  // local memory may have grown
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

/// What a tenant has allocated gets pages. Pages that it has freed are forgotten by everything that knows of them: their
/// frames may be anybody's soon. Read as an invalidation by page, as drivers do it; nothing else is flushed.
void Launches::follow_allocations(TenantId tenant) {
  const auto freed = wiring_.spaces.cover(tenant, wiring_.tenants.setup(tenant).memory->take_page_changes());
  if (freed.empty()) return;
  const u64 page = u64{1} << wiring_.spaces.page_shift();
  std::vector<HostWrites::Bytes> written;
  std::vector<LineRange> lines;
  for (const AddressSpaces::FreedPage& gone : freed) {
    wiring_.translations.flush_page(tenant, gone.va);
    written.push_back({gone.frame.raw, gone.frame.raw + page});
    written.push_back({gone.entry.raw, gone.entry.raw + sizeof(TableEntry)});
    lines.push_back(wiring_.host_writes.lines_of(tenant, gone.va.raw, gone.va.raw + page));
  }
  wiring_.host_writes.forget(written, std::move(lines));
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
