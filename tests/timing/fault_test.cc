// What a tenant may not do ends that tenant: a page that is not mapped, a write to a read-only page, another tenant's
// page. The fault is recorded with kernel, instruction and address, and nobody else can tell it from a tenant that ends
// there by itself.
//
// "Ends there by itself" is a second run in which the same program executes the same instructions up to the cycle of
// the fault; the instruction that would fault ends its warp instead, and so does every other warp's first instruction
// after that cycle. Everything that is counted for the other tenant, or on its SMs, must be the same.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <sstream>

#include "support/forwarding_stream.h"
#include "support/one_sm_for_both.h"
#include "timing/ptx_tenants.h"

namespace terrace {
namespace {

/// Each thread reads and writes along a buffer for some rounds, blocks with higher numbers for longer, then does
/// `last`, with the address `bad` in %rd2.
std::string kernel_that_ends_with(const std::string& last) {
  return R"(.version 7.8
.target sm_70
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 fixed, .param .u64 bad, .param .u64 rounds) {
  .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [bad]; ld.param.u64 %rd5, [rounds];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;
  mul.wide.u32 %rd3, %r4, 4; add.s64 %rd4, %rd1, %rd3; cvt.u64.u32 %rd6, %r1; add.s64 %rd5, %rd5, %rd6;
LOOP:
  ld.global.u32 %r6, [%rd4]; add.u32 %r6, %r6, 1; st.global.u32 [%rd4], %r6; add.s64 %rd4, %rd4, 4224;
  sub.s64 %rd5, %rd5, 1; setp.ne.s64 %p1, %rd5, 0; @%p1 bra LOOP;
  )" + last +
         R"(
  ret;
}
)";
}

constexpr u64 kVictimWords = 1 << 17, kCulpritWords = 1 << 16, kFixedWords = 1024;

/// A program whose accesses are its machine's, and which remembers when it faulted; or ends when it is told to.
class WatchedStream final : public ForwardingStream {
 public:
  using ForwardingStream::ForwardingStream;
  Cycle faulted_at = kNever;
  Cycle ends_at = kNever;
  u32 faults = 0;

  void execute(WarpRef warp, Cycle now, StoreLog& stores, Effect& effect) override {
    if (now <= ends_at) ForwardingStream::execute(warp, now, stores, effect);
    if (effect.status == WarpStatus::kFaulted) {
      faulted_at = std::min(faulted_at, now);
      ++faults;
    }
    if (now > ends_at || (now == ends_at && effect.status == WarpStatus::kFaulted)) {
      effect.status = WarpStatus::kDone;
      effect.active = effect.released_warps = effect.shared_lanes = 0;
      effect.action = MemoryAction::kLoad;
      effect.space = MemorySpace::kParameter;  // touches no memory
    }
  }
};

struct Outcome {
  std::string fault;
  Cycle faulted_at = kNever;
  std::string victim;  // everything that is counted for it
  u64 victim_memory = 0;
  u64 victim_runs = 0;
};

GpuConfig shared_gpu() {
  GpuConfig config;
  config.sm.count = 4;
  config.l2.bytes = 128 * 1024;
  config.dram.channels = 2;
  config.l2.slices = 2;
  config.l2_tlb.entries = 16;
  config.l2_tlb.ways = 0;
  config.mmu.walkers = 2;
  return config;
}

/// The victim has SMs 0 and 1, the culprit 2 and 3.
Outcome run(const std::string& last, u64 bad, Cycle ends_at = kNever) {
  const GpuConfig config = shared_gpu();
  const auto spec = [&](const std::string& text, u64 words, u64 rounds) {
    return PtxProgramSpec{.ptx = kernel_that_ends_with(text),
                          .buffers = {{"a", words}, {"fixed", kFixedWords, 7, Permission::kReadOnly}},
                          .numbers = {{bad, rounds}},
                          .blocks = 8,
                          .threads = 64};
  };
  PtxTenant victim(config, "victim.ptx", spec("", kVictimWords, 80));
  PtxTenant culprit(config, "culprit.ptx", spec(last, kCulpritWords, 16));
  WatchedStream watched(culprit.machine);
  watched.ends_at = ends_at;
  Gpu gpu(config, {{"victim", &victim.program, &victim.memory, &victim.machine, {0, 1}},
                   {"culprit", &culprit.program, &culprit.memory, &watched, {2, 3}}});
  gpu.run({.relaunch = false});
  gpu.stats().check_identities(!gpu.quiet());
  Outcome outcome{gpu.progress(TenantId(1)).fault,
                  watched.faulted_at,
                  {},
                  victim.memory.digest(),
                  gpu.progress(TenantId(0)).completed_runs};
  std::istringstream lines(gpu.stats().csv());
  for (std::string line; std::getline(lines, line);) {
    const bool own = line.find("{tenant=0}") != line.npos || line.starts_with("gpu.sm.0.") ||
                     line.starts_with("gpu.sm.1.") || line.starts_with("gpu.noc.to_sm.0.") ||
                     line.starts_with("gpu.noc.to_sm.1.");
    if (own) outcome.victim += line + '\n';
  }
  outcome.victim += fmt::format("completed in {}\n", gpu.progress(TenantId(0)).last_completion);
  for (const KernelRecord& kernel : gpu.kernels()) {
    if (kernel.tenant == TenantId(0)) outcome.victim += fmt::format("ran from {} to {}\n", kernel.began, kernel.ended);
  }
  return outcome;
}

struct Case {
  const char* name;
  const char* instruction;
  u64 bad;
  const char* told;
};
constexpr u64 kBase = GuestMemory::kBase;
const Case kCases[] = {
    {"AnUnmappedPage", "ld.global.u32 %r6, [%rd2];", 0x12340000,
     "reads 4 bytes at 0x12340000, outside any allocation; the nearest is \"a\""},
    {"AWriteToAReadOnlyPage", "st.global.u32 [%rd2], %r6;", kBase + kCulpritWords * 4 + 64,
     "writes 4 bytes at 0x100040040, which may only be read: it lies in \"fixed\""},
    // The victim's buffer is larger: it has something at this address, the culprit has not.
    {"AnotherTenantsPage", "ld.global.u32 %r6, [%rd2];", kBase + kCulpritWords * 4 + 0x10000,
     "reads 4 bytes at 0x100050000, outside any allocation; the nearest is \"fixed\""},
};

class Faults : public testing::TestWithParam<Case> {};

TEST_P(Faults, AreRecordedAndOthersCannotTellThemFromATenantThatEndsThere) {
  const Outcome faulted = run(GetParam().instruction, GetParam().bad);
  for (const char* part : {"kernel k, culprit.ptx:12, \"", GetParam().told}) {
    EXPECT_NE(faulted.fault.find(part), std::string::npos) << faulted.fault;
  }
  ASSERT_NE(faulted.faulted_at, kNever);
  EXPECT_EQ(faulted.victim_runs, 1u);

  const Outcome ended = run(GetParam().instruction, GetParam().bad, faulted.faulted_at);
  EXPECT_EQ(ended.fault, "");
  EXPECT_EQ(ended.faulted_at, faulted.faulted_at) << "both did the same until then";
  EXPECT_EQ(ended.victim, faulted.victim);
  EXPECT_EQ(ended.victim_memory, faulted.victim_memory);

  // The comparison can fail: a tenant that ends earlier leaves more of the machine to the other.
  EXPECT_NE(run(GetParam().instruction, GetParam().bad, faulted.faulted_at - 2000).victim, faulted.victim);
}

INSTANTIATE_TEST_SUITE_P(Of, Faults, testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

/// Threads touch what is not theirs at once, each block at an address of its own.
PtxProgramSpec all_fault(u32 blocks, const std::string& before = "") {
  return {.ptx = R"(.version 7.8
.target sm_70
.address_size 64
.visible .entry k(.param .u64 a) {
  .reg .b64 %rd<4>; .reg .b32 %r<3>;
  mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd1, %r1, 4096;
  )" + before + R"(
  ld.global.u32 %r2, [%rd1];
  ret;
}
)",
          .buffers = {{"a", 16}},
          .numbers = {{}},
          .blocks = blocks};
}

TEST(Faults, InOneCycleAreToldAlikeWhoeverTicksFirst) {
  std::set<std::string> told;
  for (u64 seed = 0; seed < 12; ++seed) {
    const GpuConfig config = shared_gpu();
    PtxTenant first(config, "first.ptx", all_fault(2)), second(config, "second.ptx", all_fault(2));
    WatchedStream watched_first(first.machine), watched_second(second.machine);
    Gpu gpu(config,
            {{"first", &first.program, &first.memory, &watched_first, {2, 0}},
             {"second", &second.program, &second.memory, &watched_second, {1, 3}}},
            {.permute_seed = seed});
    gpu.run({});
    EXPECT_EQ(watched_first.faults, 2u) << "on both of its SMs";
    EXPECT_EQ(watched_second.faults, 2u);
    EXPECT_EQ(watched_first.faulted_at, watched_second.faulted_at) << "all in one cycle";
    told.insert(gpu.progress(TenantId(0)).fault + " / " + gpu.progress(TenantId(1)).fault);
  }
  ASSERT_EQ(told.size(), 1u) << testing::PrintToString(told);
  // The dispatcher sent block 0 of the first one to SM 2 and block 1 to SM 0, which comes first.
  EXPECT_NE(told.begin()->find("of block 1 reads 4 bytes at 0x1000,"), std::string::npos) << *told.begin();
  EXPECT_NE(told.begin()->find("of block 0 reads 4 bytes at 0x0,"), std::string::npos) << *told.begin();
}

TEST(Faults, OfTwoTenantsOnOneSmInOneCycleAreBothTold) {
  u32 in_one_cycle = 0;
  for (Cycle later = 0; later < 12; ++later) {
    GpuConfig config = shared_gpu();
    config.sm.schedulers = 2;
    // Blocks begin one by one, so the one that begins first has an instruction more.
    PtxTenant first(config, "first.ptx", all_fault(1, "add.s64 %rd1, %rd1, 0;")),
        second(config, "second.ptx", all_fault(1));
    WatchedStream watched_first(first.machine), watched_second(second.machine);
    Gpu gpu(config,
            {{"first", &first.program, &first.memory, &watched_first, {0, 1}, later},
             {"second", &second.program, &second.memory, &watched_second, {2, 3}, 11}},
            {}, std::make_unique<OneSmForBoth>());
    gpu.run({});
    for (const u32 tenant : {0u, 1u})
      EXPECT_NE(gpu.progress(TenantId(tenant)).fault.find("reads 4 bytes at 0x0,"), std::string::npos)
          << "tenant " << tenant << ", the first one " << later << " cycles later";
    in_one_cycle += watched_first.faulted_at == watched_second.faulted_at;
  }
  EXPECT_GE(in_one_cycle, 1u) << "the case was met";
}

TEST(Faults, AHostMayWriteWhatKernelsMayOnlyRead) {
  GuestMemory memory(PageSize::k4K);
  const Buffer<u32> fixed(memory, "fixed", 16, Permission::kReadOnly);
  fixed.set(memory, 3, 42);
  EXPECT_EQ(fixed.get(memory, 3), 42u);
}

}  // namespace
}  // namespace terrace
