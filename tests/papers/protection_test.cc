// A hostile tenant reads nothing of another's memory, whatever the design: it sweeps all of its own addresses, which
// are also the victim's, again and again, and ends with a look at an address that is not its own. What it reads is
// compared with its own data word by word; in dev builds the observer of line versions also sees every physical line it
// is answered with. Designs are those in the folder, so that new ones are tested by themselves; pages have every size.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "engine/rng.h"
#include "papers/designs.h"
#include "timing/ptx_tenants.h"

namespace terrace {
namespace {

constexpr u32 kMark = 0x5ec2e700;  // in every word of the victim
constexpr u32 kWordsPerPage = 8;   // that are looked at

/// Every thread looks at its share of the words, `rounds` times, and counts those that are not `mine`; then at `bad`, if
/// that is an address.
std::string sweep(const std::string& on_each) {
  return R"(.version 7.8
.target sm_70
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 out, .param .u64 step, .param .u64 count, .param .u64 mine,
                  .param .u64 rounds, .param .u64 bad) {
  .reg .b64 %rd<12>; .reg .b32 %r<12>; .reg .pred %p<4>;
  ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [out]; ld.param.u64 %rd3, [step]; ld.param.u64 %rd4, [count];
  ld.param.u32 %r1, [mine]; ld.param.u64 %rd5, [rounds]; ld.param.u64 %rd6, [bad];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r2, %r3, %r4;
  mov.u32 %r6, %nctaid.x; mul.lo.u32 %r6, %r6, %r3; cvt.u64.u32 %rd8, %r6; mov.u32 %r7, 0;
ROUND:
  cvt.u64.u32 %rd7, %r5;
WORD:
  setp.ge.u64 %p1, %rd7, %rd4; @%p1 bra NEXT;
  mad.lo.u64 %rd9, %rd7, %rd3, %rd1; ld.global.u32 %r8, [%rd9];
  setp.ne.u32 %p2, %r8, %r1; @%p2 add.u32 %r7, %r7, 1;
  )" + on_each +
         R"(
  add.u64 %rd7, %rd7, %rd8; bra.uni WORD;
NEXT:
  sub.u64 %rd5, %rd5, 1; setp.ne.u64 %p3, %rd5, 0; @%p3 bra ROUND;
  setp.ne.u64 %p3, %rd6, 0; @%p3 ld.global.u32 %r8, [%rd6];
  mul.wide.u32 %rd10, %r5, 4; add.u64 %rd10, %rd2, %rd10; st.global.u32 [%rd10], %r7;
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

/// The machine with these designs; nothing if they do not fit it or each other.
std::optional<GpuConfig> machine(Rng& rng, const std::vector<std::string>& designs, u32 page_bytes) {
  static const char* const kMachines[] = {"dws_30sm", "simt_8cu", "mask_maxwell30"};
  try {
    return machine_with(
        kMachines[rng.below(3)], designs,
        {"sm.count=4", fmt::format("pages.bytes={}", page_bytes), fmt::format("run.seed={}", rng.below(1000))});
  } catch (const InputError&) {
    return std::nullopt;
  }
}

struct Outcome {
  u64 strangers = 0;       // words that the hostile tenant read and that are not its own
  u64 spoilt = 0;          // words of the victim that were not as it left them
  bool completed = false;  // the victim
  std::string fault;       // of the hostile tenant
  u64 bad = 0;             // what it tried to read
};

Outcome fight(const GpuConfig& config, Rng& rng, Mistake mistake = Mistake::kNone, u32 spared = 0) {
  const u64 page = config.pages.bytes, pages = page > 65536 ? 12 : 48, words = pages * page / 4;
  // What belongs to the victim alone, to nobody, or (as a virtual address) to the machine.
  const u64 bad[] = {GuestMemory::kBase + pages * page + page + 4 * rng.below(words), 4 + 4 * rng.below(u64{1} << 29),
                     (u64{1} << 40) + 4 * rng.below(u64{1} << 40)};
  const u64 last = bad[rng.below(3)];
  const auto spec = [&](u32 mine, const std::string& on_each) {
    return PtxProgramSpec{.ptx = sweep(on_each),
                          .buffers = {{"data", words, mine}, {"out", 128, ~u32{0}}},
                          .numbers = {{page / kWordsPerPage, pages * kWordsPerPage, mine, 3, 0}},
                          .blocks = 2,
                          .threads = 64};
  };
  PtxTenant victim(config, "victim.ptx", spec(kMark, "st.global.u32 [%rd9], %r1;"));
  victim.memory.allocate("more", pages * page);
  PtxProgramSpec sweeping = spec(0, "");
  sweeping.numbers.push_back({page / kWordsPerPage, 0, 0, 1, last});
  PtxTenant hostile(config, "hostile.ptx", sweeping);
  Gpu gpu(config, {{"victim", &victim.program, &victim.memory, &victim.machine, {0, 1}},
                   {"hostile", &hostile.program, &hostile.memory, &hostile.machine, {2, 3}}});
  gpu.plant(mistake, spared);
  gpu.run({.relaunch = false});
  if (gpu.quiet()) gpu.stats().check_identities();  // the fault may be what ended the run
  Outcome outcome{.fault = gpu.progress(TenantId(1)).fault, .bad = last};
  outcome.completed = gpu.progress(TenantId(0)).completed_runs == 1;
  // A thread that did not come so far has left ~0, which is not zero either.
  for (const u32 count : hostile.words(1)) outcome.strangers += count;
  for (const u32 count : victim.words(1)) outcome.spoilt += count;
  for (const u32 word : victim.words(0)) outcome.spoilt += word != kMark;
  return outcome;
}

void expect_protected(const GpuConfig& config, Rng& rng) {
  const Outcome outcome = fight(config, rng);
  EXPECT_EQ(outcome.strangers, 0u);
  EXPECT_EQ(outcome.spoilt, 0u);
  EXPECT_TRUE(outcome.completed);
  const std::string told = fmt::format("reads 4 bytes at {:#x}, outside any allocation", outcome.bad);
  EXPECT_NE(outcome.fault.find(told), std::string::npos) << outcome.fault;
}

constexpr u32 kPageSizes[] = {4096, 65536, 2 << 20};

TEST(Protection, HoldsUnderEveryDesignAndPageSize) {
  Rng rng(1, "protection.designs");
  u32 fitting = 0;
  const std::vector<std::string> designs = all_designs();
  for (const std::string& design : designs) {
    for (const u32 page : kPageSizes) {
      const std::optional<GpuConfig> config = machine(rng, {design}, page);
      if (!config) continue;
      SCOPED_TRACE(fmt::format("{} on {} with pages of {}", design, config->name, page));
      ++fitting;
      expect_protected(*config, rng);
    }
  }
  // Some may belong to one machine only; most go with any.
  EXPECT_GE(fitting, designs.size() * 2);
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
    SCOPED_TRACE(fmt::format("{} and {} on {} with pages of {}", one, other, config->name, page));
    ++fitting;
    expect_protected(*config, rng);
  }
  EXPECT_EQ(fitting, 16u) << "designs that combine";
}

#ifdef TERRACE_DCHECK  // only dev builds can err

bool accused(const GpuConfig& config, Rng& rng, Mistake mistake, u32 spared) {
  try {
    fight(config, rng, mistake, spared);
  } catch (const ModelError&) {
    return true;
  }
  return false;
}

/// Whether tenants meet in a structure whose compare the mistake spoils.
bool concerned(const GpuConfig& config, Mistake mistake) {
  if (config.translation == TranslateAt::kNowhere) return false;
  if (mistake == Mistake::kDropTenantInWalkCache)
    return !config.mmu.per_tenant && config.mmu.walk_cache.kind != WalkCacheConfig::Kind::kNone;
  return (config.l2_tlb.entries > 0 && !config.l2_tlb.per_tenant) ||
         (config.mmu.tlb1.entries > 0 && !config.mmu.per_tenant);
}

TEST(ProtectionMistakes, ACompareThatDropsTheTenantIsFoundWhereverTenantsMeet) {
  Rng rng(3, "protection.mistakes");
  u32 found = 0;
  for (const std::string& design : all_designs()) {
    for (const Mistake mistake : {Mistake::kDropTenantCompare, Mistake::kDropTenantInWalkCache}) {
      const std::optional<GpuConfig> config = machine(rng, {design}, 4096);
      if (!config) continue;
      SCOPED_TRACE(fmt::format("{} on {}, mistake {}", design, config->name, static_cast<u32>(mistake)));
      const bool expected = concerned(*config, mistake);
      EXPECT_EQ(accused(*config, rng, mistake, static_cast<u32>(rng.below(20))), expected);
      found += expected;
    }
  }
  EXPECT_GE(found, all_designs().size());
}

#endif

}  // namespace
}  // namespace terrace
