// Lanes, warps and blocks that wait for each other go on while time passes, whatever the order in which units tick, and a
// tenant that waits for what never comes is ended.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "timing/ptx_tenants.h"

namespace terrace {
namespace {

/// %rd1 is the address of the lock, %rd2 of the count, %r1 the thread's number in its block.
std::string kernel(const std::string& body) {
  return R"(.version 7.8
.target sm_70
.address_size 64
.visible .entry k(.param .u64 lock, .param .u64 count) {
  .reg .b64 %rd<9>; .reg .b32 %r<20>; .reg .pred %p<4>; .shared .align 4 .b32 flag;
  ld.param.u64 %rd1, [lock]; ld.param.u64 %rd2, [count]; mov.u32 %r1, %tid.x;
)" + body +
         "\n  ret;\n}\n";
}

constexpr const char* kLocked = R"(
  TAKE: atom.global.cas.b32 %r5, [%rd1], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra TAKE; membar.gl;
  ld.volatile.global.u32 %r6, [%rd2]; add.u32 %r7, %r6, 1; st.volatile.global.u32 [%rd2], %r7;
  membar.gl; atom.global.exch.b32 %r8, [%rd1], 0;)";

// What comes behind the barrier adds 1000 for each block that saw all others.
constexpr const char* kGridBarrier = R"(
  setp.ne.u32 %p1, %r1, 0; @%p1 bra END;
  atom.global.add.u32 %r5, [%rd2], 1; mov.u32 %r6, %nctaid.x;
  WAIT: ld.volatile.global.u32 %r7, [%rd2]; setp.lt.u32 %p2, %r7, %r6; @%p2 bra WAIT;
  red.global.add.u32 [%rd2], 1000;
  END:)";

// All warps but the last poll shared memory, which answers so soon that they could take every turn to issue.
constexpr const char* kYoungestSets = R"(
  setp.eq.u32 %p1, %r1, 1023; @%p1 bra SET;
  setp.ge.u32 %p3, %r1, 992; @%p3 bra END;
  WAIT: ld.volatile.shared.u32 %r5, [flag]; setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT;
  red.global.add.u32 [%rd2], 1; bra END;
  SET: mov.u32 %r6, 1; st.volatile.shared.u32 [flag], %r6;
  END:)";

// The last warp of the last block sets what all others wait for, each with a fence in every pass.
constexpr const char* kLastSets = R"(
  mov.u32 %r7, %ctaid.x; setp.ne.u32 %p3, %r7, 31; @%p3 bra WAIT;
  setp.lt.u32 %p1, %r1, 224; @%p1 bra WAIT;
  mov.u32 %r6, 1; st.volatile.global.u32 [%rd1], %r6; bra END;
  WAIT: membar.gl; add.u32 %r6, %r6, 1; ld.volatile.global.u32 %r5, [%rd1]; setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT;
  red.global.add.u32 [%rd2], 1;
  END:)";

constexpr const char* kSleeps = R"(
  WAIT: nanosleep.u32 100; ld.volatile.global.u32 %r5, [%rd1]; setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT;)";

/// Cycles after which a run is given up.
constexpr Cycle kLong = 2'000'000;

struct Outcome {
  u32 count = 0;
  std::string fault;
  Cycle ended = 0;
  std::string stats;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

GpuConfig two_sms(const std::string& warp_scheduler = "gto") {
  GpuConfig config;
  config.sm.count = 2;
  config.l2.slices = 2;
  config.dram.channels = 2;
  config.sm.warp_scheduler.use = warp_scheduler;
  return config;
}

Outcome run(const GpuConfig& config, const std::string& body, u32 blocks, u32 threads,
            Scheduler::Options options = {}) {
  PtxTenant tenant(config, "k.ptx",
                   {.ptx = kernel(body),
                    .buffers = {{"lock", 1}, {"count", 1}},
                    .numbers = {{}},
                    .blocks = blocks,
                    .threads = threads});
  std::vector<u32> sms(config.sm.count);
  std::iota(sms.begin(), sms.end(), 0);
  Gpu gpu(config, {{"tenant", &tenant.program, &tenant.memory, &tenant.machine, sms}}, options);
  gpu.run({.cycles = kLong, .relaunch = false});
  return {tenant.words(1)[0], gpu.progress(TenantId(0)).fault, gpu.now(), gpu.stats().csv()};
}

/// The same without sleeping, with units in another order, and on two threads.
Outcome run_by_the_laws(const GpuConfig& config, const std::string& body, u32 blocks, u32 threads) {
  const Outcome straight = run(config, body, blocks, threads);
  EXPECT_TRUE(straight == run(config, body, blocks, threads, {.sleep = false, .permute_seed = 1}));
  EXPECT_TRUE(straight == run(config, body, blocks, threads, {.permute_seed = 2, .threads = 2, .share_from = 1}));
  return straight;
}

TEST(GpuProgress, LanesOfManyWarpsTakeANaiveLock) {
  const Outcome outcome = run_by_the_laws(two_sms(), kLocked, 4, 64);
  EXPECT_EQ(outcome.fault, "");
  EXPECT_EQ(outcome.count, 256u);
}

TEST(GpuProgress, BlocksMeetAtABarrierOfTheGridMadeOfAtomics) {
  const Outcome outcome = run_by_the_laws(two_sms(), kGridBarrier, 12, 64);
  EXPECT_EQ(outcome.fault, "");
  EXPECT_EQ(outcome.count, 12u + 12'000);
}

TEST(GpuProgress, WarpsThatPollDoNotKeepTheYoungestFromIssuing) {
  for (const char* scheduler : {"gto", "lrr", "tenant_gto"}) {
    const Outcome outcome = run(two_sms(scheduler), kYoungestSets, 1, 1024);
    EXPECT_EQ(outcome.fault, "") << scheduler;
    EXPECT_EQ(outcome.count, 992u) << scheduler;
  }
}

// Many warps for few places where loads wait for a translation: who issues while it can, takes these again and again.
TEST(GpuProgress, WarpsThatPollWithAFenceDoNotKeepTheQueueOfMemoryFromOthers) {
  for (const char* scheduler : {"gto", "lrr", "tenant_gto"}) {
    GpuConfig config = two_sms(scheduler);
    config.sm.count = 8;
    config.l1_tlb.miss_merges = 4;
    const Outcome outcome = run(config, kLastSets, 32, 256);
    EXPECT_EQ(outcome.fault, "") << scheduler;
    EXPECT_EQ(outcome.count, 32u * 256 - 32) << scheduler;
    EXPECT_LT(outcome.ended, kLong) << scheduler;
  }
}

TEST(GpuProgress, WarpsThatSleepStarveNoOthers) {
  // Nobody sets it. That is told only if all warps get round.
  for (const char* scheduler : {"gto", "lrr", "tenant_gto"}) {
    GpuConfig config = two_sms(scheduler);
    config.sm.count = 8;
    config.l1_tlb.miss_merges = 4;
    config.run.spin_cycles = 50'000;
    const Outcome outcome = run(config, kSleeps, 32, 256);
    EXPECT_NE(outcome.fault.find("and so do all 256 warps that run"), outcome.fault.npos)
        << scheduler << ": " << outcome.fault;
    EXPECT_LE(outcome.ended, 150'000u) << scheduler;
  }
}

TEST(GpuProgress, BlocksThatDoNotFitTogetherAreToldWithinTwoStretchesOfPatience) {
  GpuConfig config = two_sms();
  config.run.spin_cycles = 20'000;
  const Outcome outcome = run_by_the_laws(config, kGridBarrier, 12, 1024);
  EXPECT_TRUE(outcome.fault.starts_with("kernel k never ends: warp 0 of block 0 goes round a loop, k.ptx:10, "))
      << outcome.fault;
  EXPECT_NE(outcome.fault.find(" of the 12 blocks of the grid have begun and not ended"), outcome.fault.npos)
      << outcome.fault;
  EXPECT_LE(outcome.ended, 60'000u);
}

// They store what is there already, until what nobody sets is set; the second meet at a barrier, too.
constexpr const char* kRepeats = R"(
  WAIT: mov.u32 %r6, 7; st.volatile.shared.u32 [flag], %r6; ld.volatile.global.u32 %r5, [%rd1];
  setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT;)";
constexpr const char* kRepeatsTogether = R"(
  WAIT: st.global.u32 [%rd2], 7; bar.sync 0; ld.volatile.global.u32 %r5, [%rd1];
  setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT;)";

// So many instructions that the oldest warps could take every turn to issue.
constexpr const char* kRepeatsBusily = R"(
  mov.u32 %r5, 4; mov.u32 %r6, 5;
  WAIT: add.u32 %r7, %r5, %r6; shr.u32 %r8, %r7, 1; add.u32 %r9, %r1, 1; add.u32 %r10, %r1, 2; add.u32 %r11, %r1, 3;
  mov.u32 %r5, %r8; setp.lt.u32 %p2, %r5, %r6; @%p2 bra WAIT;
  st.global.u32 [%rd2], %r9; st.global.u32 [%rd2], %r10; st.global.u32 [%rd2], %r11;)";

TEST(GpuProgress, WarpsThatComeBackToTheSameStateAreToldWithinSomeStretchesOfPatience) {
  GpuConfig config = two_sms();
  config.run.spin_cycles = 20'000;
  for (const char* body : {kRepeats, kRepeatsTogether, kRepeatsBusily}) {
    const Outcome outcome = run_by_the_laws(config, body, 4, 256);
    EXPECT_TRUE(outcome.fault.starts_with("kernel k never ends: warp 0 of block 0 goes round a loop, k.ptx:"))
        << outcome.fault;
    EXPECT_NE(outcome.fault.find("comes back to the same state"), outcome.fault.npos) << outcome.fault;
    EXPECT_LE(outcome.ended, 100'000u);
  }
}

// All warps but one come back to the same state, in loops that take every turn to issue, until the last one has stored
// twelve times; it counts for long in between.
constexpr const char* kEndsAfterAll = R"(
  mov.u32 %r12, 0; mov.u32 %r13, 0; mov.u32 %r6, 7;
  mov.u32 %r7, %ctaid.x; setp.ne.u32 %p3, %r7, 0; @%p3 bra WAIT;
  setp.lt.u32 %p1, %r1, 992; @%p1 bra WAIT;
  COUNT: add.u32 %r12, %r12, 1; setp.ne.u32 %p1, %r12, 2000; @%p1 bra COUNT;
  mov.u32 %r12, 0; add.u32 %r13, %r13, 1; st.volatile.global.u32 [%rd1], %r13;
  setp.ne.u32 %p1, %r13, 12; @%p1 bra COUNT; bra END;
  WAIT: st.volatile.shared.u32 [flag], %r6; add.u32 %r8, %r1, 1; add.u32 %r9, %r1, 2; add.u32 %r10, %r1, 3;
  add.u32 %r8, %r1, 4; add.u32 %r9, %r1, 5; add.u32 %r10, %r1, 6; add.u32 %r8, %r1, 7; add.u32 %r9, %r1, 8;
  ld.volatile.global.u32 %r5, [%rd1]; setp.lt.u32 %p2, %r5, 12; @%p2 bra WAIT;
  red.global.add.u32 [%rd2], 1;
  END:)";

TEST(GpuProgress, WarpsThatWereThoughtToGoRoundForeverGoOnAlikeInAnyOrder) {
  for (const char* scheduler : {"gto", "lrr"}) {
    GpuConfig config = two_sms(scheduler);
    config.run.spin_cycles = 1'000;
    const Outcome outcome = run_by_the_laws(config, kEndsAfterAll, 4, 1024);
    EXPECT_EQ(outcome.fault, "") << scheduler;
    EXPECT_EQ(outcome.count, 4u * 1024 - 32) << scheduler;
  }
}

// One thread counts in memory; its registers are the same after each pass.
constexpr const char* kCountsInMemory = R"(
  setp.ne.u32 %p1, %r1, 0; @%p1 bra REST;
  WAIT: ld.global.u32 %r5, [%rd2]; add.u32 %r5, %r5, 1; st.global.u32 [%rd2], %r5;
  setp.ne.u32 %p2, %r5, 100; @%p2 bra WAIT;
  REST: bar.sync 0;)";

TEST(GpuProgress, ALoopThatChangesMemorySeldomIsNotTakenForAnEndlessOne) {
  GpuConfig config = two_sms();
  config.run.spin_cycles = 1'000;
  const Outcome outcome = run_by_the_laws(config, kCountsInMemory, 1, 64);
  EXPECT_EQ(outcome.fault, "");
  EXPECT_EQ(outcome.count, 100u);
  EXPECT_GE(outcome.ended, 4'000u) << "too short to be taken for one";
}

TEST(GpuProgress, AWarpThatHasJumpedBackTooOftenEndsItsTenant) {
  const GpuConfig config = two_sms();
  PtxTenant tenant(
      config, "k.ptx",
      {.ptx = kernel("L: add.u32 %r2, %r2, 1; st.global.u32 [%rd2], %r2; setp.ne.u32 %p1, %r2, 0; @%p1 bra L;"),
       .buffers = {{"lock", 1}, {"count", 1}},
       .numbers = {{}}});
  ptx::Machine limited(
      ptx::parse_module(
          "k.ptx", kernel("L: add.u32 %r2, %r2, 1; st.global.u32 [%rd2], %r2; setp.ne.u32 %p1, %r2, 0; @%p1 bra L;")),
      tenant.memory, {.loop_limit = 1000});
  Gpu gpu(config, {{"tenant", &tenant.program, &tenant.memory, &limited, {0, 1}}});
  gpu.run({.relaunch = false});
  EXPECT_NE(gpu.progress(TenantId(0)).fault.find("its warp has taken 1000 backward branches"), std::string::npos)
      << gpu.progress(TenantId(0)).fault;
}

}  // namespace
}  // namespace terrace
