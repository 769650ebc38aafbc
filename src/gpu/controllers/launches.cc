// SPDX-License-Identifier: MIT
#include "gpu/controllers/launches.h"

#include <algorithm>
#include <iterator>

namespace terrace {

void Launches::act(Cycle now) {
  TenantTable& tenants = wiring_.tenants;
  for (const auto& [tenant, launch] : wiring_.dispatcher.take_finished()) {
    end_kernel(tenant, launch, now);
    Host& host = hosts_[index(tenant)];
    if (tenants[tenant].ended) {
      host.waiting.clear();
      if (host.running.empty()) on_last_end(tenant, now);
      continue;
    }
    launch_ready(tenant, now);
    if (!host.running.empty()) continue;
    const u64 runs = tenants[tenant].done.completed_runs;
    host.last ? end_run(tenant, now) : go_on(tenant, now);
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
  go_on(tenant, now);
}

/// The host works and issues until it waits; nothing of its program runs.
void Launches::go_on(TenantId tenant, Cycle now) {
  const TenantSetup& setup = wiring_.tenants.setup(tenant);
  LaunchBatch batch = next_batch(*setup.program, *setup.memory);
  follow_allocations(tenant);
  wiring_.host_writes.forget(tenant, *setup.memory);
  if (batch.launches.empty()) return end_run(tenant, now);
  Host& host = hosts_[index(tenant)];
  host.last = batch.last;
  host.waiting.assign(std::make_move_iterator(batch.launches.begin()), std::make_move_iterator(batch.launches.end()));
  launch_ready(tenant, now);
}

/// Launches the oldest of each stream in which nothing runs.
void Launches::launch_ready(TenantId tenant, Cycle now) {
  Host& host = hosts_[index(tenant)];
  for (auto next = host.waiting.begin(); next != host.waiting.end();) {
    const bool behind = std::any_of(host.running.begin(), host.running.end(),
                                    [&](const Running& other) { return other.stream == next->stream; });
    if (behind) {
      ++next;
    } else {
      launch(tenant, *next, now);
      next = host.waiting.erase(next);
    }
  }
}

void Launches::launch(TenantId tenant, const Launch& launch, Cycle now) {
  const LaunchShape shape = wiring_.tenants.setup(tenant).stream->begin_launch(launch);
  wiring_.truth.launches(tenant, shape.launch);
  follow_allocations(tenant);  // local memory may have grown
  const Cycle at = now + wiring_.config.launch_gap;
  if (!wiring_.dispatcher.running(tenant)) wiring_.dispatcher.stats.idle_cycles[tenant] += wiring_.config.launch_gap;
  wiring_.dispatcher.launch(tenant, shape, at);
  const KernelRecord began{tenant,
                           shape.kernel,
                           at,
                           0,
                           wiring_.tenants.warp_instructions(tenant),
                           wiring_.tenants.thread_instructions(tenant)};
  hosts_[index(tenant)].running.push_back({shape.launch, launch.stream, began});
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
  for (const AddressSpaces::FreedPage& gone : freed)
    wiring_.host_writes.page_gone(wiring_.spaces.key_of(tenant, gone.va));
}

void Launches::end_kernel(TenantId tenant, LaunchId launch, Cycle now) {
  std::vector<Running>& running = hosts_[index(tenant)].running;
  const auto ended =
      std::find_if(running.begin(), running.end(), [&](const Running& its) { return its.launch == launch; });
  KernelRecord record = std::move(ended->record);
  running.erase(ended);
  wiring_.tenants.setup(tenant).stream->end_launch(launch);
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
