// SPDX-License-Identifier: MIT
#include "gpu/controllers/launches.h"

#include <algorithm>
#include <iterator>

#include "engine/archive.h"
#include "engine/check.h"
#include "frontend/launch_origin.h"

namespace terrace {

void Launches::act(Cycle now) {
  TenantTable& tenants = wiring_.tenants;
  if (held_up_ > 0) launch_held_up(now);
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
    if (completed && relaunch && !tenants[tenant].ended && !tenants.all_completed()) {
      if (wiring_.config.tenancy.flush_on_relaunch) wiring_.translations.flush_tenant(tenant);
      start_run(tenant, now);
    }
  }
}

void Launches::start_run(TenantId tenant, Cycle now) {
  const TenantSetup& setup = wiring_.tenants.setup(tenant);
  follow_allocations(tenant, now);
  setup.stream->begin_run();
  setup.program->initialise(*setup.memory);
  go_on(tenant, now);
}

/// The host works and issues until it waits; nothing of its program runs. What it issued may be over at once.
void Launches::go_on(TenantId tenant, Cycle now) {
  const TenantSetup& setup = wiring_.tenants.setup(tenant);
  Host& host = hosts_[index(tenant)];
  do {
    LaunchBatch batch = next_batch(*setup.program, *setup.memory);
    follow_allocations(tenant, now);
    wiring_.host_writes.forget(tenant, *setup.memory, now);
    if (batch.launches.empty()) return end_run(tenant, now);
    host.last = batch.last;
    host.from = now;
    host.waiting.assign(std::make_move_iterator(batch.launches.begin()), std::make_move_iterator(batch.launches.end()));
    host.held_up = wiring_.host_writes.shooting_down(tenant);
    held_up_ += host.held_up;
    if (host.held_up) return;
    launch_ready(tenant, now);
  } while (host.running.empty() && !host.last);
  if (host.running.empty()) end_run(tenant, now);
}

/// A driver goes on when the shootdowns that it asked for are acknowledged.
void Launches::launch_held_up(Cycle now) {
  for (u32 i = 0; i < hosts_.size(); ++i) {
    const TenantId tenant = TenantId(i);
    if (!hosts_[i].held_up || wiring_.host_writes.shooting_down(tenant)) continue;
    hosts_[i].held_up = false;
    --held_up_;
    if (wiring_.tenants[tenant].ended) {
      hosts_[i].waiting.clear();
      continue;
    }
    launch_ready(tenant, now);
    if (hosts_[i].running.empty()) hosts_[i].last ? end_run(tenant, now) : go_on(tenant, now);
  }
}

/// First what takes no time, for it may write only while nothing runs; then the oldest launch of each stream in which
/// nothing runs.
void Launches::launch_ready(TenantId tenant, Cycle now) {
  Host& host = hosts_[index(tenant)];
  while (const auto next = ready(host, true)) {
    Launch action = std::move(host.waiting[*next]);
    host.waiting.erase(host.waiting.begin() + static_cast<std::ptrdiff_t>(*next));
    GuestMemory& memory = *wiring_.tenants.setup(tenant).memory;
    action.action(memory, std::max(now, host.from + action.host_cycles));
    if (action.action_writes) wiring_.host_writes.forget(tenant, memory, now);
  }
  while (const auto next = ready(host, false)) {
    const Launch kernel = std::move(host.waiting[*next]);
    host.waiting.erase(host.waiting.begin() + static_cast<std::ptrdiff_t>(*next));
    launch(tenant, kernel, now);
  }
}

/// The first that waits for nothing any more, among actions or among kernels.
std::optional<size_t> Launches::ready(const Host& host, bool actions) {
  std::vector<u32> busy;  // streams
  for (const Running& its : host.running) busy.push_back(its.stream);
  const auto over = [&](u64 ticket, size_t before) {
    const auto is_it = [&](const auto& its) { return its.ticket == ticket; };
    return std::none_of(host.running.begin(), host.running.end(), is_it) &&
           std::none_of(host.waiting.begin(), host.waiting.begin() + static_cast<std::ptrdiff_t>(before), is_it);
  };
  for (size_t i = 0; i < host.waiting.size(); ++i) {
    const Launch& its = host.waiting[i];
    if (std::find(busy.begin(), busy.end(), its.stream) != busy.end()) continue;
    const bool may = std::all_of(its.after.begin(), its.after.end(), [&](u64 ticket) { return over(ticket, i); }) &&
                     !(its.action_writes && !host.running.empty());
    if (may && static_cast<bool>(its.action) == actions) return i;
    busy.push_back(its.stream);
  }
  return std::nullopt;
}

void Launches::launch(TenantId tenant, const Launch& launch, Cycle now) {
  LaunchShape shape = wiring_.tenants.setup(tenant).stream->begin_launch(launch);
  shape.registers_per_thread = std::min(shape.registers_per_thread, wiring_.config.sm.most_registers_of_thread());
  wiring_.truth.launches(tenant, shape.launch);
  follow_allocations(tenant, now);  // local memory may have grown
  const Cycle gap = wiring_.config.tenancy.launch_gap;
  const Cycle at = std::max(now, hosts_[index(tenant)].from + launch.host_cycles) + gap;
  if (!wiring_.dispatcher.running(tenant)) wiring_.dispatcher.stats.idle_cycles[tenant] += at - now;
  with_origin(launch, [&] { wiring_.dispatcher.launch(tenant, shape, at); });
  const KernelRecord began{tenant,
                           shape.kernel,
                           at,
                           0,
                           wiring_.tenants.warp_instructions(tenant),
                           wiring_.tenants.thread_instructions(tenant)};
  hosts_[index(tenant)].running.push_back({shape.launch, launch.stream, launch.ticket, began});
}

/// What a tenant has allocated gets pages. Pages that it has freed are forgotten by everything that knows of them: their
/// frames may be anybody's soon. Read as an invalidation by page, as drivers do it; nothing else is flushed.
void Launches::follow_allocations(TenantId tenant, Cycle now) {
  const auto changes = wiring_.tenants.setup(tenant).memory->take_page_changes();
  if (changes.empty()) return;
  refuse_synonyms(tenant);
  const auto changed = wiring_.spaces.cover(tenant, changes);
  if (changed.empty()) return;
  SIM_CHECK(!wiring_.dispatcher.running(tenant), "pages of tenant {} change while its kernel runs", index(tenant));
  wiring_.host_writes.follow(tenant, changed, now);
}

/// Virtual caches without a forward-backward table keep each name of a line apart: writes under one are not seen under another.
void Launches::refuse_synonyms(TenantId tenant) const {
  const bool virtual_l1 = wiring_.config.translation == TranslateAt::kAfterL1;
  const bool virtual_l2 = wiring_.config.translation == TranslateAt::kAfterL2 && wiring_.config.fbt.entries == 0;
  if (!virtual_l1 && !virtual_l2) return;
  const auto& allocations = wiring_.tenants.setup(tenant).memory->allocations();
  for (const GuestMemory::Allocation& one : allocations) {
    for (const GuestMemory::Allocation& other : allocations) {
      const bool synonyms = one.shared != 0 && one.shared == other.shared && one.first != other.first;
      if (!synonyms || (!virtual_l2 && one.permission == Permission::kReadOnly)) continue;
      if (virtual_l2)
        input_error(
            "tenant {}: buffers \"{}\" and \"{}\" are the same memory, and a virtual L2 would hold it twice; give it a "
            "forward-backward table (fbt.entries), or use a design with physical caches",
            index(tenant), one.name, other.name);
      input_error(
          "tenant {}: buffers \"{}\" and \"{}\" are the same memory, and kernels that write to \"{}\" would not find "
          "it in "
          "a virtual L1 under its other name; make both read-only, or use a design with physical caches or with a "
          "forward-backward table",
          index(tenant), one.name, other.name, one.name);
    }
  }
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

std::vector<KernelRecord> Launches::under_way(Cycle now) const {
  std::vector<KernelRecord> records;
  for (const Host& host : hosts_) {
    for (const Running& running : host.running) {
      if (running.record.began >= now) continue;
      KernelRecord& record = records.emplace_back(running.record);
      record.ended = now;
      record.warp_instructions = wiring_.tenants.warp_instructions(record.tenant) - record.warp_instructions;
      record.thread_instructions = wiring_.tenants.thread_instructions(record.tenant) - record.thread_instructions;
    }
  }
  return records;
}

void Launches::archive(Archive& a) {
  a(hosts_, held_up_, kernels_);
}

void Launches::end_run(TenantId tenant, Cycle now) {
  TenantProgress& done = wiring_.tenants[tenant].done;
  ++done.completed_runs;
  done.last_completion = now;
  done.completed_warp_instructions = wiring_.tenants.warp_instructions(tenant);
  done.completed_thread_instructions = wiring_.tenants.thread_instructions(tenant);
  if (on_completion) on_completion(tenant);
  if (wiring_.tenants.setup(tenant).leaves_when_done) on_leaving(tenant, now);
}

}  // namespace terrace
