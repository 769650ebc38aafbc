// SPDX-License-Identifier: MIT
#include "gpu/gpu.h"

#include <algorithm>

#include "engine/check.h"
#include "gpu/controllers/cpu.h"
#include "gpu/controllers/endless_loops.h"
#include "gpu/controllers/faults.h"
#include "gpu/controllers/lifetimes.h"
#include "gpu/controllers/names_audit.h"
#include "gpu/controllers/power.h"
#include "gpu/controllers/presence.h"
#include "gpu/controllers/run_limits.h"
#include "gpu/controllers/samples.h"
#include "gpu/controllers/warmup.h"
#include "gpu/off_sm_hardware.h"

namespace terrace {

namespace {

/// Streams that SMs cannot use at once tick on one thread, with the same results; so do machines whose SMs count lifetimes,
/// which they do in the same counters.
Scheduler::Options possible(Scheduler::Options options, const GpuConfig& config,
                            const std::vector<TenantSetup>& tenants) {
  if (config.run.lifetimes) options.threads = 1;
  for (const TenantSetup& tenant : tenants) {
    // A machine that only lists its statistics has none.
    if (tenant.stream == nullptr || !tenant.stream->serves_threads()) options.threads = 1;
  }
  return options;
}

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

Gpu::Gpu(const GpuConfig& config, std::vector<TenantSetup> tenants, Scheduler::Options options,
         std::unique_ptr<SmPartitioner> partitioner)
    : config_(config),
      tenants_(std::move(tenants)),
      scheduler_(possible(std::move(options), config_, tenants_)),
      memory_parts_(memory_parts(config_, tenants_.size())),
      map_(config_.dram, config_.line_bytes, config_.l2, memory_parts_,
           FrameAllocator::part_shift(config_.pages.memory_bytes, memory_parts_)),
      spaces_(config_.pages, config_.line_bytes, config_.run.seed, static_cast<u32>(tenants_.size()), memory_parts_),
      truth_(config_.lines(), [this](TenantId tenant, VirtAddr va) { return spaces_.locate(tenant, va); }),
      stats_(static_cast<u32>(tenants_.size())),
      parts_{config_,
             static_cast<u32>(tenants_.size()),
             dispatcher_,
             sms_,
             tlb_,
             fbt_,
             miss_translators_,
             mmus_,
             slices_,
             channels_,
             requests_,
             replies_},
      table_(tenants_, sms_),
      activity_(sms_, slices_, channels_),
      translations_(spaces_, sms_, tlb_, mmus_),
      host_writes_({config_.line_bytes, config_.translation, spaces_, slices_, fbt_, translations_, truth_}),
      loop_(scheduler_) {
  std::vector<std::vector<u32>> sms_of_tenant;
  for (const TenantSetup& tenant : tenants_) {
    streams_.push_back(tenant.stream);
    sms_of_tenant.push_back(tenant.sms);
  }
  build_translation();
  build_sms(sms_of_tenant);
  build_memory();
  connect_translation();
  place_units();
  if (config_.tenancy.blame && tenants_.size() > 1) parts_.enable_blame();
  if (config_.run.first_touches)
    for (const auto& mmu : mmus_) mmu->count_first_touches();
  build_controllers(std::move(partitioner));
  parts_.describe(stats_);
  for (const auto& controller : controllers_) controller->describe(stats_);
  if (config_.run.stats_every != 0) {
    // The last one: it samples what all others have done.
    auto series = std::make_unique<Series>(stats_, config_.run.stats_every, [this] { settle(); });
    series_ = series.get();
    controllers_.push_back(std::move(series));
  }
  parts_.declare_identities(stats_);
}

/// In the order in which they act. Epochs come first, because others use what they publish. Tenants that faulted or leave
/// are ended before launches, so that they launch nothing more. SMs and turns change last, when it is known who has work.
void Gpu::build_controllers(std::unique_ptr<SmPartitioner> partitioner) {
  std::unique_ptr<Partition> partition;
  if (!config_.takes_turns()) partition = build_partition(std::move(partitioner));
  partition_ = partition.get();
  auto launches = std::make_unique<Launches>(
      Launches::Wiring{config_, table_, *dispatcher_, spaces_, truth_, host_writes_, translations_});
  auto presence =
      std::make_unique<Presence>(Presence::Wiring{config_, table_, scheduler_, *dispatcher_, dispatcher_unit_, sms_,
                                                  mmus_, mmu_units_, *launches, partition.get()});
  presence->on_departure = [this](TenantId tenant) {
    if (on_departure) on_departure(tenant);
  };
  launches_ = launches.get();
  launches->on_completion = [this](TenantId tenant) {
    if (on_completion) on_completion(tenant);
  };
  launches->on_leaving = [at = presence.get()](TenantId tenant, Cycle now) { at->leave(tenant, now); };
  launches->on_last_end = [at = presence.get()](TenantId tenant, Cycle now) { at->depart(tenant, now); };
  if (config_.run.epoch != 0) {
    auto epochs = std::make_unique<Epochs>(Epochs::Wiring{config_.run.epoch, static_cast<u32>(tenants_.size()), sms_,
                                                          activity_, mmus_, [this] { settle(); }});
    tell_of_epochs(*epochs);
    epochs_ = epochs.get();
    controllers_.push_back(std::move(epochs));
  }
  if (config_.run.sample != 0)
    controllers_.push_back(
        std::make_unique<Samples>(config_.run.sample, sms_, mmus_, config_.sm.warps, tlb_.get(), fbt_.get()));
  if (config_.run.lifetimes)
    controllers_.push_back(
        std::make_unique<Lifetimes>(scheduler_, config_.core_mhz, sms_, slices_, config_.translates_in_sm()));
  if (fbt_) controllers_.push_back(std::make_unique<NamesAudit>(*fbt_, slices_));
  if (config_.cpu.probe_interval != 0 || config_.cpu.shootdown_interval != 0 || config_.cpu.flush_interval != 0)
    controllers_.push_back(
        std::make_unique<Cpu>(config_, static_cast<u32>(tenants_.size()), spaces_, *fbt_, translations_));
  auto faults = std::make_unique<Faults>(sms_, fbt_.get(), table_, *presence);
  auto endless_loops =
      config_.run.spin_cycles == 0 ? nullptr : std::make_unique<EndlessLoops>(config_.run.spin_cycles, table_, *faults);
  controllers_.push_back(std::move(faults));
  if (endless_loops) controllers_.push_back(std::move(endless_loops));
  controllers_.push_back(std::move(presence));
  controllers_.push_back(std::move(launches));
  if (config_.takes_turns()) {
    auto turns =
        std::make_unique<Turns>(Turns::Wiring{config_.tenancy, table_, *dispatcher_, sms_, starts_, translations_});
    turns_ = turns.get();
    controllers_.push_back(std::move(turns));
  } else {
    controllers_.push_back(std::move(partition));
  }
  if (config_.power.enabled) controllers_.push_back(std::make_unique<Power>(parts_, partition_));
  watchdog_ = std::make_unique<Watchdog>(config_.run.livelock_cycles, scheduler_, table_, *dispatcher_);
}

void Gpu::tell_of_epochs(Epochs& epochs) {
  if (partition_ != nullptr) epochs.listen([this](TenantEpochs tenants, Cycle) { partition_->hear_of_epoch(tenants); });
  if (config_.l2.admission.make({})->by_epochs()) {
    for (const auto& slice : slices_) epochs.listen([at = slice.get()](auto tenants, Cycle) { at->epoch(tenants); });
  }
  if (tlb_ && config_.l2_tlb.fill.make({})->by_epochs())
    epochs.listen([this](TenantEpochs tenants, Cycle) { tlb_->epoch(tenants); });
  if (config_.mmu.walk_path.make({})->by_epochs()) {
    for (const auto& mmu : mmus_) epochs.listen([at = mmu.get()](auto tenants, Cycle) { at->epoch(tenants); });
  }
  for (u32 i = 0; i < channels_.size(); ++i) {
    if (!channels_[i]->by_epochs()) continue;
    epochs.listen([this, i](TenantEpochs tenants, Cycle now) {
      channels_[i]->epoch(tenants, now);
      scheduler_.wake(channel_units_[i], now);
    });
  }
}

std::unique_ptr<Partition> Gpu::build_partition(std::unique_ptr<SmPartitioner> partitioner) {
  SmPlan first;
  first.sms.resize(config_.sm.count);
  for (u32 i = 0; i < tenants_.size(); ++i) {
    for (const u32 sm : tenants_[i].sms) first.sms[sm].owner = TenantId(i);
  }
  if (!partitioner)
    partitioner = config_.tenancy.partition.make(
        {static_cast<u32>(tenants_.size()), first, off_sm_hardware(config_), config_.whole_sm()});
  return std::make_unique<Partition>(Partition::Wiring{config_, table_, activity_, scheduler_, *dispatcher_,
                                                       dispatcher_unit_, sms_, starts_, translations_},
                                     std::move(partitioner), std::move(first));
}

const std::vector<SmDecision>& Gpu::decisions() const {
  static const std::vector<SmDecision> none;
  return partition_ == nullptr ? none : partition_->decisions();
}

void Gpu::sample_epochs(std::vector<std::string> prefixes) {
  if (epochs_ == nullptr)
    input_error("--timeline FILE.csv has a line for each epoch; give the length of an epoch (--set run.epoch=N)");
  epochs_->sample(stats_, std::move(prefixes));
}

Tree Gpu::series() const {
  return series_ == nullptr ? Tree() : series_->json(now());
}

std::string Gpu::timeline() const {
  if (epochs_ == nullptr) return "";
  if (decisions().empty()) return epochs_->timeline(now());
  return epochs_->timeline(now(), notes_of(decisions()));
}

Gpu::End Gpu::run(const Limits& limits, const std::function<void(const Gpu&)>& observe) {
  SIM_CHECK(limits.cycles >= now(), "a run goes on in cycle {}, behind its end", now());
  launches_->relaunch = limits.relaunch;
  table_.window = limits.window;
  Warmup warmup(limits.warmup, stats_, [this] { settle(); });
  RunLimits ends(limits.cycles, limits.thread_instructions, limits.stop, table_);
  std::vector<Controller*> controllers;
  for (const auto& controller : controllers_) controllers.push_back(controller.get());
  controllers.insert(controllers.end(), {&warmup, watchdog_.get(), &ends});
  loop_.run(controllers, ends, limits.save_at, limits.save, [&] {
    if (observe) observe(*this);
  });
  settle();
  return ends.end();
}

void Gpu::settle() {
  if (now() == 0) return;
  parts_.settle(now());
  // Last, for power follows from what units counted.
  for (const auto& controller : controllers_) controller->settle(now());
}

bool Gpu::quiet() const {
  const auto idle = [](const auto& unit) { return unit->idle(); };
  const auto empty = [](const auto& link) { return link->empty(); };
  const bool nothing_on_the_way =
      std::all_of(ways_to_memory_.begin(), ways_to_memory_.end(), [](const WayToMemory& way) {
        return (!way.to_translator || way.to_translator->empty()) &&
               std::all_of(way.requests.begin(), way.requests.end(), [](const auto& link) { return link->empty(); });
      });
  return accesses_.live() == 0 && nothing_on_the_way && (!fbt_ || fbt_->idle()) &&
         std::all_of(sms_.begin(), sms_.end(), idle) && std::all_of(starts_.begin(), starts_.end(), empty) &&
         std::all_of(done_.begin(), done_.end(), empty) && std::all_of(channels_.begin(), channels_.end(), idle);
}

}  // namespace terrace
