// Everything that can be configured, in one struct: a machine's file, a design's overlay and --set all write here.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "cache/config.h"
#include "config/fields.h"
#include "config/validation.h"
#include "dram/dram_config.h"
#include "gpu/until.h"
#include "noc/crossbar.h"
#include "sm/config.h"
#include "tenancy/sm_partitioner.h"
#include "translation/config.h"

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
  u64 instruction_cap = 0;
  u64 livelock_cycles = 5'000'000;
  bool relaunch = true;
  void describe(Fields& v) {
    v("tenants", tenants,
      "workloads, separated by spaces, each NAME or NAME:key=value,...; arrive=N and leave=N give the cycles in which "
      "a tenant comes and goes");
    v("size", size, "size of the workloads: mini, tiny, small or paper");
    v("until", until, "when the run ends: completed, cycles:N or instructions:N (of threads)");
    v("sms", sms, in(1, 256), "SMs of each tenant; empty divides them evenly");
    v("seed", seed, in(0, Range::kHighest), "where all randomness comes from");
    v("arrival_spread", arrival_spread, in(0, 1'000'000'000),
      "each tenant comes, and goes, up to so many cycles late, by a number that the seed draws for it");
    v("warmup", warmup, in(0, Range::kHighest), "cycles that statistics leave out");
    v("epoch", epoch, in(0, Range::kHighest),
      "cycles of an epoch, at whose end policies that go by epochs decide anew and a timeline has a line; 0 is none");
    v("instruction_cap", instruction_cap, in(0, Range::kHighest),
      "thread instructions after which a run ends; 0 is none");
    v("livelock_cycles", livelock_cycles, in(1000, Range::kHighest),
      "cycles without an instruction that end the run as a livelock");
    v("relaunch", relaunch, "a tenant that completes starts again while others have not");
  }
  void validate(Validation& v) const {
    v.require(parse_until(until).has_value(), "until", "is none of \"completed\", \"cycles:N\" and \"instructions:N\"");
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
  std::string reference_design;
  u32 reference_sms = 0;
  bool flush_on_relaunch = false;
  bool flush_on_switch = true;
  bool blame = true;
  /// Whether a tenant's SMs are given by their number (run.sms).
  bool divides_by_number() const { return sharing == Sharing::kSpatial && partition.make({})->never_moves(); }
  void describe(Fields& v) {
    v("sharing", sharing, {"spatial", "time"},
      "whether each tenant has SMs of its own, or all have every SM in turn, their resident blocks put aside "
      "meanwhile");
    v("quantum", quantum, in(1, Range::kHighest), "cycles of a turn, when tenants share in time");
    v("switch_cycles", switch_cycles, in(0, Range::kHighest),
      "cycles from the last answer to the old tenant to the first instruction of the new one");
    v.policy("partition", partition, "whose SMs are whose, when tenants share in space");
    v("launch_gap", launch_gap, in(0, 1'000'000), "cycles between a kernel's end and the next one's first block");
    v("reference_design", reference_design, "design under which a tenant runs alone, for relative metrics");
    v("reference_sms", reference_sms, in(0, 256), "SMs of a tenant that runs alone; 0 is as many as in the shared run");
    v("flush_on_relaunch", flush_on_relaunch, "a tenant that starts again finds its TLBs and walk caches empty");
    v("flush_on_switch", flush_on_switch, "an SM that goes to another tenant forgets the translations of the old one");
    v("blame", blame, "count which tenant's requests wait for which tenant, when there are several tenants");
  }
};

struct GpuConfig {
  std::string name = "custom";
  u32 core_mhz = 1137;
  u32 line_bytes = 128;
  TranslateAt translation = TranslateAt::kBeforeL1;
  PagesConfig pages;
  SmConfig sm;
  L1TlbConfig l1_tlb;
  L1Config l1;
  L2TlbConfig l2_tlb;
  MmuConfig mmu;
  NocConfig noc;
  L2Config l2;
  DramConfig dram;
  TenancyConfig tenancy;
  RunConfig run;

  void describe(Fields& v) {
    v("name", name, "name of the machine");
    v("core_mhz", core_mhz, in(1, 10'000), "core clock, in MHz: SMs, caches and interconnect");
    v("line_bytes", line_bytes, in(32, 256), "bytes of a cache line");
    v("translation", translation, {"ideal", "before_l1", "after_l1", "after_l2"},
      "where addresses are translated: nowhere, every look-up hits (ideal); before each SM's L1; after an L1 miss, so "
      "that L1 lines have virtual names; or after an L2 miss, so that L1 and L2 lines have virtual names");
    v.group("pages", pages, "pages, their frames and their tables");
    v.group("sm", sm, "streaming multiprocessors");
    v.group("l1_tlb", l1_tlb, "TLB of each SM");
    v.group("l1", l1, "data cache of each SM");
    v.group("l2_tlb", l2_tlb, "TLB that the SMs share");
    v.group("mmu", mmu, "page walks");
    v.group("noc", noc, "interconnect between SMs and L2");
    v.group("l2", l2, "shared cache");
    v.group("dram", dram, "memory");
    v.group("tenancy", tenancy, "how tenants share the GPU");
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
    v.require(l1_tlb.admit == L1TlbConfig::Admit::kPage || translation != TranslateAt::kAfterL1, "l1_tlb.admit",
              "must be \"page\" behind the L1: which pages an instruction needs is not known before");
    v.require(std::has_single_bit(line_bytes), "line_bytes", "must be a power of two");
    v.require(l1.bytes % (l1.ways * line_bytes) == 0 && std::has_single_bit(l1.bytes / (l1.ways * line_bytes)),
              "l1.bytes", "must give a power of two of sets of {} ways of {} bytes", l1.ways, line_bytes);
    const u32 slice = l2.bytes / l2.slices;
    v.require(slice % (l2.ways * line_bytes) == 0 && std::has_single_bit(slice / (l2.ways * line_bytes)), "l2.bytes",
              "must give each of {} slices a power of two of sets of {} ways of {} bytes", l2.slices, l2.ways,
              line_bytes);
    v.require(l2.victim.use != "tenant_ways" || dram.partition == MemoryPartition::kNone || !slice_by_channel,
              "l2.victim.use",
              "must not be tenant_ways when dram.partition is channels: a channel's slices of the L2 are its tenant's "
              "own already");
    const bool time = tenancy.sharing == TenancyConfig::Sharing::kTime;
    v.require(!time || run.sms.empty(), "tenancy.sharing", "gives every tenant all SMs in its turn; leave out run.sms");
    const auto partitioner = tenancy.partition.make({});
    v.require(!time || partitioner->never_moves(), "tenancy.partition.use",
              "has nothing to divide when tenants share in time");
    v.require(partitioner->never_moves() || run.sms.empty(), "tenancy.partition.use",
              "divides the SMs by itself; leave out run.sms");
    v.require(!partitioner->by_epochs() || run.epoch != 0, "tenancy.partition.use",
              "decides at epochs; give their length (run.epoch)");
    v.require(run.livelock_cycles > tenancy.launch_gap, "run.livelock_cycles",
              "must be more than tenancy.launch_gap ({})", tenancy.launch_gap);
    v.require(!time || run.livelock_cycles > tenancy.launch_gap + tenancy.switch_cycles, "run.livelock_cycles",
              "must be more than tenancy.launch_gap and tenancy.switch_cycles together ({})",
              tenancy.launch_gap + tenancy.switch_cycles);
  }
};

}  // namespace terrace
