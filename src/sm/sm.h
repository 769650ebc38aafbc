// A streaming multiprocessor: resident warps, schedulers that issue from those that are ready, fixed-latency pipelines,
// a load-store unit with an L1. Instructions come from the tenants' streams and are executed when they issue; their
// timing follows from their class. Simplified: in order within a warp, no operand collector, no instruction cache. The
// root register names the tenant whose page tables are in use; it changes only when no memory access is under way.
// Tenants that share the SM block by block each bring their own. Under time multiplexing every tenant has a context
// here, and one of them runs.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/link.h"
#include "engine/out_of_line.h"
#include "engine/scheduler.h"
#include "frontend/inst_stream.h"
#include "sm/config.h"
#include "sm/context.h"
#include "sm/load_store.h"
#include "stats/stat_fields.h"
#include "wire/dispatch.h"
#include "wire/fault_list.h"

namespace terrace {

struct SmStats {
  PerTenant<Counter> warp_instructions, thread_instructions, blocks_started, blocks_done;
  PerTenant<Counter> integer, single, double_precision, special, control, barriers, fences, memory;
  PerTenant<Counter> tensor, tensor_macs, async_copies;
  Counter busy_cycles, stall_cycles, shared_accesses, shared_conflict_cycles;
  PerTenant<Counter> shared_passes;  // accesses and conflicts by tenant: not exported, the power model asks for them
  u64 unfinished_blocks = 0;         // that left before they had ended
  void describe(StatFields& v) {
    v("warp_instructions", warp_instructions, "instructions", "warp instructions issued");
    v("thread_instructions", thread_instructions, "instructions",
      "thread instructions issued: one for each active lane of a warp instruction");
    v("integer", integer, "instructions", "integer, logic and move warp instructions");
    v("single", single, "instructions", "single- and half-precision warp instructions");
    v("double", double_precision, "instructions", "double-precision warp instructions");
    v("special", special, "instructions", "approximate functions");
    v("tensor", tensor, "instructions", "tensor warp instructions");
    v("tensor_macs", tensor_macs, "operations",
      "multiply-accumulates of tensor instructions, those of 8-bit operands counted half and those of tf32 twice");
    v("control", control, "instructions", "branches, calls, exits, and commits and waits of asynchronous copies");
    v("barriers", barriers, "instructions", "barriers");
    v("fences", fences, "instructions", "memory fences");
    v("memory", memory, "instructions", "loads, stores, copies and atomics of any memory space");
    v("async_copies", async_copies, "instructions", "of those, asynchronous copies to shared memory");
    v("blocks_started", blocks_started, "blocks", "thread blocks started or resumed here");
    v("blocks_done", blocks_done, "blocks", "thread blocks completed");
    v("busy_cycles", busy_cycles, "cycles", "cycles in which at least one instruction issued");
    v("stall_cycles", stall_cycles, "cycles", "cycles in which warps were resident and none could issue");
    v("shared_accesses", shared_accesses, "instructions", "shared-memory accesses");
    v("shared_conflict_cycles", shared_conflict_cycles, "cycles", "cycles added by bank conflicts");
    v.identity("every instruction has a class", sum(warp_instructions),
               sum(integer, single, double_precision, special, tensor, control, barriers, fences, memory));
    v.identity("every block that began ended or left", sum(blocks_started), sum(blocks_done, unfinished_blocks));
  }
};

/// What a tenant's warp did that it may not.
struct SmFault {
  TenantId tenant{};
  std::string sentence;
};

class Sm final : public Unit, private SmContext {
 public:
  struct Wiring {
    LoadStoreUnit::Wiring memory;
    Link<BlockStart>& starts;
    Link<BlockDone>& done;
    const std::vector<InstStream*>& streams;  // by tenant
    u32 sms = 1;                              // of the machine
    bool flush_on_switch = true;              // when the root changes, the L1 TLB forgets the old tenant
    u32 contexts = 0;                         // tenants that take turns here; 0: an SM is one tenant's
  };
  Sm(Scheduler& scheduler, const SmConfig& config, const L1Config& l1, const L1TlbConfig& tlb, const NocConfig& noc,
     LineShape lines, SmId id, Wiring wiring);
  void connect(UnitId self) { self_ = self; }

  Cycle tick(Cycle now) override;
  void commit(Cycle now) override;
  void explain(std::ostream& out) const override;

  /// Ends every warp of a tenant where it stands; answers still under way drain. Between cycles only.
  void abandon(TenantId tenant, Cycle now);
  // Holding an SM, between cycles only:
  enum class WhenDrained : u8 { kGoOn, kStopRun };
  /// Nothing issues from now on, and what is under way comes back. The run goes on, or stops each time that this SM
  /// ticks and nothing is left.
  void hold_issue(WhenDrained then) {
    held_until_ = kNever;
    stops_when_drained_ = then == WhenDrained::kStopRun;
  }
  void resume_issue(Cycle now);
  bool drained() const { return memory_.drained(); }
  /// All blocks leave, unfinished, in the order of their launches and numbers. The SM is held and drained.
  std::vector<UnfinishedBlock> take_blocks(Cycle now);
  /// What its caches hold is gone. Nothing may be here.
  void lose_power();
  /// The other tenant's warps go on in cycle `resume`. Nothing may be under way.
  void switch_to(TenantId tenant, Cycle now, Cycle resume);

  // Between cycles only.
  /// The places of warps that a tenant has had here since the epoch began, a bit each.
  u64 warps_seen(TenantId tenant) const { return warps_seen_[tenant]; }
  void begin_epoch();

  /// A fault here that has not been taken yet, of each tenant the first. The run stops in its cycle.
  std::optional<SmFault> take_fault() { return faults_.take(); }
  /// Closes statistics that run over cycles. Between cycles only.
  void settle(Cycle now);
  /// When it is restored, the streams have been.
  void archive(Archive& a);

  /// No block is here, none has ended that the dispatcher does not know of, and no translation is awaited.
  bool idle() const;

  SmStats stats;
  LoadStoreUnit& load_store() { return memory_; }
  const LoadStoreUnit& load_store() const { return memory_; }

 private:
  u64 resident_warps() const { return all_warps_ & ~free_places_; }
  void start_blocks(Cycle now);
  TERRACE_OUT_OF_LINE void start_block(const BlockStart& start, Cycle now);
  void go_on(Block& block);
  void vacate(Block& block);
  void find_views(SmContext& context) const;
  void take_over(TenantId tenant, Cycle now);
  void change_root(TenantId tenant, Cycle now);
  void wake_sleeping_warps(Cycle now);
  void accept_memory(Cycle now);
  void complete(const LoadStoreUnit::Done& done, Cycle now);
  void issue(Cycle now);
  void issue_from(u32 scheduler, Cycle now);
  void issue_warp(u32 place, u32 scheduler, Cycle now);
  Cycle issue_memory(const DecodedInst& inst, u32 place, Cycle now, u32& occupied);
  void arrive_after_copies(u32 place);
  Cycle issue_shared(u64 lanes, TenantId tenant, Cycle now, u32& occupied);
  void evaluate(u32 place, Cycle now);
  void sleep_until(u32 place, Cycle at, Cycle now);
  void after_barrier(const Block& block, u64 released, Cycle now);
  void retire(u32 place, Cycle now);
  void try_drain(u32 place, Cycle now);
  void send_done(Cycle now);
  void ask_for_commit();
  void abandon_here(TenantId tenant, Cycle now);
  /// Names a memory instruction among those of all SMs.
  u32 next_dynamic_id() { return next_dynamic_id_++ * wiring_.sms + index(id_); }
  void count(const DecodedInst& inst, TenantId tenant);
  void account_cycles(Cycle now, bool issued);
  Cycle next_wakeup(Cycle now) const;
  static Pipe pipe_of(const DecodedInst& inst);
  /// Ready warps that no full queue holds back; a busy pipeline may still.
  u64 issuable() const;

  const u64 all_warps_;  // a bit for each place of a warp
  Scheduler& scheduler_;
  UnitId self_{};
  const SmId id_;
  const SmConfig& config_;
  // What every tick looks at stands together; what is large and seldom needed, behind.
  Cycle held_until_ = 0;  // kNever: held
  Cycle stalled_since_ = kNever;
  bool stops_when_drained_ = false;
  bool issued_ = false;
  bool could_issue_ = false;         // after this tick: some warp is ready and no full queue holds it back
  std::vector<BlockDone> finished_;  // not yet told to the dispatcher
  std::vector<LoadStoreUnit::Done> completed_;
  StoreLog stores_;
  Wiring wiring_;
  LoadStoreUnit memory_;
  std::vector<u64> scheduler_places_;                     // of the warps that each scheduler serves
  std::array<std::array<Cycle, kPipes>, 4> pipe_free_{};  // by scheduler
  u32 next_dynamic_id_ = 0;
  std::vector<SmContext> aside_;                       // by tenant, when they take turns
  PerTenant<u64> warps_seen_;                          // likewise, since the epoch began
  std::optional<TenantId> root_;                       // whose page tables the SM uses; none before its first block
                                                       // and while tenants share it
  std::array<LaunchId, kMaxTenants> newest_launch_{};  // of each tenant, that has had a block here
  FaultList<SmFault> faults_;
  Effect effect_;
};

}  // namespace terrace
