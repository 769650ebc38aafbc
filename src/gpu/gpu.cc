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
#include "gpu/controllers/samples.h"
#include "gpu/controllers/warmup.h"

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
      table_(tenants_, sms_),
      activity_(sms_, slices_, channels_),
      translations_(spaces_, sms_, tlb_, mmus_),
      host_writes_({config_.line_bytes, config_.translation, spaces_, slices_, fbt_, translations_, truth_}) {
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
  if (config_.tenancy.blame && tenants_.size() > 1) enable_blame();
  if (config_.run.first_touches)
    for (const auto& mmu : mmus_) mmu->count_first_touches();
  build_controllers(std::move(partitioner));
  describe_stats();
  if (config_.run.series != 0) {
    // Behind all others: it looks at what they have done.
    auto series = std::make_unique<Series>(stats_, config_.run.series, [this] { settle(); });
    series_ = series.get();
    controllers_.push_back(std::move(series));
  }
  declare_identities();
}

/// In the order in which they act: epochs first, for others go by them; who faulted or leaves is gone before what it
/// ran would be followed by more; SMs move and turns change when it is known who has work.
void Gpu::build_controllers(std::unique_ptr<SmPartitioner> partitioner) {
  std::unique_ptr<Partition> partition;
  if (!takes_turns()) partition = build_partition(std::move(partitioner));
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
        std::make_unique<Lifetimes>(scheduler_, config_.core_mhz, sms_, slices_, translates_in_sm()));
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
  if (takes_turns()) {
    auto turns =
        std::make_unique<Turns>(Turns::Wiring{config_.tenancy, table_, *dispatcher_, sms_, starts_, translations_});
    turns_ = turns.get();
    controllers_.push_back(std::move(turns));
  } else {
    controllers_.push_back(std::move(partition));
  }
  if (config_.power.enabled) {
    controllers_.push_back(
        std::make_unique<Power>(Power::Wiring{config_, static_cast<u32>(tenants_.size()), sms_, tlb_, mmus_, slices_,
                                              channels_, *requests_, *replies_, *dispatcher_, partition_}));
  }
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
    partitioner =
        config_.tenancy.partition.make({static_cast<u32>(tenants_.size()), first, off_sm_hardware(), whole_sm()});
  return std::make_unique<Partition>(Partition::Wiring{config_, table_, activity_, scheduler_, *dispatcher_,
                                                       dispatcher_unit_, sms_, starts_, translations_},
                                     std::move(partitioner), std::move(first));
}

/// Ports times bytes per cycle: on either side of the interconnect there may be fewer. A port of an L2 slice serves a
/// line per cycle.
OffSmHardware Gpu::off_sm_hardware() const {
  const u64 slice_ports = u64{config_.l2.slices} * config_.l2.ports;
  const u64 noc_ports = std::min<u64>(config_.sm.count, slice_ports);
  const u64 memory = config_.dram.resolved().pin_bytes_per_second() / (u64{config_.core_mhz} * 1000);
  return {.sms = config_.sm.count,
          .issue_width = config_.sm.schedulers,
          .line_bytes = config_.line_bytes,
          .noc = 1000 * noc_ports * config_.noc.flit_bytes,
          .llc = 1000 * slice_ports * config_.line_bytes,
          .memory = memory};
}

const std::vector<SmDecision>& Gpu::decisions() const {
  static const std::vector<SmDecision> none;
  return partition_ == nullptr ? none : partition_->decisions();
}

void Gpu::sample_epochs(std::vector<std::string> prefixes) {
  if (epochs_ == nullptr) input_error("--timeline: has a line for each epoch; say how long one is (--set run.epoch=N)");
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

void Gpu::enable_blame() {
  const u32 tenants = static_cast<u32>(tenants_.size());
  if (tlb_) tlb_->enable_blame(tenants);
  if (fbt_) fbt_->enable_blame(tenants);
  for (const auto& mmu : mmus_) mmu->enable_blame(tenants);
  for (const auto& slice : slices_) slice->enable_blame(tenants);
  for (const auto& channel : channels_) channel->enable_blame(tenants);
  // An SM that serves one tenant at a time has nobody at its own port who waits for another one.
  for (u32 i = shares_sms() ? 0 : static_cast<u32>(sms_.size()); i < replies_->outputs(); ++i)
    replies_->books(i).keep(tenants);
}

void Gpu::describe_stats() {
  const auto add_blame = [&](const std::string& unit, Blame& blame) {
    if (blame.on()) stats_.add(unit + ".blame", blame);
  };
  stats_.add("gpu.dispatcher", dispatcher_->stats);
  for (u32 i = 0; i < sms_.size(); ++i) {
    stats_.add(fmt::format("gpu.sm.{}", i), sms_[i]->stats);
    stats_.add(fmt::format("gpu.sm.{}.load_store", i), sms_[i]->load_store().stats);
    if (translates_in_sm()) stats_.add(fmt::format("gpu.sm.{}.l1_tlb", i), sms_[i]->load_store().translator().stats);
    stats_.add(fmt::format("gpu.sm.{}.l1", i), sms_[i]->load_store().l1_stats());
    if (L1FilterStats* filter = sms_[i]->load_store().l1_filter_stats())
      stats_.add(fmt::format("gpu.sm.{}.l1.filter", i), *filter);
    if (L1SynonymStats* synonyms = sms_[i]->load_store().l1_synonym_stats())
      stats_.add(fmt::format("gpu.sm.{}.l1.synonyms", i), *synonyms);
    stats_.add(fmt::format("gpu.noc.to_sm.{}", i), replies_->stats(i));
    if (shares_sms()) add_blame(fmt::format("gpu.noc.to_sm.{}", i), replies_->books(i).blame());
  }
  if (tlb_) {
    stats_.add("gpu.l2_tlb.0", tlb_->stats);
    stats_.add("gpu.l2_tlb.0.fill_policy", tlb_->fill_policy());
    if (tlb_->has_banks()) stats_.add("gpu.l2_tlb.0.banks", tlb_->bank_stats);
    if (tlb_->has_bypass_cache()) stats_.add("gpu.l2_tlb.0.bypass_cache", tlb_->bypass_stats);
    add_blame("gpu.l2_tlb.0", tlb_->blame);
  }
  if (fbt_) {
    stats_.add("gpu.fbt", fbt_->stats);
    add_blame("gpu.fbt", fbt_->blame);
  }
  for (u32 i = 0; i < mmus_.size(); ++i) {
    stats_.add(fmt::format("gpu.mmu.{}", i), mmus_[i]->stats);
    stats_.add(fmt::format("gpu.mmu.{}.walk_scheduler", i), mmus_[i]->scheduler());
    stats_.add(fmt::format("gpu.mmu.{}.walk_path", i), mmus_[i]->walk_path());
    add_blame(fmt::format("gpu.mmu.{}", i), mmus_[i]->blame);
    if (mmu_uses(WalkPath::Way::kL2))
      add_blame(fmt::format("gpu.noc.to_mmu.{}", i), replies_->books(config_.sm.count + i).blame());
  }
  for (u32 i = 0; i < slices_.size(); ++i) {
    stats_.add(fmt::format("gpu.l2.{}", i), slices_[i]->stats);
    if (!slices_[i]->admits_all()) stats_.add(fmt::format("gpu.l2.{}.admission", i), slices_[i]->admission_stats);
    add_blame(fmt::format("gpu.l2.{}", i), slices_[i]->blame);
    if (fbt_) stats_.add(fmt::format("gpu.l2.{}.names", i), slices_[i]->names_stats);
    if (!miss_translators_.empty()) stats_.add(fmt::format("gpu.l2.{}.translator", i), miss_translators_[i]->stats);
    stats_.add(fmt::format("gpu.noc.to_l2.{}", i), requests_->stats(i));
    add_blame(fmt::format("gpu.noc.to_l2.{}", i), requests_->books(i).blame());
  }
  for (u32 i = 0; i < channels_.size(); ++i) {
    stats_.add(fmt::format("gpu.dram.{}", i), channels_[i]->stats);
    stats_.add(fmt::format("gpu.dram.{}.scheduler", i), channels_[i]->scheduler());
    add_blame(fmt::format("gpu.dram.{}", i), channels_[i]->blame);
  }
  for (const auto& controller : controllers_) controller->describe(stats_);
}

Gpu::End Gpu::run(const Limits& limits, const std::function<void(const Gpu&)>& observe) {
  launches_->relaunch = limits.relaunch;
  table_.window = limits.window;
  Warmup warmup(limits.warmup, stats_, [this] { settle(); });
  RunLimits ends(limits.cycles, limits.thread_instructions, limits.stop, table_);
  std::vector<Controller*> controllers;
  for (const auto& controller : controllers_) controllers.push_back(controller.get());
  controllers.insert(controllers.end(), {&warmup, watchdog_.get(), &ends});
  SIM_CHECK(limits.cycles >= now(), "a run goes on in cycle {}, behind its end", now());

  next_save_ = limits.save_at;

  // Often enough for an interrupt to be noticed and a limit of instructions to hold within a few percent.
  constexpr Cycle kStretch = 2048;
  if (!resumed_)
    for (Controller* controller : controllers) controller->act(now());
  while (!ends.reached()) {
    if (!std::exchange(resumed_, false)) {
      stretch_ends_ = now() + kStretch;
      // But for `ends`: a run that is resumed may have another end, and acts in the same cycles as one that always had it.
      for (const Controller* controller : controllers)
        if (controller != &ends) stretch_ends_ = std::min(stretch_ends_, controller->next(now()));
    }
    run_units(std::min(stretch_ends_, ends.next(now())), limits);
    for (Controller* controller : controllers) controller->act(now());
    if (observe) observe(*this);
  }
  settle();
  return ends.end();
}

/// Saves on the way. Controllers do not act then, so that they act when they would have acted.
void Gpu::run_units(Cycle until, const Limits& limits) {
  while (next_save_ <= until) {
    if (next_save_ > now() && scheduler_.run(next_save_) != Scheduler::End::kLimit) return;
    next_save_ = limits.save();
    SIM_CHECK(next_save_ > now(), "a run is saved twice in cycle {}", now());
  }
  if (now() < until) scheduler_.run(until);
}

void Gpu::settle() {
  if (now() == 0) return;
  for (const auto& sm : sms_) sm->settle(now());
  if (tlb_) tlb_->settle(now());
  if (fbt_) fbt_->settle(now());
  for (const auto& mmu : mmus_) mmu->settle(now());
  for (const auto& slice : slices_) slice->settle(now());
  requests_->settle(now());
  replies_->settle(now());
  for (const auto& channel : channels_) channel->settle(now());
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
