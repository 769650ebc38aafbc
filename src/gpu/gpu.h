// The GPU: the only place that sees every unit and draws every link. It also does what happens between cycles: host
// work, launches, relaunches, faults, limits.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/l2_slice.h"
#include "dram/channel.h"
#include "engine/scheduler.h"
#include "frontend/inst_stream.h"
#include "frontend/program.h"
#include "gpu/config.h"
#include "gpu/line_layout.h"
#include "noc/crossbar.h"
#include "sm/sm.h"
#include "stats/stat_tree.h"
#include "tenancy/block_dispatcher.h"
#include "translation/address_space.h"
#include "translation/mmu.h"
#include "translation/shared_tlb.h"

namespace terrace {

/// A tenant as it comes to the GPU; whoever made the parts keeps them.
struct TenantSetup {
  std::string name;
  Program* program = nullptr;
  GuestMemory* memory = nullptr;
  InstStream* stream = nullptr;
  std::vector<u32> sms;  // its own
  Cycle arrive = 0, leave = kNever;
};

/// One kernel launch that ended.
struct KernelRecord {
  TenantId tenant{};
  std::string name;
  Cycle began = 0, ended = 0;
  u64 warp_instructions = 0, thread_instructions = 0;
};

/// Where the time of a run went whose tenants take turns.
struct TurnStats {
  PerTenant<Counter> turn_cycles;
  Counter switches, drain_cycles, switch_cycles;
  void describe(StatFields& v) {
    v("turn_cycles", turn_cycles, "cycles", "in which it was a tenant's turn");
    v("switches", switches, "switches", "from one tenant to another");
    v("drain_cycles", drain_cycles, "cycles", "from the end of a turn to the last answer");
    v("switch_cycles", switch_cycles, "cycles", "from there to the next turn");
  }
};

/// What a tenant has done so far.
struct TenantProgress {
  u64 completed_runs = 0;
  Cycle last_completion = 0;
  u64 warp_instructions = 0, thread_instructions = 0;                      // all that issued
  u64 completed_warp_instructions = 0, completed_thread_instructions = 0;  // those of completed runs
  std::string fault;                                                       // empty, or what it did; it ended there
  Cycle arrived = 0;                                                       // or will arrive
  Cycle left = kNever;                                                     // kNever: it has not left
};

class Gpu {
 public:
  struct Limits {
    Cycle cycles = kNever;
    u64 thread_instructions = kNever;
    Cycle warmup = 0;
    bool relaunch = true;  // early finishers start again while others run
  };
  enum class End : u8 { kCompleted, kCycleLimit, kInstructionLimit };

  Gpu(const GpuConfig& config, std::vector<TenantSetup> tenants, Scheduler::Options options = {});

  /// Runs until every tenant has completed (or faulted), or a limit. `observe` is called now and then, between cycles;
  /// it may throw to end the run. Throws Deadlock when nothing can happen any more, or nothing has for too long.
  End run(const Limits& limits, const std::function<void(const Gpu&)>& observe = {});

  /// Called when a tenant's program has ended, before it starts again.
  std::function<void(TenantId)> on_completion;

  /// Keeps the events of one unit: UNIT@FROM:TO. Before the run.
  void log(const std::string& spec);
  std::string take_log() { return std::exchange(log_.text, {}); }

  // Forgetting translations, between cycles: a core's of one tenant (its own TLB, and the tenant's in all that cores
  // share), a tenant's of all cores, a page's, all. A run itself flushes only tenants (tenancy.flush_on_relaunch): the
  // others are what hardware offers a driver that moves pages (MASK §5.1), and no driver is modelled; tests play its
  // part. (flush.cc)
  void flush_core(SmId sm, TenantId tenant);
  void flush_tenant(TenantId tenant);
  void flush_page(TenantId tenant, VirtAddr va);
  void flush_translations();
  /// Moves a page to another frame with the flush that it needs; between two launches of the tenant.
  void remap(TenantId tenant, VirtAddr va);

  /// Whether nothing is in flight: then every request has been answered and identities must hold.
  bool quiet() const;
  /// For tests, before the run, in dev builds: a mistake that strikes at every occasion but the first `spared`.
  void plant([[maybe_unused]] Mistake what, [[maybe_unused]] u32 spared = 0) {
#ifdef TERRACE_DCHECK
    truth_.mistake.plant(what, spared);
#endif
  }
  /// For tests, before the run: see Scheduler::replace.
  Unit& replace_unit(const std::string& name, Unit& stand_in) { return scheduler_.replace(name, stand_in); }
  Cycle now() const { return scheduler_.now(); }
  u64 ticks() const { return scheduler_.ticks(); }
  const std::vector<TenantSetup>& tenants() const { return tenants_; }
  TenantProgress progress(TenantId tenant) const;
  /// Whether addresses are translated at all.
  bool translates() const { return tlb_ != nullptr; }
  const std::vector<KernelRecord>& kernels() const { return kernels_; }
  StatTree& stats() { return stats_; }

 private:
  struct TenantState {
    TenantProgress done;
    KernelRecord running;
    bool present = false;  // it has arrived, and something of it is still on the GPU
    bool ended = false;    // faulted or left
  };

  void build_translation();
  void build_sms(const std::vector<std::vector<u32>>& sms_of_tenant);
  void build_memory();
  DramChannelSetup channel_setup(u32 channel) const;
  /// A link that runs at full rate.
  template <class T>
  std::unique_ptr<Link<T>> make_link(u32 latency) {
    return std::make_unique<Link<T>>(scheduler_, LinkShape{.latency = latency});
  }
  u32 cycles_to_dram() const { return config_.dram.link_cycles + config_.dram.controller_cycles; }
  std::vector<WayMask> ways_of_tenants() const;
  /// Lanes from the shared TLB to an MMU: what cannot hold each other up.
  u32 lanes_to_mmu() const;
  void connect_translation();
  std::unique_ptr<WalkMemory> walk_memory(u32 mmu);
  Sm::Wiring sm_wiring(u32 sm);
  void describe_stats();
  void enable_blame();
  void start_run(TenantId tenant);
  void launch_next(TenantId tenant);
  void end_kernel(TenantId tenant);
  void end_run(TenantId tenant);
  void expect_tenants();
  Cycle next_coming_or_going() const;
  void handle_comings_and_goings();
  void end_tenant(TenantId tenant);
  void depart(TenantId tenant);
  void divide_among_present();
  bool all_wait_for_an_arrival() const;
  bool takes_turns() const { return config_.tenancy.sharing == TenancyConfig::Sharing::kTime; }
  void handle_turns();
  void begin_switch();
  bool drained() const;
  void finish_switch(TenantId next);
  bool has_work(u32 tenant) const;
  std::optional<TenantId> next_in_turn() const;
  void settle_turn();
  void handle_faults();
  void handle_finished_launches(const Limits& limits);
  void flush_shared(TenantId tenant);
  void forget_host_writes(TenantId tenant);
  /// The host wrote there, past all caches. In rising order.
  void forget_lines(std::span<const L2Slice::Range> ranges);
  bool all_completed() const;
  bool reached(const Limits& limits, End& end) const;
  u64 issued(TenantId tenant, PerTenant<Counter> SmStats::* counter) const;
  u64 total_issued() const;
  void settle();
  [[noreturn]] void deadlock(const std::string& why) const;

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
  std::vector<std::unique_ptr<Link<DramRequest>>> to_dram_;
  std::vector<std::unique_ptr<Link<DramReply>>> from_dram_;
  /// The wires of the shared TLB or of an MMU.
  struct TlbWires {
    std::unique_ptr<Funnel<TranslationRequest>> requests;
    std::vector<std::unique_ptr<Link<Translation>>> replies;  // by SM, or one to the shared TLB
  };
  TlbWires tlb_wires_;
  std::vector<TlbWires> mmu_wires_;
  std::vector<std::unique_ptr<Link<DramRequest>>> walk_to_dram_;  // by MMU, then channel
  std::vector<std::unique_ptr<Link<DramReply>>> walk_from_dram_;
  std::unique_ptr<SharedTlb> tlb_;  // none on an ideal machine
  std::vector<std::unique_ptr<Mmu>> mmus_;
  std::vector<std::unique_ptr<Sm>> sms_;
  std::vector<std::unique_ptr<L2Slice>> slices_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<UnitId> sm_units_, channel_units_, mmu_units_;
  UnitId dispatcher_unit_{};
  std::unique_ptr<BlockDispatcher> dispatcher_;
  StatTree stats_;
  std::vector<TenantState> states_;
  std::vector<KernelRecord> kernels_;
  /// Whose turn it is; nobody's before the first.
  struct Turn {
    std::optional<TenantId> tenant;
    Cycle ends = 0;
    Cycle since = 0;      // what follows is counted from here
    Cycle begins = 0;     // when it goes on after the switch to it
    bool ending = false;  // its accesses drain
  } turn_;
  TurnStats turn_stats_;
  EventLog log_;
};

}  // namespace terrace
