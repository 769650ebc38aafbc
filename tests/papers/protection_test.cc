// A hostile tenant is answered with nothing of another's memory, whatever the design and however SMs are shared: it
// sweeps all of its own addresses, which are also the victim's, again and again, and ends with a look at an address
// that is not its own. The words it gets prove nothing, for they come from a memory that each tenant has to itself; what
// can be wrong is the physical line of an answer. The observer of line versions compares it with the page table at each
// one, for both tenants, and only dev builds have it. Designs are those in the folder, so that new ones are tested by
// themselves; pages have every size.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "engine/rng.h"
#include "papers/designs.h"
#include "support/one_sm_for_both.h"
#include "timing/ptx_tenants.h"

#ifdef TERRACE_DCHECK

namespace terrace {
namespace {

constexpr u32 kWordsPerPage = 8;  // that are looked at

/// Every thread looks at its share of the words, `rounds` times; then at `bad`, if that is an address.
std::string sweep(const std::string& on_each) {
  return R"(.version 7.8
.target sm_70
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 step, .param .u64 count, .param .u64 rounds, .param .u64 bad) {
  .reg .b64 %rd<10>; .reg .b32 %r<10>; .reg .pred %p<4>;
  ld.param.u64 %rd1, [data]; ld.param.u64 %rd3, [step]; ld.param.u64 %rd4, [count];
  ld.param.u64 %rd5, [rounds]; ld.param.u64 %rd6, [bad];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r2, %r3, %r4;
  mov.u32 %r6, %nctaid.x; mul.lo.u32 %r6, %r6, %r3; cvt.u64.u32 %rd8, %r6;
ROUND:
  cvt.u64.u32 %rd7, %r5;
WORD:
  setp.ge.u64 %p1, %rd7, %rd4; @%p1 bra NEXT;
  mad.lo.u64 %rd9, %rd7, %rd3, %rd1; ld.global.u32 %r8, [%rd9];
  )" + on_each +
         R"(
  add.u64 %rd7, %rd7, %rd8; bra.uni WORD;
NEXT:
  sub.u64 %rd5, %rd5, 1; setp.ne.u64 %p3, %rd5, 0; @%p3 bra ROUND;
  setp.ne.u64 %p3, %rd6, 0; @%p3 ld.global.u32 %r8, [%rd6];
  ret;
}
)";
}

std::vector<std::string> all_designs() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() + "/configs/designs"))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

constexpr u32 kPageSizes[] = {4096, 65536, 2 << 20};

struct Place {
  std::string machine;
  bool turns = false;
};

/// Four SMs of a machine with these designs. Throws if they do not fit it or each other.
GpuConfig machine_at(const Place& place, Rng& rng, const std::vector<std::string>& designs, u32 page_bytes,
                     std::vector<std::string> sets = {}) {
  sets.insert(sets.end(),
              {"sm.count=4", fmt::format("pages.bytes={}", page_bytes), fmt::format("run.seed={}", rng.below(1000)),
               fmt::format("tenancy.sharing={}", place.turns ? "time" : "spatial"),
               // Many turns in a sweep, and as many chances to meet what the other one left.
               "tenancy.quantum=500", "tenancy.switch_cycles=20",
               fmt::format("tenancy.flush_on_switch={}", rng.below(2) == 0)});
  return machine_with(place.machine, designs, sets);
}

/// One that they fit, shared in space or in time, whichever comes first from a random place on; nothing if there is none.
std::optional<GpuConfig> machine(Rng& rng, const std::vector<std::string>& designs, u32 page_bytes) {
  static const char* const kMachines[] = {"dws_30sm", "simt_8cu", "mask_maxwell30", "vc_16cu"};
  std::vector<std::string> sets;
  // Parts of a page do not translate it.
  if (page_bytes > 4096 && std::ranges::find(designs, "vc_opt") != designs.end())
    sets.emplace_back("fbt.large_pages=counter");
  const u64 from = rng.below(8);
  for (u64 i = from; i < from + 8; ++i) {
    try {
      return machine_at({kMachines[i % 4], i / 4 % 2 == 0}, rng, designs, page_bytes, sets);
    } catch (const InputError&) {
      // What does not fit this machine may fit the next; what fits none is missed by whoever asked.
    }
  }
  return std::nullopt;
}

bool takes_turns(const GpuConfig& config) {
  return config.tenancy.sharing == TenancyConfig::Sharing::kTime;
}

std::string told(const GpuConfig& config, const std::string& design) {
  return fmt::format("{} on {}, {}, with pages of {}", design, config.name,
                     takes_turns(config) ? "in time" : "in space", config.pages.bytes);
}

/// Side by side, the hostile tenant follows its victim: what both ask for in the same cycles neither finds in a TLB. Some
/// walks through DRAM behind, and long before the victim's sweep is over.
constexpr Cycle kBehind = 5000;

struct Outcome {
  bool completed = false;  // the victim
  std::string fault;       // of the hostile tenant
  u64 bad = 0;             // what it tried to read
  u64 table_fetches = 0;   // of the hostile tenant, through a forward-backward table
  bool met = false;        // both issued instructions on the first SM
};

enum class Meet : u8 { kAsConfigured, kInOneSm };

Outcome fight(const GpuConfig& config, Rng& rng, Mistake mistake = Mistake::kNone, u32 spared = 0,
              Meet meet = Meet::kAsConfigured) {
  const u64 page = config.pages.bytes, pages = page > 65536 ? 12 : 48, words = pages * page / 4;
  // What belongs to the victim alone, to nobody, or (as a virtual address) to the machine.
  const u64 bad[] = {GuestMemory::kBase + pages * page + page + 4 * rng.below(words), 4 + 4 * rng.below(u64{1} << 29),
                     (u64{1} << 40) + 4 * rng.below(u64{1} << 40)};
  const u64 last = bad[rng.below(3)];
  // Who shares an L1 sweeps over as much of it as it holds, while the other one does.
  const bool in_one = meet == Meet::kInOneSm;
  const u64 step = in_one ? config.line_bytes : page / kWordsPerPage;
  const u64 count = in_one ? config.l1.bytes / config.line_bytes * 3 / 4 : pages * kWordsPerPage;
  const auto spec = [&](const std::string& on_each) {
    return PtxProgramSpec{.ptx = sweep(on_each),
                          .buffers = {{"data", words}},
                          .numbers = {{step, count, in_one ? 60u : 3u, 0}},
                          .blocks = in_one ? 1u : 2u,
                          .threads = 64};
  };
  PtxTenant victim(config, "victim.ptx", spec("st.global.u32 [%rd9], %r5;"));
  victim.memory.allocate("more", pages * page);
  PtxProgramSpec sweeping = spec("");
  sweeping.numbers.push_back({step, 0, 1, last});
  PtxTenant hostile(config, "hostile.ptx", sweeping);
  const std::vector<u32> all{0, 1, 2, 3}, first{0, 1}, second{2, 3};
  const bool turns = takes_turns(config);
  const Cycle behind = turns ? 0 : in_one ? kBehind / 5 : kBehind;
  Gpu gpu(config,
          {{"victim", &victim.program, &victim.memory, &victim.machine, turns ? all : first},
           {"hostile", &hostile.program, &hostile.memory, &hostile.machine, turns ? all : second, behind}},
          {}, in_one ? std::make_unique<OneSmForBoth>() : nullptr);
  gpu.plant(mistake, spared);
  gpu.run({.relaunch = false});
  if (gpu.quiet()) gpu.stats().check_identities(!gpu.quiet());  // the fault may be what ended the run
  const auto issued = [&](u32 tenant) {
    return gpu.stats().total("gpu.sm.0.warp_instructions", TenantId(tenant)).value_or(0);
  };
  return {gpu.progress(TenantId(0)).completed_runs == 1, gpu.progress(TenantId(1)).fault, last,
          static_cast<u64>(gpu.stats().total("gpu.fbt.fetches", TenantId(1)).value_or(0)),
          issued(0) > 0 && issued(1) > 0};
}

/// The observer throws where an answer is not the tenant's own.
Outcome expect_protected(const GpuConfig& config, Rng& rng, Meet meet = Meet::kAsConfigured) {
  const Outcome outcome = fight(config, rng, Mistake::kNone, 0, meet);
  EXPECT_TRUE(outcome.completed);
  const std::string told = fmt::format("reads 4 bytes at {:#x}, outside any allocation", outcome.bad);
  EXPECT_NE(outcome.fault.find(told), std::string::npos) << outcome.fault;
  return outcome;
}

TEST(Protection, HoldsUnderEveryDesignAndPageSize) {
  Rng rng(1, "protection.designs");
  u32 runs = 0, turns = 0;
  std::set<std::string> machines;
  for (const std::string& design : all_designs()) {
    for (const u32 page : kPageSizes) {
      const std::optional<GpuConfig> config = machine(rng, {design}, page);
      if (!config) {
        ADD_FAILURE() << design << " fits no machine with pages of " << page;
        continue;
      }
      SCOPED_TRACE(told(*config, design));
      ++runs;
      turns += takes_turns(*config);
      machines.insert(config->name);
      expect_protected(*config, rng);
    }
  }
  EXPECT_EQ(machines.size(), 4u);
  EXPECT_GE(turns, runs / 4);
  EXPECT_LE(turns, runs * 3 / 4);
}

/// Both tenants on one SM, as under `smk`: they share its L1 and its L1 TLB.
TEST(Protection, HoldsWhereBothRunOnOneSm) {
  Rng rng(5, "protection.one_sm");
  for (const char* const gpu : {"dws_30sm", "simt_8cu", "mask_maxwell30"}) {
    for (const u32 page : kPageSizes) {
      const GpuConfig config = machine_at({gpu, false}, rng, {}, page);
      SCOPED_TRACE(told(config, "no design") + ", on one SM");
      EXPECT_TRUE(expect_protected(config, rng, Meet::kInOneSm).met);
    }
  }
}

/// Caches whose lines have virtual names, on the machine of the paper that has them: nothing is left out. Where both tenants
/// run on one SM they share its L1 too.
TEST(Protection, HoldsInVirtualCaches) {
  Rng rng(4, "protection.virtual");
  const auto run = [&](const char* design, bool turns, Meet meet, u32 page, bool counter) {
    const GpuConfig config = machine_at({"vc_16cu", turns}, rng, {design}, page,
                                        {fmt::format("fbt.large_pages={}", counter ? "counter" : "parts")});
    SCOPED_TRACE(told(config, design) + (meet == Meet::kInOneSm ? ", on one SM" : ""));
    const bool in_l2 = config.translation == TranslateAt::kAfterL2;
    EXPECT_TRUE(in_l2 || config.translation == TranslateAt::kAfterL1);
    EXPECT_EQ(expect_protected(config, rng, meet).table_fetches > 0, in_l2);
  };
  for (const u32 page : kPageSizes) {
    for (const auto& [turns, meet] : {std::pair{false, Meet::kAsConfigured}, std::pair{true, Meet::kAsConfigured},
                                      std::pair{false, Meet::kInOneSm}}) {
      for (const char* const design : {"l1_vc_32", "l1_vc_128", "vc_no_opt"}) run(design, turns, meet, page, false);
      run("vc_opt", turns, meet, page, true);
    }
    if (page > 4096) run("vc_no_opt", false, Meet::kAsConfigured, page, true);
  }
}

TEST(Protection, HoldsUnderCombinationsOfDesigns) {
  Rng rng(2, "protection.combinations");
  const std::vector<std::string> designs = all_designs();
  u32 fitting = 0;
  for (u32 tried = 0; tried < 1000 && fitting < 16; ++tried) {
    const std::string &one = designs[rng.below(designs.size())], &other = designs[rng.below(designs.size())];
    const u32 page = kPageSizes[rng.below(3)];
    if (one == other) continue;
    const std::optional<GpuConfig> config = machine(rng, {one, other}, page);
    if (!config) continue;
    SCOPED_TRACE(told(*config, one + " and " + other));
    ++fitting;
    expect_protected(*config, rng);
  }
  EXPECT_EQ(fitting, 16u) << "designs that combine";
}

/// By the observer; or by a forward-backward table, to which a wrong frame makes the two tenants' pages look like two names of
/// one page that is written, so that it ends the tenant before there is an answer.
bool accused(const GpuConfig& config, Rng& rng, Mistake mistake, u32 spared, Meet meet = Meet::kAsConfigured) {
  try {
    const Outcome outcome = fight(config, rng, mistake, spared, meet);
    return outcome.fault.find("which is cached under its other name") != std::string::npos;
  } catch (const ModelError&) {
    return true;
  }
}

/// Whether tenants meet in a structure whose compare the mistake spoils.
bool concerned(const GpuConfig& config, Mistake mistake) {
  if (config.translation == TranslateAt::kNowhere) return false;
  if (mistake == Mistake::kDropTenantInWalkCache)
    return !config.mmu.per_tenant && config.mmu.walk_cache.kind != WalkCacheConfig::Kind::kNone;
  // In turns they meet in each SM's own TLB: a flush of one of them does not find what has lost its name.
  return takes_turns(config) || (config.l2_tlb.entries > 0 && !config.l2_tlb.per_tenant) ||
         (config.mmu.tlb1.entries > 0 && !config.mmu.per_tenant);
}

TEST(ProtectionMistakes, ACompareThatDropsTheTenantIsFoundWhereverTenantsMeet) {
  Rng rng(3, "protection.mistakes");
  u32 found = 0;
  for (const std::string& design : all_designs()) {
    for (const Mistake mistake : {Mistake::kDropTenantCompare, Mistake::kDropTenantInWalkCache}) {
      const std::optional<GpuConfig> config = machine(rng, {design}, 4096);
      if (!config) {
        ADD_FAILURE() << design << " fits no machine";
        continue;
      }
      SCOPED_TRACE(fmt::format("{}, mistake {}", told(*config, design), static_cast<u32>(mistake)));
      const bool expected = concerned(*config, mistake);
      EXPECT_EQ(accused(*config, rng, mistake, static_cast<u32>(rng.below(20))), expected);
      found += expected;
    }
  }
  EXPECT_GE(found, all_designs().size());
}

/// A name of a line is a number in an address space. Tenants meet in the L2 always, and in an L1 where both run on its SM: in
/// turns it is emptied before the other one goes on.
TEST(ProtectionMistakes, AVirtualCacheThatDropsTheAddressSpaceIsFound) {
  Rng rng(5, "protection.names");
  const auto found = [&](Mistake mistake, const char* design, u32 page, bool turns, Meet meet = Meet::kAsConfigured) {
    const GpuConfig config = machine_at({"vc_16cu", turns}, rng, {design}, page, {"fbt.large_pages=counter"});
    return accused(config, rng, mistake, static_cast<u32>(rng.below(20)), meet);
  };
  constexpr Mistake kInL1 = Mistake::kDropTenantInL1, kInL2 = Mistake::kDropTenantInL2;
  for (const u32 page : kPageSizes) {
    SCOPED_TRACE(fmt::format("pages of {}", page));
    for (const bool turns : {false, true}) {
      SCOPED_TRACE(turns ? "in time" : "in space");
      for (const char* const design : {"vc_opt", "vc_no_opt"}) {
        EXPECT_TRUE(found(kInL2, design, page, turns)) << design;
        EXPECT_FALSE(found(kInL1, design, page, turns)) << design;
      }
      EXPECT_FALSE(found(kInL2, "l1_vc_32", page, turns)) << "its L2 is physical";
    }
    for (const char* const design : {"vc_opt", "vc_no_opt", "l1_vc_32", "l1_vc_128"})
      EXPECT_TRUE(found(kInL1, design, page, false, Meet::kInOneSm)) << design;
    for (const Mistake mistake : {kInL1, kInL2})
      EXPECT_FALSE(found(mistake, "baseline_16k", page, false, Meet::kInOneSm)) << "its caches are physical";
  }
}

}  // namespace
}  // namespace terrace

#endif
