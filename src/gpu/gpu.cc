// SPDX-License-Identifier: MIT
#include "gpu/gpu.h"

#include <algorithm>

#include "engine/check.h"

namespace terrace {

Gpu::Gpu(const GpuConfig& config, std::vector<TenantSetup> tenants, Scheduler::Options options)
    : config_(config),
      tenants_(std::move(tenants)),
      scheduler_(options),
      address_map_(config_.dram.resolved()),
      map_(address_map_, config_.line_bytes, config_.l2.slices, config_.dram.channels),
      stats_(static_cast<u32>(tenants_.size())),
      states_(tenants_.size()) {
  std::vector<std::vector<u32>> sms_of_tenant;
  for (const TenantSetup& tenant : tenants_) {
    streams_.push_back(tenant.stream);
    sms_of_tenant.push_back(tenant.sms);
  }
  build(sms_of_tenant);
  describe_stats();
}

void Gpu::build(const std::vector<std::vector<u32>>& sms_of_tenant) {
  const u32 sms = config_.sm.count, slices = config_.l2.slices, channels = config_.dram.channels;
  requests_ = std::make_unique<Crossbar<AccessRef>>(scheduler_, config_.noc, sms, slices);
  replies_ = std::make_unique<Crossbar<AccessRef>>(scheduler_, config_.noc, slices, sms);
  std::vector<BlockDispatcher::SmPort> ports;
  for (u32 i = 0; i < sms; ++i) {
    starts_.push_back(std::make_unique<Link<BlockStart>>(scheduler_, LinkShape{}));
    done_.push_back(std::make_unique<Link<BlockDone>>(scheduler_, LinkShape{}));
    ports.push_back({starts_[i].get(), done_[i].get()});
    sms_.push_back(
        std::make_unique<Sm>(scheduler_, config_.sm, config_.l1, config_.noc, config_.line_bytes, SmId(i),
                             Sm::Wiring{{*requests_, *replies_, map_, accesses_}, *starts_[i], *done_[i], streams_}));
  }
  const SmRoom whole{config_.sm.warps, config_.sm.blocks, config_.sm.registers, config_.sm.shared_bytes};
  dispatcher_ = std::make_unique<BlockDispatcher>(scheduler_, whole, config_.sm.warp_width, ports, sms_of_tenant);

  const UnitId dispatcher = scheduler_.add(*dispatcher_, "dispatcher");
  dispatcher_->connect(dispatcher);
  for (u32 i = 0; i < sms; ++i) {
    const UnitId unit = scheduler_.add(*sms_[i], fmt::format("sm.{}", i));
    sms_[i]->connect(unit);
    starts_[i]->connect(dispatcher, unit);
    done_[i]->connect(unit, dispatcher);
    requests_->connect_input(i, unit);
    replies_->connect_output(i, unit);
  }
  const PerformAtomic perform = [this](TenantId tenant, u32 atomic, u64 lanes) {
    streams_[index(tenant)]->perform_atomic(AtomicRef{atomic}, lanes);
  };
  for (u32 i = 0; i < channels; ++i) {
    channels_.push_back(
        std::make_unique<Channel>(config_.dram, DramChannelSetup{.index = i,
                                                                 .core_mhz = config_.core_mhz,
                                                                 .line_bytes = config_.line_bytes,
                                                                 .tenants = static_cast<u32>(tenants_.size()),
                                                                 .seed = config_.run.seed}));
  }
  std::vector<UnitId> channel_units;
  for (u32 i = 0; i < channels; ++i) channel_units.push_back(scheduler_.add(*channels_[i], fmt::format("dram.{}", i)));
  for (u32 i = 0; i < slices; ++i) {
    to_dram_.push_back(std::make_unique<Link<DramRequest>>(scheduler_, LinkShape{.capacity = 4}));
    from_dram_.push_back(std::make_unique<Link<DramReply>>(scheduler_, LinkShape{.capacity = 4}));
    slices_.push_back(std::make_unique<L2Slice>(scheduler_, config_.l2, config_.noc, config_.line_bytes, accesses_,
                                                L2Slice::Wiring{*requests_, *replies_, i, *to_dram_[i], *from_dram_[i]},
                                                perform));
    const UnitId unit = scheduler_.add(*slices_[i], fmt::format("l2.{}", i));
    slices_[i]->connect(unit);
    requests_->connect_output(i, unit);
    replies_->connect_input(i, unit);
    const u32 channel = i / (slices / channels);
    to_dram_[i]->connect(unit, channel_units[channel]);
    from_dram_[i]->connect(channel_units[channel], unit);
    channels_[channel]->connect(*to_dram_[i], *from_dram_[i]);
  }
}

void Gpu::describe_stats() {
  stats_.add("gpu.dispatcher", dispatcher_->stats);
  for (u32 i = 0; i < sms_.size(); ++i) {
    stats_.add(fmt::format("gpu.sm.{}", i), sms_[i]->stats);
    stats_.add(fmt::format("gpu.sm.{}.load_store", i), sms_[i]->load_store().stats);
    stats_.add(fmt::format("gpu.sm.{}.l1", i), sms_[i]->load_store().l1_stats());
    stats_.add(fmt::format("gpu.noc.to_sm.{}", i), replies_->stats(i));
  }
  for (u32 i = 0; i < slices_.size(); ++i) {
    stats_.add(fmt::format("gpu.l2.{}", i), slices_[i]->stats);
    stats_.add(fmt::format("gpu.noc.to_l2.{}", i), requests_->stats(i));
  }
  for (u32 i = 0; i < channels_.size(); ++i) stats_.add(fmt::format("gpu.dram.{}", i), channels_[i]->stats);
}

Gpu::End Gpu::run(const Limits& limits, const std::function<void(const Gpu&)>& observe) {
  for (u32 i = 0; i < tenants_.size(); ++i) start_run(TenantId(i));
  // Often enough for an interrupt to be noticed and a limit of instructions to hold within a few percent.
  constexpr Cycle kStretch = 2048;
  u64 last_issued = 0;
  Cycle last_issue = 0;
  End end = End::kCompleted;
  while (!reached(limits, end)) {
    Cycle stop = std::min(limits.cycles, now() + kStretch);
    if (now() < limits.warmup) stop = std::min(stop, limits.warmup);
    const Scheduler::End why = scheduler_.run(stop);
    handle_faults();
    handle_finished_launches(limits);
    if (why == Scheduler::End::kIdle && !all_completed()) deadlock("nothing can happen any more");
    if (limits.warmup != 0 && now() == limits.warmup) {
      settle();
      stats_.mark_start();
    }
    const u64 total = total_issued();
    if (total != last_issued) {
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
  setup.program->initialise(*setup.memory);
  launch_next(tenant);
}

void Gpu::launch_next(TenantId tenant) {
  TenantSetup& setup = tenants_[index(tenant)];
  const std::optional<Launch> launch = setup.program->next(*setup.memory);
  forget_host_writes(tenant);
  if (!launch) return end_run(tenant);
  const LaunchShape shape = setup.stream->begin_launch(*launch);
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
    state.ended = true;
    state.done.fault = tenants_[index(tenant)].stream->fault().sentence;
    dispatcher_->cancel(tenant);
    for (const auto& each : sms_) each->abandon(tenant, now());
  }
}

void Gpu::handle_finished_launches(const Limits& limits) {
  for (const TenantId tenant : dispatcher_->take_finished()) {
    TenantState& state = states_[index(tenant)];
    end_kernel(tenant);
    if (state.ended) continue;
    const u64 runs = state.done.completed_runs;
    launch_next(tenant);
    if (state.done.completed_runs > runs && limits.relaunch && !all_completed()) start_run(tenant);
  }
}

void Gpu::forget_host_writes(TenantId tenant) {
  for (const GuestMemory::WrittenRange& range : tenants_[index(tenant)].memory->take_host_writes()) {
    const PhysAddr first = map_.locate(tenant, range.first);
    for (const auto& slice : slices_) slice->forget(first, range.bytes);
  }
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
  progress.warp_instructions = issued(tenant, &SmStats::warp_instructions);
  progress.thread_instructions = issued(tenant, &SmStats::thread_instructions);
  return progress;
}

void Gpu::settle() {
  for (const auto& sm : sms_) sm->settle(now());
  if (now() == 0) return;
  for (const auto& channel : channels_) channel->settle(now() - 1);
}

bool Gpu::quiet() const {
  // A tenant that started again may have blocks on SMs that touch no memory just now.
  for (u32 i = 0; i < tenants_.size(); ++i)
    if (dispatcher_->busy(TenantId(i))) return false;
  return accesses_.live() == 0 &&
         std::all_of(channels_.begin(), channels_.end(), [](const auto& channel) { return channel->idle(); });
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
  input_error("--log: no unit named \"{}\"; there are dispatcher, sm.0 to sm.{}, l2.0 to l2.{} and dram.0 to dram.{}",
              name, sms_.size() - 1, slices_.size() - 1, channels_.size() - 1);
}

void Gpu::deadlock(const std::string& why) const {
  throw Deadlock(fmt::format("cycle {}: {}, although work is left:\n{}", now(), why, scheduler_.explain()));
}

}  // namespace terrace
