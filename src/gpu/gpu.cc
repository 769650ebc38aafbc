// SPDX-License-Identifier: MIT
#include "gpu/gpu.h"

#include <algorithm>

#include "engine/check.h"

namespace terrace {

namespace {

/// Into how many parts memory is divided.
u32 memory_parts(const GpuConfig& config, size_t tenants) {
  if (config.dram.partition == MemoryPartition::kNone) return 1;
  if (tenants > config.dram.channels) {
    input_error("dram.partition: {} channels cannot be divided among {} tenants; give each at least one",
                config.dram.channels, tenants);
  }
  return static_cast<u32>(tenants);
}

}  // namespace

Gpu::Gpu(const GpuConfig& config, std::vector<TenantSetup> tenants, Scheduler::Options options)
    : config_(config),
      tenants_(std::move(tenants)),
      scheduler_(options),
      memory_parts_(memory_parts(config_, tenants_.size())),
      map_(config_.dram, config_.line_bytes, config_.l2.slices, memory_parts_,
           FrameAllocator::part_shift(config_.pages.memory_bytes, memory_parts_)),
      spaces_(config_.pages, config_.line_bytes, config_.run.seed, static_cast<u32>(tenants_.size()), memory_parts_),
      truth_(config_.line_bytes, [this](TenantId tenant, VirtAddr va) { return spaces_.locate(tenant, va); }),
      stats_(static_cast<u32>(tenants_.size())),
      states_(tenants_.size()) {
  std::vector<std::vector<u32>> sms_of_tenant;
  for (const TenantSetup& tenant : tenants_) {
    streams_.push_back(tenant.stream);
    sms_of_tenant.push_back(tenant.sms);
  }
  build_translation();
  build_sms(sms_of_tenant);
  build_memory();
  connect_translation();
  if (config_.tenancy.blame && tenants_.size() > 1) enable_blame();
  describe_stats();
}

void Gpu::enable_blame() {
  const u32 tenants = static_cast<u32>(tenants_.size());
  if (tlb_) tlb_->enable_blame(tenants);
  for (const auto& mmu : mmus_) mmu->enable_blame(tenants);
  for (const auto& slice : slices_) slice->enable_blame(tenants);
  for (const auto& channel : channels_) channel->enable_blame(tenants);
  // An SM serves one tenant at a time, so that at its own port nobody waits for another one.
  for (u32 i = static_cast<u32>(sms_.size()); i < replies_->outputs(); ++i) replies_->enable_blame(i, tenants);
}

void Gpu::describe_stats() {
  const auto add_blame = [&](const std::string& unit, Blame& blame) {
    if (blame.on()) stats_.add(unit + ".blame", blame);
  };
  stats_.add("gpu.dispatcher", dispatcher_->stats);
  for (u32 i = 0; i < sms_.size(); ++i) {
    stats_.add(fmt::format("gpu.sm.{}", i), sms_[i]->stats);
    stats_.add(fmt::format("gpu.sm.{}.load_store", i), sms_[i]->load_store().stats);
    if (tlb_) stats_.add(fmt::format("gpu.sm.{}.l1_tlb", i), sms_[i]->load_store().translator().stats);
    stats_.add(fmt::format("gpu.sm.{}.l1", i), sms_[i]->load_store().l1_stats());
    stats_.add(fmt::format("gpu.noc.to_sm.{}", i), replies_->stats(i));
  }
  if (tlb_) {
    stats_.add("gpu.l2_tlb.0", tlb_->stats);
    add_blame("gpu.l2_tlb.0", tlb_->blame);
  }
  for (u32 i = 0; i < mmus_.size(); ++i) {
    stats_.add(fmt::format("gpu.mmu.{}", i), mmus_[i]->stats);
    stats_.add(fmt::format("gpu.mmu.{}.walk_scheduler", i), mmus_[i]->scheduler_stats());
    add_blame(fmt::format("gpu.mmu.{}", i), mmus_[i]->blame);
    if (config_.mmu.walks_via == MmuConfig::Via::kL2)
      add_blame(fmt::format("gpu.noc.to_mmu.{}", i), replies_->blame(config_.sm.count + i));
  }
  for (u32 i = 0; i < slices_.size(); ++i) {
    stats_.add(fmt::format("gpu.l2.{}", i), slices_[i]->stats);
    add_blame(fmt::format("gpu.l2.{}", i), slices_[i]->blame);
    stats_.add(fmt::format("gpu.noc.to_l2.{}", i), requests_->stats(i));
    add_blame(fmt::format("gpu.noc.to_l2.{}", i), requests_->blame(i));
  }
  for (u32 i = 0; i < channels_.size(); ++i) {
    stats_.add(fmt::format("gpu.dram.{}", i), channels_[i]->stats);
    add_blame(fmt::format("gpu.dram.{}", i), channels_[i]->blame);
  }
  if (takes_turns()) stats_.add("gpu.turns", turn_stats_);
}

Gpu::End Gpu::run(const Limits& limits, const std::function<void(const Gpu&)>& observe) {
  expect_tenants();
  handle_turns();
  // Often enough for an interrupt to be noticed and a limit of instructions to hold within a few percent.
  constexpr Cycle kStretch = 2048;
  u64 last_issued = 0;
  Cycle last_issue = 0;
  End end = End::kCompleted;
  while (!reached(limits, end)) {
    Cycle stop = std::min({limits.cycles, now() + kStretch, next_coming_or_going()});
    if (turn_.ends > now()) stop = std::min(stop, turn_.ends);
    if (now() < limits.warmup) stop = std::min(stop, limits.warmup);
    const Scheduler::End why = scheduler_.run(stop);
    handle_faults();
    handle_comings_and_goings();
    handle_finished_launches(limits);
    handle_turns();
    if (why == Scheduler::End::kIdle && !all_completed()) deadlock("nothing can happen any more");
    if (limits.warmup != 0 && now() == limits.warmup) {
      settle();
      stats_.mark_start();
    }
    const u64 total = total_issued();
    if (total != last_issued || all_wait_for_an_arrival()) {
      last_issued = total;
      last_issue = now();
    } else if (now() - last_issue > config_.run.livelock_cycles) {
      deadlock(fmt::format("no instruction has issued for {} cycles", config_.run.livelock_cycles));
    }
    if (observe) observe(*this);
  }
  settle();
  return end;
}

bool Gpu::all_completed() const {
  return std::all_of(states_.begin(), states_.end(),
                     [](const TenantState& state) { return state.ended || state.done.completed_runs > 0; });
}

bool Gpu::reached(const Limits& limits, End& end) const {
  if (all_completed()) {
    end = End::kCompleted;
    return true;
  }
  if (now() >= limits.cycles) {
    end = End::kCycleLimit;
    return true;
  }
  u64 threads = 0;
  for (u32 i = 0; i < tenants_.size(); ++i) threads += issued(TenantId(i), &SmStats::thread_instructions);
  end = End::kInstructionLimit;
  return threads >= limits.thread_instructions;
}

void Gpu::start_run(TenantId tenant) {
  TenantSetup& setup = tenants_[index(tenant)];
  spaces_.cover(tenant, *setup.memory);
  setup.program->initialise(*setup.memory);
  launch_next(tenant);
}

void Gpu::launch_next(TenantId tenant) {
  TenantSetup& setup = tenants_[index(tenant)];
  const std::optional<Launch> launch = setup.program->next(*setup.memory);
  forget_host_writes(tenant);
  if (!launch) return end_run(tenant);
  truth_.launches(tenant);
  const LaunchShape shape = setup.stream->begin_launch(*launch);
  spaces_.cover(tenant, *setup.memory);  // local memory may have grown
  const Cycle at = now() + config_.tenancy.launch_gap;
  dispatcher_->launch(tenant, shape, at);
  dispatcher_->stats.idle_cycles[tenant] += config_.tenancy.launch_gap;
  states_[index(tenant)].running = {tenant,
                                    shape.kernel,
                                    at,
                                    0,
                                    issued(tenant, &SmStats::warp_instructions),
                                    issued(tenant, &SmStats::thread_instructions)};
}

void Gpu::end_kernel(TenantId tenant) {
  KernelRecord record = states_[index(tenant)].running;
  record.ended = now();
  record.began = std::min(record.began, record.ended);  // it may be called off in the gap before its first block
  record.warp_instructions = issued(tenant, &SmStats::warp_instructions) - record.warp_instructions;
  record.thread_instructions = issued(tenant, &SmStats::thread_instructions) - record.thread_instructions;
  kernels_.push_back(std::move(record));
}

void Gpu::end_run(TenantId tenant) {
  TenantProgress& done = states_[index(tenant)].done;
  ++done.completed_runs;
  done.last_completion = now();
  done.completed_warp_instructions = issued(tenant, &SmStats::warp_instructions);
  done.completed_thread_instructions = issued(tenant, &SmStats::thread_instructions);
  if (on_completion) on_completion(tenant);
}

void Gpu::handle_faults() {
  for (const auto& sm : sms_) {
    TenantId tenant{};
    if (!sm->take_fault(tenant)) continue;
    TenantState& state = states_[index(tenant)];
    if (state.ended) continue;
    state.done.fault = tenants_[index(tenant)].stream->fault().sentence;
    end_tenant(tenant);
  }
}

void Gpu::handle_finished_launches(const Limits& limits) {
  for (const TenantId tenant : dispatcher_->take_finished()) {
    TenantState& state = states_[index(tenant)];
    end_kernel(tenant);
    if (state.ended) {
      depart(tenant);
      continue;
    }
    const u64 runs = state.done.completed_runs;
    launch_next(tenant);
    if (state.done.completed_runs > runs && limits.relaunch && !all_completed()) {
      if (config_.tenancy.flush_on_relaunch) flush_tenant(tenant);
      start_run(tenant);
    }
  }
}

void Gpu::forget_host_writes(TenantId tenant) {
  std::vector<L2Slice::Range> ranges;
  const u64 page = u64{1} << spaces_.page_shift();
  for (const GuestMemory::WrittenRange& range : tenants_[index(tenant)].memory->take_host_writes()) {
    const u64 end = range.first.raw + range.bytes;
    for (u64 at = range.first.raw; at < end;) {
      const u64 next = std::min(end, (at / page + 1) * page);
      const PhysAddr first = spaces_.locate(tenant, {at});
      if (first != AddressSpaces::kUnmapped) ranges.push_back({first.raw, first.raw + (next - at)});
      at = next;
    }
  }
  if (ranges.empty()) return;
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.end < b.end; });
  forget_lines(ranges);
}

void Gpu::forget_lines(std::span<const L2Slice::Range> ranges) {
  for (const auto& slice : slices_) slice->forget(ranges);
  for (const L2Slice::Range& range : ranges) truth_.host_writes(range.first, range.end);
}

u64 Gpu::issued(TenantId tenant, PerTenant<Counter> SmStats::* counter) const {
  u64 total = 0;
  for (const auto& sm : sms_) total += (sm->stats.*counter)[tenant].value;
  return total;
}

u64 Gpu::total_issued() const {
  u64 total = 0;
  for (u32 i = 0; i < tenants_.size(); ++i) total += issued(TenantId(i), &SmStats::warp_instructions);
  return total;
}

TenantProgress Gpu::progress(TenantId tenant) const {
  TenantProgress progress = states_[index(tenant)].done;
  progress.arrived = tenants_[index(tenant)].arrive;
  progress.warp_instructions = issued(tenant, &SmStats::warp_instructions);
  progress.thread_instructions = issued(tenant, &SmStats::thread_instructions);
  return progress;
}

void Gpu::settle() {
  if (now() == 0) return;
  settle_turn();
  for (const auto& sm : sms_) sm->settle(now());
  if (tlb_) tlb_->settle(now());
  for (const auto& mmu : mmus_) mmu->settle(now());
  for (const auto& slice : slices_) slice->settle(now());
  requests_->settle(now());
  replies_->settle(now());
  for (const auto& channel : channels_) channel->settle(now());
}

bool Gpu::quiet() const {
  const auto idle = [](const auto& unit) { return unit->idle(); };
  const auto empty = [](const auto& link) { return link->empty(); };
  return accesses_.live() == 0 && std::all_of(sms_.begin(), sms_.end(), idle) &&
         std::all_of(starts_.begin(), starts_.end(), empty) && std::all_of(done_.begin(), done_.end(), empty) &&
         std::all_of(channels_.begin(), channels_.end(), idle);
}

void Gpu::log(const std::string& spec) {
  const size_t at = spec.find('@'), colon = spec.find(':', at == std::string::npos ? 0 : at);
  const auto number = [&](const std::string& digits) -> Cycle {
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos || digits.size() > 18) {
      input_error("--log: \"{}\" is not UNIT@FROM:TO, such as sm.0@1000:2000", spec);
    }
    return std::stoull(digits);
  };
  if (at == std::string::npos || colon == std::string::npos) number("");
  const std::string name = spec.substr(0, at);
  for (u32 id = 0; id < scheduler_.units(); ++id) {
    if (scheduler_.name(UnitId(id)) != name) continue;
    log_.from = number(spec.substr(at + 1, colon - at - 1));
    log_.to = number(spec.substr(colon + 1));
    return scheduler_.unit(UnitId(id)).log_to(&log_);
  }
  input_error("--log: no unit named \"{}\"; there are dispatcher, sm.0 to sm.{}, {}l2.0 to l2.{} and dram.0 to dram.{}",
              name, sms_.size() - 1, tlb_ ? "l2_tlb.0, mmu.0, " : "", slices_.size() - 1, channels_.size() - 1);
}

void Gpu::deadlock(const std::string& why) const {
  throw Deadlock(fmt::format("cycle {}: {}, although work is left:\n{}", now(), why, scheduler_.explain()));
}

}  // namespace terrace
