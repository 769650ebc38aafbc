// The GPU: the only place that sees every unit and draws every link. What happens between cycles is done by controllers
// (controller.h); the GPU builds them and runs units and controllers in turn.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cache/l2_slice.h"
#include "dram/channel.h"
#include "engine/scheduler.h"
#include "gpu/config.h"
#include "gpu/controller.h"
#include "gpu/controllers/epochs.h"
#include "gpu/controllers/launches.h"
#include "gpu/controllers/partition.h"
#include "gpu/controllers/series.h"
#include "gpu/controllers/turns.h"
#include "gpu/controllers/watchdog.h"
#include "gpu/host_writes.h"
#include "gpu/line_layout.h"
#include "gpu/look.h"
#include "gpu/machine_parts.h"
#include "gpu/run_loop.h"
#include "gpu/tenant_activity.h"
#include "gpu/tenant_table.h"
#include "gpu/timeline.h"
#include "gpu/translations.h"
#include "gpu/unit_log.h"
#include "noc/crossbar.h"
#include "sm/sm.h"
#include "stats/stat_tree.h"
#include "tenancy/block_dispatcher.h"
#include "translation/address_space.h"
#include "translation/fbt.h"
#include "translation/l2_tlb.h"
#include "translation/miss_translator.h"
#include "translation/mmu.h"

namespace terrace {

class Archive;

class Gpu {
 public:
  struct Limits {
    Cycle cycles = kNever;
    u64 thread_instructions = kNever;
    Cycle warmup = 0;
    bool relaunch = true;             // early finishers start again while others run
    bool window = false;              // and all who finish, as long as there are cycles
    std::function<bool()> stop = {};  // asked now and then: whether to end here
    Cycle save_at =
        kNever;  // before this cycle `save` may archive the machine; it says when next. Neither changes a result
    std::function<Cycle()> save = {};
  };
  using End = RunEnd;

  /// `partitioner` stands in for the one that the configuration names, for tests that play its part.
  Gpu(const GpuConfig& config, std::vector<TenantSetup> tenants, Scheduler::Options options = {},
      std::unique_ptr<SmPartitioner> partitioner = nullptr);

  /// Runs until every tenant has completed (or faulted), or a limit. `observe` is called now and then, between cycles;
  /// it may throw to end the run. Throws Deadlock when nothing can happen any more, or nothing has for too long.
  End run(const Limits& limits, const std::function<void(const Gpu&)>& observe = {});

  /// The whole state of the machine and of its tenants' programs and memories (engine/archive.h): within Limits::save, or to
  /// restore, before `run`, a machine that was built from the same configuration and tenants and was asked to keep the same.
  /// (Not with tenants that are processes.)
  void archive(Archive& a);

  /// Called when a tenant's program has ended, before it starts again.
  std::function<void(TenantId)> on_completion;
  /// Called when a tenant that comes and goes has gone.
  std::function<void(TenantId)> on_departure;

  /// Keeps the events of one unit: UNIT@FROM:TO. Before the run.
  void log(const std::string& spec) { log_.keep(spec, scheduler_); }
  std::string take_log() { return log_.take(); }

  /// Samples statistics at the end of each epoch (run.epoch): those whose names begin with one of the prefixes, all
  /// when there is none. Before the run.
  void sample_epochs(std::vector<std::string> prefixes = {});
  /// What was sampled, as CSV. After the run.
  std::string timeline() const;
  /// Keeps walks, turns, epochs and sampled requests, so that a timeline has about `most_events` at most. Before the run.
  void keep_timeline(u64 most_events) { timeline_.keep(timeline_wiring(), most_events); }
  /// What was kept; after the run.
  TimelineRecords timeline_records() const {
    return timeline_.records(timeline_wiring(), *launches_, decisions(), now());
  }
  /// Statistics over time (run.stats_every), as in a result file; nothing when they were not kept. After the run.
  Tree series() const;

  /// Whether nothing is in flight: then every request has been answered and identities must hold.
  bool quiet() const;
  /// For tests, before the run, in dev builds: a mistake that strikes at every occasion but the first `spared`.
  void plant([[maybe_unused]] Mistake what, [[maybe_unused]] u32 spared = 0) {
#ifdef TERRACE_DCHECK
    truth_.mistake.plant(what, spared);
#endif
  }
  /// Between cycles: for those who watch a run. It changes nothing.
  MachineLook look() const { return look_at(parts_, activity_, now()); }
  Cycle now() const { return scheduler_.now(); }
  /// Of all units so far: what their sleep saves (bench_gpu, docs/speed.md). No result: with several threads there are more.
  u64 ticks() const { return scheduler_.ticks(); }
  /// Threads that tick units at once: as many as were asked for, or one if a tenant's instructions come from a stream that
  /// cannot serve several.
  u32 threads() const { return scheduler_.threads(); }
  const std::vector<TenantSetup>& tenants() const { return tenants_; }
  TenantProgress progress(TenantId tenant) const { return table_.progress(tenant); }
  /// Whether addresses are translated at all.
  bool translates() const { return tlb_ != nullptr; }
  /// What the SM partitioner measured and decided, in the order of time.
  const std::vector<SmDecision>& decisions() const;
  const std::vector<KernelRecord>& kernels() const { return launches_->kernels(); }
  /// As if they had ended now.
  std::vector<KernelRecord> kernels_under_way() const { return launches_->under_way(now()); }
  StatTree& stats() { return stats_; }

 private:
  void build_translation();
  void build_sms(const std::vector<std::vector<u32>>& sms_of_tenant);
  void build_memory();
  MemoryPort::Wiring way_to_memory(u32 slice);
  void connect_ways_to_memory();
  UnitId connect_miss_translator(u32 slice);
  void build_fbt();
  void connect_fbt();
  DramChannelSetup channel_setup(u32 channel) const;
  /// A link that runs at full rate.
  template <class T>
  std::unique_ptr<Link<T>> make_link(u32 latency) {
    return std::make_unique<Link<T>>(scheduler_, LinkShape{.latency = latency});
  }
  u32 cycles_to_dram() const { return config_.dram.link_cycles + config_.dram.controller_cycles; }
  /// Who asks the L2 TLB: SMs, or the stages behind the slices of the L2.
  u32 tlb_ports() const { return config_.translates_in_sm() ? config_.sm.count : config_.l2.slices; }
  /// Inputs from the L2 TLB to an MMU: what cannot hold each other up.
  u32 inputs_of_mmu() const;
  void connect_translation();
  void place_units();
  std::unique_ptr<WalkMemory> walk_memory(u32 mmu, WalkPath::Way way);
  Sm::Wiring sm_wiring(u32 sm);
  void build_controllers(std::unique_ptr<SmPartitioner> partitioner);
  void tell_of_epochs(Epochs& epochs);
  std::unique_ptr<Partition> build_partition(std::unique_ptr<SmPartitioner> partitioner);
  TimelineKeeper::Wiring timeline_wiring() const { return {parts_, epochs_, turns_}; }
  void settle();
  void archive_tenants(Archive& a);
  void archive_links(Archive& a);
  void archive_units(Archive& a);

  const GpuConfig config_;
  std::vector<TenantSetup> tenants_;
  std::vector<InstStream*> streams_;
  Scheduler scheduler_;
  AccessPool accesses_;
  u32 memory_parts_;  // 1, or one for each tenant
  LineLayout map_;
  AddressSpaces spaces_;
  LineTruth truth_;
  std::unique_ptr<Crossbar<AccessRef>> requests_, replies_;
  std::vector<std::unique_ptr<Link<BlockStart>>> starts_;
  std::vector<std::unique_ptr<Link<BlockDone>>> done_;
  /// From each slice to the channels that it reaches, one or all; with the stage that translates in between, if any.
  struct WayToMemory {
    std::unique_ptr<Link<DramRequest>> to_translator;
    std::vector<std::unique_ptr<Link<DramRequest>>> requests;
    std::vector<std::unique_ptr<Link<DramReply>>> replies;
    std::vector<u32> channels;
  };
  std::vector<WayToMemory> ways_to_memory_;  // by slice
  /// The wires of the L2 TLB or of an MMU.
  struct TlbWires {
    std::unique_ptr<Funnel<TranslationRequest>> requests;
    std::vector<std::unique_ptr<Link<Translation>>> replies;  // by port, or one to the L2 TLB
    std::unique_ptr<Funnel<MergedWarp>> merged_warps;         // from SMs, if the fill policy wants them
  };
  TlbWires tlb_wires_;
  std::vector<TlbWires> mmu_wires_;
  /// Between the forward-backward table, slices, SMs and the L2 TLB.
  struct FbtWires {
    std::vector<std::unique_ptr<Link<SliceCommand>>> commands;           // by slice
    std::vector<std::unique_ptr<Funnel<AccessRef>>> replays;             // by the slice that they go to
    std::vector<std::unique_ptr<Link<PageInvalidation>>> invalidations;  // by SM
    std::unique_ptr<Funnel<u32>> acknowledgements;
    std::vector<std::unique_ptr<Funnel<TranslationRequest>>> from_tlb;  // by MMU, if the forward table is looked up
    std::vector<std::unique_ptr<Link<Translation>>> to_tlb;
  };
  FbtWires fbt_wires_;
  std::vector<std::unique_ptr<Link<DramRequest>>> walk_to_dram_;  // by MMU, then channel
  std::vector<std::unique_ptr<Link<DramReply>>> walk_from_dram_;
  std::unique_ptr<L2Tlb> tlb_;                                     // none on an ideal machine
  std::vector<std::unique_ptr<MissTranslator>> miss_translators_;  // by slice, when the L2's lines have virtual names,
  std::unique_ptr<Fbt> fbt_;                                       // or a forward-backward table for all
  std::vector<std::unique_ptr<Mmu>> mmus_;
  std::vector<std::unique_ptr<Sm>> sms_;
  std::vector<std::unique_ptr<L2Slice>> slices_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<UnitId> sm_units_, slice_units_, channel_units_, mmu_units_, tlb_port_units_;
  UnitId dispatcher_unit_{}, fbt_unit_{};
  std::unique_ptr<BlockDispatcher> dispatcher_;
  StatTree stats_;
  const MachineParts parts_;
  TenantTable table_;
  TenantActivity activity_;
  Translations translations_;
  HostWrites host_writes_;
  std::vector<std::unique_ptr<Controller>> controllers_;  // in the order in which they act
  Launches* launches_ = nullptr;                          // one of them,
  Epochs* epochs_ = nullptr;                              // another, when there are epochs
  Partition* partition_ = nullptr;                        // and another, unless tenants take turns,
  Turns* turns_ = nullptr;                                // when there is this one
  Series* series_ = nullptr;                              // and another, when statistics over time are kept
  std::unique_ptr<Watchdog> watchdog_;                    // acts behind these
  RunLoop loop_;
  UnitLog log_;
  TimelineKeeper timeline_;
};

}  // namespace terrace
