// Everything that can be configured, in one struct: a machine's file, a design's overlay and --set all write here.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "cache/config.h"
#include "config/fields.h"
#include "config/validation.h"
#include "dram/dram_config.h"
#include "frontend/device_code.h"
#include "gpu/until.h"
#include "noc/crossbar.h"
#include "power/power_config.h"
#include "sm/config.h"
#include "tenancy/sm_partitioner.h"
#include "translation/config.h"
#include "translation/page_table.h"
#include "wire/line_shape.h"

namespace terrace {

/// How a run goes: who runs, for how long, from which seed.
struct RunConfig {
  std::string tenants;
  std::string size = "tiny";
  std::string until = "completed";
  std::vector<u64> sms;
  u64 seed = 1;
  u64 arrival_spread = 0;
  u64 warmup = 0;
  u64 epoch = 0;
  u64 sample = 0;
  u64 stats_every = 0;
  bool lifetimes = false;
  bool first_touches = false;
  u64 instruction_cap = 0;
  u64 livelock_cycles = 5'000'000;
  u64 spin_cycles = 250'000;
  u64 loop_limit = DeviceCode::kLoopLimit;
  bool relaunch = true;
  void describe(Fields& v) {
    v("tenants", tenants,
      "workloads, separated by spaces, each NAME or NAME:key=value,...; arrive=N and leave=N are the cycles in which a "
      "tenant arrives and leaves");
    v("size", size, "size of the workloads: mini, tiny, small or paper");
    v("until", until,
      "when the run ends: completed: when every tenant has completed once; cycles:N or instructions:N (thread "
      "instructions): the same, but after N at the latest; window:N: after N cycles, in which tenants that complete "
      "start again");
    v("sms", sms, in(1, kMaxSms), "number of SMs of each tenant; empty: divided evenly");
    v("seed", seed, in(0, Range::kHighest), "seed of every random stream");
    v("arrival_spread", arrival_spread, in(0, 1'000'000'000),
      "longest random delay, in cycles, of each tenant's arrival and departure; drawn from the seed");
    v("warmup", warmup, in(0, Range::kHighest), "cycles at the start that statistics exclude");
    v("epoch", epoch, in(0, Range::kHighest),
      "cycles of an epoch; at the end of each, policies that use epochs decide and --timeline FILE.csv writes a line; "
      "0: no epochs");
    v("sample", sample, in(0, Range::kHighest),
      "cycles between samples of walks in service and of warps that wait for translations (gpu.samples); 0: none");
    v("stats_every", stats_every, in(0, Range::kHighest),
      "keep statistics over time in the result: how much each counter grew in every interval of this many cycles "
      "(--stats-every); 0: none");
    v("lifetimes", lifetimes,
      "count how long entries of L1 TLBs and lines of caches live, and when they are last used (gpu.lifetimes)");
    v("first_touches", first_touches,
      "count walks for pages that their tenant has never asked for before (gpu.mmu.*.first_touches); few of them mean "
      "a steady state");
    v("instruction_cap", instruction_cap, in(0, Range::kHighest),
      "thread instructions after which the run ends; 0: no limit");
    v("livelock_cycles", livelock_cycles, in(1000, Range::kHighest),
      "cycles without an issued instruction after which the run ends as a livelock");
    v("spin_cycles", spin_cycles, in(0, Range::kHighest),
      "end a tenant whose warps, for two periods of this many cycles, have only polled memory that nobody changes; 0: "
      "never");
    v("loop_limit", loop_limit, in(0, Range::kHighest),
      "end a tenant when one of its warps has taken this many backward branches: its loop counts as endless; 0: no "
      "limit");
    v("relaunch", relaunch,
      "a tenant that completes starts again until every tenant has completed once, or to the end of a window");
  }
  void validate(Validation& v) const {
    v.require(parse_until(until).has_value(), "until", "must be {}", kUntilForms);
    v.require(relaunch || !is_window(until), "until", "{}", kWindowRelaunches);
    v.require(instruction_cap == 0 || !is_window(until), "until", "{}", kWindowHasNoCap);
  }
};

struct TenancyConfig {
  enum class Sharing : u8 { kSpatial, kTime };
  Sharing sharing = Sharing::kSpatial;
  // Chosen: about a millisecond, and the time that 30 Maxwell SMs' registers and shared memory (10.6 MB) take to memory
  // and back at 345.6 GB/s.
  u64 quantum = 1'000'000;
  u64 switch_cycles = 70'000;
  Policy<SmPartitioner> partition{"fixed"};
  u32 launch_gap = 1000;
  u32 blocks_per_kcycle = 0;
  u64 host_call_cycles = 0;
  std::string reference_design;
  u32 reference_sms = 0;
  u64 wake_cycles = 1000;  // chosen: about a microsecond for supply, clock and reset
  bool flush_on_relaunch = false;
  bool flush_on_switch = true;
  bool flush_shared_on_switch = false;
  bool blame = true;
  /// Whether a tenant's SMs are given by their number (run.sms).
  bool divides_by_number() const { return sharing == Sharing::kSpatial && partition.make({})->never_moves(); }
  void describe(Fields& v) {
    v("sharing", sharing, {"spatial", "time"},
      "spatial: each tenant has its own SMs; time: tenants take turns on all SMs, and the blocks of a waiting tenant "
      "are set aside");
    v("quantum", quantum, in(1, Range::kHighest), "cycles of a turn under time sharing");
    v("switch_cycles", switch_cycles, in(0, Range::kHighest),
      "cycles of a switch: from the last answer to the old tenant to the first instruction of the new one");
    v.policy("partition", partition, "which SMs belong to which tenant under spatial sharing");
    v("wake_cycles", wake_cycles, in(0, Range::kHighest),
      "cycles from the decision to give an SM its power back until it takes blocks");
    v("launch_gap", launch_gap, in(0, 1'000'000), "cycles from the end of a kernel to the first block of the next one");
    v("blocks_per_kcycle", blocks_per_kcycle, in(0, 1'000'000),
      "thread blocks that leave for all SMs together in 1,000 cycles, evenly; 0: as many as there are SMs, one for "
      "each "
      "in every cycle");
    v("host_call_cycles", host_call_cycles, in(0, 1'000'000'000),
      "host time of a CUDA runtime call, in cycles (terrace cuda): delays a launch once for each call since the "
      "process last waited");
    v("reference_design", reference_design,
      "design under which tenants run alone, as the reference of slowdowns and other relative metrics");
    v("reference_sms", reference_sms, in(0, 256), "SMs of a tenant in its alone run; 0: as many as in the shared run");
    v("flush_on_relaunch", flush_on_relaunch, "flush a tenant's TLB and walk-cache entries when it starts again");
    v("flush_on_switch", flush_on_switch,
      "flush the old tenant's entries from the L1 TLB of an SM that changes its tenant");
    v("flush_shared_on_switch", flush_shared_on_switch,
      "with flush_on_switch: flush the old tenant's entries from the L2 TLB and the walk caches, too");
    v("blame", blame,
      "with several tenants, count the cycles that requests wait, by the tenant that holds the resource "
      "(docs/blame.md)");
  }
};

/// What a CPU does to the memory that it shares with the GPU.
struct CpuConfig {
  u64 probe_interval = 0;
  u32 shared_percent = 50;
  u64 shootdown_interval = 0;
  u64 flush_interval = 0;
  void describe(Fields& v) {
    v("probe_interval", probe_interval, in(0, Range::kHighest),
      "cycles between coherence probes, each for a random line that leaves the L2 if it is there; 0: none");
    v("shared_percent", shared_percent, in(0, 100),
      "percent of the probes that go to pages of tenants; the others go to memory that only the CPU uses");
    v("shootdown_interval", shootdown_interval, in(0, Range::kHighest),
      "cycles between shootdowns, each of a random page of a tenant, which stays where it is; 0: none");
    v("flush_interval", flush_interval, in(0, Range::kHighest),
      "cycles between shootdowns of all pages of all tenants, which stay where they are; 0: none");
  }
};

struct GpuConfig {
  std::string name = "custom";
  u32 core_mhz = 1137;
  u32 line_bytes = 128;
  u32 sector_bytes = 0;
  TranslateAt translation = TranslateAt::kBeforeL1;
  PagesConfig pages;
  SmConfig sm;
  L1TlbConfig l1_tlb;
  L1Config l1;
  L2TlbConfig l2_tlb;
  MmuConfig mmu;
  FbtConfig fbt;
  NocConfig noc;
  L2Config l2;
  DramConfig dram;
  TenancyConfig tenancy;
  CpuConfig cpu;
  PowerConfig power;
  RunConfig run;

  LineShape lines() const { return {line_bytes, sector_bytes}; }
  bool has_fbt() const { return fbt.entries > 0; }
  /// Whether SMs have TLBs.
  bool translates_in_sm() const {
    return translation == TranslateAt::kBeforeL1 || translation == TranslateAt::kAfterL1;
  }
  /// Whether walks may take that way.
  bool walks_use(WalkPath::Way way) const { return mmu.walk_path.make({})->uses(way); }
  bool takes_turns() const { return tenancy.sharing == TenancyConfig::Sharing::kTime; }
  bool shares_sms() const { return tenancy.partition.make({})->shares_sms(); }
  /// What the blocks on an SM share.
  SmRoom whole_sm() const { return {sm.warps, sm.blocks, sm.registers, sm.shared_bytes}; }
  void describe(Fields& v) {
    v("name", name, "name of the machine");
    v("core_mhz", core_mhz, in(1, 10'000), "clock of SMs, caches and crossbar, in MHz");
    v("line_bytes", line_bytes, in(32, 256), "bytes of a cache line");
    v("sector_bytes", sector_bytes, in(0, 256),
      "bytes of a sector: caches fetch, and packets and memory transfer, only the sectors of a line that are read; a "
      "page walk reads one; 0: whole lines");
    v("translation", translation, {"ideal", "before_l1", "after_l1", "after_l2"},
      "where addresses are translated: ideal: every look-up hits at once; before_l1: before each SM's L1 cache; "
      "after_l1: after an L1 miss, so the L1 has virtual addresses; after_l2: after an L2 miss, so L1 and L2 have "
      "virtual addresses");
    v.group("pages", pages, "pages, frames and page tables");
    v.group("sm", sm, "streaming multiprocessors");
    v.group("l1_tlb", l1_tlb, "TLB of each SM");
    v.group("l1", l1, "data cache of each SM");
    v.group("l2_tlb", l2_tlb, "L2 TLB, the second level");
    v.group("mmu", mmu, "MMU: page walkers, their queues and walk caches");
    v.group("fbt", fbt, "forward-backward table (FBT) of virtual caches");
    v.group("noc", noc, "network on chip: the crossbar between SMs, MMUs and L2");
    v.group("l2", l2, "shared cache");
    v.group("dram", dram, "memory channels");
    v.group("tenancy", tenancy, "how tenants share the GPU");
    v.group("cpu", cpu, "a CPU that shares memory with the GPU");
    v.group("power", power, "energy of events and power of parts (docs/power.md)");
    v.group("run", run, "what runs and for how long");
  }
  void validate(Validation& v) const {
    const bool slice_by_channel = l2.slice_by == L2Config::SliceBy::kChannel;
    v.require(!slice_by_channel || l2.slices % dram.channels == 0, "l2.slices",
              "must be a multiple of dram.channels ({}), or l2.slice_by must be \"line\"", dram.channels);
    v.require(!slice_by_channel || translation != TranslateAt::kAfterL2, "translation",
              "needs l2.slice_by = \"line\": the channel of a line is not known before it is translated");
    v.require(
        translation != TranslateAt::kAfterL2 || !mmu.walk_path.make({})->uses(WalkPath::Way::kL2), "translation",
        "needs mmu.walk_path.use = \"memory\": a walk that waits for an entry of the L2 would wait for lines that "
        "wait for the walk");
    v.require(fbt.entries == 0 || translation == TranslateAt::kAfterL2, "fbt.entries",
              "needs translation = \"after_l2\": the table stands behind a virtual L2");
    v.require(cpu.probe_interval == 0 || fbt.entries > 0, "cpu.probe_interval",
              "needs a forward-backward table (fbt.entries): other designs have no coherence with a CPU");
    v.require(cpu.shootdown_interval == 0 || fbt.entries > 0, "cpu.shootdown_interval",
              "needs a forward-backward table (fbt.entries): in other designs a flush of TLBs takes no time");
    v.require(cpu.flush_interval == 0 || fbt.entries > 0, "cpu.flush_interval",
              "needs a forward-backward table (fbt.entries): in other designs a flush of TLBs takes no time");
    v.require(!fbt.second_level || fbt.entries > 0, "fbt.second_level", "needs a table (fbt.entries)");
    v.require(l1.synonym_entries == 0 || fbt.entries > 0, "l1.synonym_entries",
              "needs a forward-backward table (fbt.entries), which says which page leads");
    v.require(!fbt.second_level || fbt.table_page_shift(pages.shift()) == pages.shift(), "fbt.second_level",
              "needs fbt.large_pages = \"counter\" with pages of {} bytes: parts of a page do not translate it",
              pages.bytes);
    v.require(translation != TranslateAt::kNowhere || mmu.walk_scheduler.use == "shared", "mmu.walk_scheduler.use",
              "schedules walks, and with translation = \"ideal\" there are none; use \"shared\"");
    v.require(l1_tlb.admit == L1TlbConfig::Admit::kPage || translation != TranslateAt::kAfterL1, "l1_tlb.admit",
              "must be \"page\" behind the L1: which pages an instruction needs is not known before");
    v.require(std::has_single_bit(line_bytes), "line_bytes", "must be a power of two");
    v.require(sector_bytes == 0 || (std::has_single_bit(sector_bytes) && sector_bytes >= LineShape::kLeastBytes &&
                                    sector_bytes <= line_bytes),
              "sector_bytes", "must be a power of two from {} to line_bytes ({}), or 0 for whole lines",
              LineShape::kLeastBytes, line_bytes);
    v.require(!lines().divided() || translation != TranslateAt::kAfterL2, "sector_bytes",
              "must be 0 with translation = \"after_l2\": lines with virtual names are fetched whole");
    v.require(
        !lines().divided() || l2.partial_stores == L2Config::PartialStores::kMask, "sector_bytes",
        "must be 0 with l2.partial_stores = \"fetch\": a line that has sectors keeps track of its words (\"mask\")");
    const u64 root_bytes = TableShape(pages, line_bytes).node_bytes(1);
    v.require(
        root_bytes <= FrameAllocator::kMostBytes, "pages.level_bits",
        "leaves {} bytes to the root of a page table, more than a frame holds ({}); raise it, or set pages.entries "
        "= \"packed\"",
        root_bytes, FrameAllocator::kMostBytes);
    v.require(l1.bytes % (l1.ways * line_bytes) == 0 && std::has_single_bit(l1.bytes / (l1.ways * line_bytes)),
              "l1.bytes", "must give a power-of-two number of sets of {} ways of {} bytes", l1.ways, line_bytes);
    const u32 slice = l2.bytes / l2.slices;
    v.require(slice % (l2.ways * line_bytes) == 0 && std::has_single_bit(slice / (l2.ways * line_bytes)), "l2.bytes",
              "must give each of {} slices a power-of-two number of sets of {} ways of {} bytes", l2.slices, l2.ways,
              line_bytes);
    v.require(l2.victim.use != "tenant_ways" || dram.partition == MemoryPartition::kNone || !slice_by_channel,
              "l2.victim.use",
              "must not be tenant_ways when dram.partition is channels: the L2 slices of a channel already belong to "
              "its tenant");
    const bool time = tenancy.sharing == TenancyConfig::Sharing::kTime;
    v.require(!tenancy.flush_shared_on_switch || tenancy.flush_on_switch, "tenancy.flush_shared_on_switch",
              "needs tenancy.flush_on_switch: a flush of what SMs share is a flush of the SM's own TLB as well");
    v.require(!time || run.sms.empty(), "tenancy.sharing", "gives every tenant all SMs in its turn; remove run.sms");
    const auto partitioner = tenancy.partition.make({});
    v.require(!time || partitioner->never_moves(), "tenancy.partition.use",
              "must be fixed under time sharing, where every tenant has all SMs");
    v.require(partitioner->never_moves() || run.sms.empty(), "tenancy.partition.use",
              "divides the SMs by itself; remove run.sms");
    const auto by_epochs = [&](const auto& policy, std::string_view key) {
      v.require(run.epoch != 0 || !policy.make({})->by_epochs(), key,
                "decides at epochs; give their length (run.epoch)");
    };
    by_epochs(tenancy.partition, "tenancy.partition.use");
    by_epochs(l2.admission, "l2.admission.use");
    by_epochs(l2_tlb.fill, "l2_tlb.fill.use");
    by_epochs(mmu.walk_path, "mmu.walk_path.use");
    by_epochs(dram.scheduler, "dram.scheduler.use");
    v.require(l2_tlb.entries > 0 || l2_tlb.fill.make({})->bypass_entries() == 0, "l2_tlb.fill.use",
              "keeps translations out of an L2 TLB that is not there (l2_tlb.entries is 0); give it entries, or use "
              "\"always\"");
    v.require(run.livelock_cycles > tenancy.launch_gap, "run.livelock_cycles",
              "must be more than tenancy.launch_gap ({})", tenancy.launch_gap);
    v.require(!time || run.livelock_cycles > tenancy.launch_gap + tenancy.switch_cycles, "run.livelock_cycles",
              "must be more than tenancy.launch_gap and tenancy.switch_cycles together ({})",
              tenancy.launch_gap + tenancy.switch_cycles);
  }
};

}  // namespace terrace
