// Lanes of one warp, warps and blocks that wait for each other go on; loops that nothing can end are reported.
// SPDX-License-Identifier: MIT
#include <numeric>

#include "support/waiting_kernels.h"
#include "unit/ptx_harness.h"

namespace terrace::ptx {
namespace {

/// A kernel of words `lock`, `count` and `out`: %rd1 to %rd3 are their addresses, %rd4 that of the thread's word of
/// `out`, %r1 the thread's number in its block, %r4 that in the grid; the body leaves its result in %r10.
std::string locked(const std::string& body, const std::string& before = "") {
  std::string text = kernel_text({"u64 lock", "u64 count", "u64 out"}, R"(
    ld.param.u64 %rd1, [lock]; ld.param.u64 %rd2, [count]; ld.param.u64 %rd3, [out];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.s32 %r4, %r2, %r3, %r1;
    mul.wide.u32 %rd4, %r4, 4; add.s64 %rd4, %rd3, %rd4; mov.u32 %r10, 0;
    )" + body + R"(
  STORE: st.global.u32 [%rd4], %r10; ret;)");
  return text.insert(text.find(".visible .entry"), before);
}

/// while (atomicCAS(lock, 0, 1) != 0) {}
constexpr const char* kTake =
    "TAKE: atom.global.cas.b32 %r5, [%rd1], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra TAKE; membar.gl;\n";
/// %r6 = count++, not atomically
constexpr const char* kCount =
    "ld.volatile.global.u32 %r6, [%rd2]; add.u32 %r7, %r6, 1; st.volatile.global.u32 [%rd2], %r7;\n";
constexpr const char* kGive = "membar.gl; atom.global.exch.b32 %r8, [%rd1], 0;\n";

struct Outcome {
  u32 count;
  std::vector<u32> out;
  FunctionalCounts counts;
};

Outcome run_locked(const std::string& text, u32 threads, u32 width = 32, u32 blocks = 1, FunctionalConfig config = {}) {
  Harness harness(text, width);
  const auto lock = harness.buffer("lock", std::vector<u32>{0});
  const auto count = harness.buffer("count", std::vector<u32>{0, 0});
  const auto out = harness.buffer("out", std::vector<u32>(std::size_t{threads} * blocks, 0xdeadbeef));
  config.instruction_limit = 3'000'000;
  const FunctionalCounts counts = harness.run(harness.launch({blocks}, {threads}, lock, count, out), config);
  return {harness.read(count)[0], harness.read(out), counts};
}

std::vector<u32> sorted(std::vector<u32> values) {
  std::sort(values.begin(), values.end());
  return values;
}
std::vector<u32> up_to(u32 end) {
  std::vector<u32> values(end);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

class PtxProgress : public testing::TestWithParam<u32> {};
INSTANTIATE_TEST_SUITE_P(Widths, PtxProgress, testing::Values(1, 7, 32, 64), testing::PrintToStringParamName());

class PtxProgressOfHalves : public testing::TestWithParam<u32> {};
INSTANTIATE_TEST_SUITE_P(Widths, PtxProgressOfHalves, testing::Values(32, 64), testing::PrintToStringParamName());

TEST_P(PtxProgress, LanesOfAWarpTakeANaiveLockOneAfterTheOther) {
  const Outcome outcome =
      run_locked(locked(kTake + std::string(kCount) + "mov.u32 %r10, %r6;\n" + kGive), 60, GetParam());
  EXPECT_EQ(outcome.count, 60u);
  EXPECT_EQ(sorted(outcome.out), up_to(60));
}

TEST_P(PtxProgress, ABarrierBehindALockWaitsForAllLanes) {
  const Outcome outcome = run_locked(
      locked(kTake + std::string(kCount) + kGive + "bar.sync 0; ld.volatile.global.u32 %r10, [%rd2];"), 60, GetParam());
  EXPECT_EQ(outcome.out, std::vector<u32>(60, 60));
}

TEST_P(PtxProgressOfHalves, AShuffleBehindALockWaitsForTheLanesItNames) {
  const Outcome outcome = run_locked(
      locked(kTake + std::string(kCount) + kGive + "shfl.sync.bfly.b32 %r10, %r6, 1, 31, -1;"), 64, GetParam());
  // Neighbours have each other's place in the queue.
  const auto own = run_locked(locked(kTake + std::string(kCount) + kGive + "mov.u32 %r10, %r6;"), 64, GetParam()).out;
  for (u32 t = 0; t < 64; ++t) EXPECT_EQ(outcome.out[t], own[t ^ 1]) << t;
  EXPECT_EQ(sorted(outcome.out), up_to(64));
}

TEST_P(PtxProgressOfHalves, AWarpBarrierBehindALockGathersItsMembersAndNoOthers) {
  // The even lanes count and meet. Then the odd ones, which have waited for them at the flag, may go on.
  const Outcome outcome = run_locked(locked(R"(
    and.b32 %r20, %r1, 1; setp.eq.u32 %p2, %r20, 1; @%p2 bra ODD;
    )" + std::string(kTake) + kCount + kGive +
                                            R"(
    bar.warp.sync 0x55555555; ld.volatile.global.u32 %r10, [%rd2];
    st.volatile.global.u32 [%rd2+4], 1;
    bra STORE;
  ODD: ld.volatile.global.u32 %r21, [%rd2+4]; setp.eq.u32 %p3, %r21, 0; @%p3 bra ODD;
    mov.u32 %r10, 7;)"),
                                     1024, GetParam());
  for (u32 t = 0; t < 1024; ++t) {
    if (t % 2 == 1)
      EXPECT_EQ(outcome.out[t], 7u) << t;
    else
      EXPECT_GE(outcome.out[t], 16u) << t;
  }
  EXPECT_EQ(outcome.count, 512u);
}

constexpr const char* kLockedAdd = R"(
.func (.param .b64 r) locked_add(.param .b64 lock, .param .b64 count) {
  .reg .pred %p; .reg .b32 %x, %y; .reg .b64 %l, %c, %w, %v;
  ld.param.u64 %l, [lock]; ld.param.u64 %c, [count];
T: atom.global.cas.b32 %x, [%l], 0, 1; setp.ne.u32 %p, %x, 0; @%p bra T;
  ld.volatile.global.u32 %x, [%c]; add.u32 %y, %x, 1; st.volatile.global.u32 [%c], %y;
  atom.global.exch.b32 %y, [%l], 0;
  mul.wide.u32 %w, %x, 3; add.s64 %v, %w, 1; st.param.b64 [r], %v; ret;
}
.func (.param .b32 r) narrow(.param .b32 n) {
  .reg .b32 %a, %b, %c;
  ld.param.u32 %a, [n]; add.u32 %b, %a, 5; mul.lo.u32 %c, %b, %a; st.param.b32 [r], %c; ret;
}
)";

TEST_P(PtxProgress, ALockTakenInAFunctionReturnsToEachLanesCaller) {
  const Outcome outcome = run_locked(locked(R"(
    mov.u32 %r20, 0; mov.u32 %r11, 0;
  AGAIN:
    { .param .b64 a; st.param.b64 [a], %rd1; .param .b64 b; st.param.b64 [b], %rd2; .param .b64 c;
      call (c), locked_add, (a, b); ld.param.b64 %rd10, [c]; }
    cvt.u32.u64 %r12, %rd10; add.u32 %r11, %r11, %r12;
    { .param .b32 d; st.param.b32 [d], %r1; .param .b32 e; call (e), narrow, (d); ld.param.b32 %r13, [e]; }
    add.u32 %r11, %r11, %r13;
    add.u32 %r20, %r20, 1; setp.lt.u32 %p2, %r20, 3; @%p2 bra AGAIN;
    mov.u32 %r10, %r11;)",
                                            kLockedAdd),
                                     60, GetParam());
  EXPECT_EQ(outcome.count, 180u);
  // What lanes got is a permutation: its sum is known, whatever the order.
  u32 expected = 0;
  for (u32 n = 0; n < 180; ++n) expected += 3 * n + 1;
  for (u32 t = 0; t < 60; ++t) expected += 3 * t * (t + 5);
  EXPECT_EQ(std::accumulate(outcome.out.begin(), outcome.out.end(), 0u), expected);
}

TEST_P(PtxProgress, LanesThatSleepLongerAndLongerForALockGetIt) {
  const Outcome outcome = run_locked(locked(R"(
    mov.u32 %r20, 8; bra TRY;
  WAIT: nanosleep.u32 %r20; setp.gt.u32 %p2, %r20, 255; @%p2 bra TRY; shl.b32 %r20, %r20, 1;
  TRY: atom.global.cas.b32 %r5, [%rd1], 0, 1; setp.eq.u32 %p1, %r5, 1; @%p1 bra WAIT;
    )" + std::string(kCount) + "mov.u32 %r10, %r6;\n" +
                                            kGive),
                                     64, GetParam());
  EXPECT_EQ(sorted(outcome.out), up_to(64));
}

TEST_P(PtxProgress, LanesOfALoopThatDoesMoreThanPollGetTheLockInTheEnd) {
  // The count of the tries is part of an address, so each pass may differ from the one before.
  const Outcome outcome = run_locked(locked(R"(
    mov.u32 %r20, 0;
  TAKE: add.u32 %r20, %r20, 1; and.b32 %r21, %r20, 0; cvt.u64.u32 %rd10, %r21; add.s64 %rd11, %rd1, %rd10;
    atom.global.cas.b32 %r5, [%rd11], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra TAKE;
    )" + std::string(kCount) + "mov.u32 %r10, %r6;\n" +
                                            kGive),
                                     4, GetParam());
  EXPECT_EQ(sorted(outcome.out), up_to(4));
}

TEST_P(PtxProgress, ALaneThatWaitsForAnotherOfAnotherPathSeesItsFlag) {
  const Outcome outcome = run_locked(locked(R"(
    setp.eq.u32 %p1, %r1, 0; @%p1 bra WAIT;
    setp.ne.u32 %p2, %r1, 5; @%p2 bra STORE;
    st.volatile.global.u32 [%rd2], 77; mov.u32 %r10, 1; bra STORE;
  WAIT: ld.volatile.global.u32 %r10, [%rd2]; setp.eq.u32 %p3, %r10, 0; @%p3 bra WAIT;)"),
                                     8, GetParam());
  EXPECT_EQ(outcome.out, (std::vector<u32>{77, 0, 0, 0, 0, 1, 0, 0}));
}

TEST_P(PtxProgress, ALaneThatExitsLetsTheOthersGoOn) {
  // Lane 0 exits with the flag set; the others wait for it, and at the barrier for each other only.
  const Outcome outcome = run_locked(locked(R"(
    setp.ne.u32 %p1, %r1, 0; @%p1 bra WAIT;
    st.volatile.global.u32 [%rd2], 1; exit;
  WAIT: ld.volatile.global.u32 %r10, [%rd2]; setp.eq.u32 %p3, %r10, 0; @%p3 bra WAIT;
    bar.sync 0; add.u32 %r10, %r10, %r1;)"),
                                     40, GetParam());
  for (u32 t = 1; t < 40; ++t) EXPECT_EQ(outcome.out[t], 1 + t);
}

TEST(PtxProgress, KernelsForARealGpuGiveWhatTheyShould) {
  for (const WaitingKernel& kernel : waiting_kernels()) {
    Harness harness(kernel.ptx);
    const auto lock = harness.buffer("lock", std::vector<u32>{0});
    const auto count = harness.buffer("count", std::vector<u32>{0});
    const auto out = harness.buffer("out", std::vector<u32>(std::size_t{kernel.blocks} * kernel.threads, 0));
    harness.run(kernel.blocks, kernel.threads, lock, count, out);
    EXPECT_EQ(harness.read(count)[0], kernel.count) << kernel.name;
    const std::vector<u32> words = harness.read(out);
    for (u32 t = 0; t < words.size(); ++t) ASSERT_EQ(words[t], kernel.expected(t)) << kernel.name << ' ' << t;
  }
}

TEST(PtxProgress, ACallOfWhatIsNoFunctionIsAFault) {
  const std::string sentence =
      refusal([] { run_locked(locked("mov.u64 %rd10, 64; { .param .b32 x; call (x), %rd10; }"), 32); });
  EXPECT_EQ(
      sentence,
      "kernel k, test.ptx:15, \"call (x), %rd10\": lane 0 of warp 0 of block 0 calls what is at 0x40, which is no "
      "function of this module with these parameters; call through a pointer to one");
}

TEST(PtxProgress, LoopsOfDifferentLengthsDoNotPartAWarp) {
  // Lane t goes round t + 1 times: the warp as often as its last lane, and all lanes meet behind the loop.
  const Outcome outcome = run_locked(locked(R"(
    mov.u32 %r5, 0;
  LOOP: add.u32 %r5, %r5, 1; setp.le.u32 %p1, %r5, %r1; @%p1 bra LOOP;
    activemask.b32 %r10;)"),
                                     32);
  EXPECT_EQ(outcome.out, std::vector<u32>(32, ~0u));
  EXPECT_EQ(outcome.counts.warp_instructions, 10u + 1 + 32 * 3 + 3);
}

TEST(PtxProgress, ABlockGoesOnFromAnImageTakenInTheMiddleOfALock) {
  const std::string text = locked(kTake + std::string(kCount) + "mov.u32 %r10, %r6;\n" + kGive + "bar.sync 0;");
  const auto run = [&](u64 saved_at) {
    Harness harness(text);
    const auto lock = harness.buffer("lock", std::vector<u32>{0});
    const auto count = harness.buffer("count", std::vector<u32>{0});
    const auto out = harness.buffer("out", std::vector<u32>(64, 0));
    InstStream& stream = harness.machine;
    const LaunchShape shape = stream.begin_launch(harness.launch({1}, {64}, lock, count, out));
    BlockRef block = stream.begin_block(shape.launch, 0);
    StoreLog stores;
    Effect effect;
    u64 steps = 0;
    for (bool running = true; running;) {
      running = false;
      for (u32 w = 0; w < 2; ++w) {
        const WarpRef warp = stream.warp(block, w);
        if (stream.view(warp).status != WarpStatus::kRunning) continue;
        running = true;
        stream.execute(warp, ++steps, stores, effect);
        if (effect.atomic != kNoAtomic) stream.perform_atomic(effect.atomic, effect.atomic_lanes);
        stores.commit();
      }
      if (saved_at != 0 && steps / 50 == saved_at) {
        const BlockImage image = stream.save(block);
        stream.end_block(block);
        block = stream.restore(shape.launch, image);
        ++saved_at;
      }
    }
    stream.end_block(block);
    stream.end_launch(shape.launch);
    return harness.read(out);
  };
  const std::vector<u32> whole = run(0);
  EXPECT_EQ(sorted(whole), up_to(64));
  EXPECT_EQ(run(1), whole);  // saved and restored every 50 instructions
}

/// A barrier of all blocks, made of atomics: the first thread of a block counts, and waits until all have.
constexpr const char* kGridBarrier = R"(
    setp.ne.u32 %p1, %r1, 0; @%p1 bra TOGETHER;
    atom.global.add.u32 %r5, [%rd2], 1; mov.u32 %r6, %nctaid.x;
  WAIT: ld.volatile.global.u32 %r7, [%rd2]; setp.lt.u32 %p2, %r7, %r6; @%p2 bra WAIT;
  TOGETHER: bar.sync 0;
)";

TEST_P(PtxProgress, BlocksWaitForEachOtherAtABarrierOfTheGrid) {
  const Outcome outcome =
      run_locked(locked(kGridBarrier + std::string("ld.volatile.global.u32 %r10, [%rd2];")), 48, GetParam(), 20);
  EXPECT_EQ(outcome.out, std::vector<u32>(48 * 20, 20));
}

TEST(PtxProgress, BlocksThatDoNotFitTogetherNeverPassABarrierOfTheGrid) {
  const std::string sentence =
      refusal([] { run_locked(locked(kGridBarrier), 48, 32, 9, {.most_resident_blocks = 8}); });
  EXPECT_EQ(
      sentence,
      "kernel k never ends: warp 0 of block 0 goes round a loop, test.ptx:18, \"@%p2 bra WAIT\", that only a "
      "change in memory could end, and so do all 8 warps that run; 8 of the 9 blocks of the grid have begun and "
      "not ended; let a thread that runs change what it waits for, and let blocks that wait for each other fit on "
      "the GPU together");
}

constexpr const char* kWords = ".shared .align 4 .b8 words[64];\n";
std::string told_of(const std::string& body, u32 threads = 32) {
  return refusal([&] { run_locked(locked(body, kWords), threads); });
}
constexpr const char* kNeverEnds = "kernel k never ends";

TEST(PtxProgress, LoopsThatNothingCanEndAreTold) {
  for (const char* body :
       {"W: ld.volatile.global.u32 %r5, [%rd1]; setp.eq.u32 %p1, %r5, 0; @%p1 bra W;",  // a flag that nobody sets
        // a lock that is taken twice; what counts the tries decides nothing
        "W: add.u32 %r20, %r20, 1; atom.global.cas.b32 %r5, [%rd1], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra W;"
        "V: add.u32 %r20, %r20, 1; atom.global.cas.b32 %r5, [%rd1], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra V;"
        "mov.u32 %r10, %r20;",
        // the others wait at a barrier
        "setp.lt.u32 %p2, %r1, 32; @%p2 bra W; bar.sync 0;"
        "W: ld.volatile.global.u32 %r5, [%rd1]; setp.eq.u32 %p1, %r5, 0; @%p1 bra W;"}) {
    EXPECT_TRUE(told_of(body, 64).starts_with(kNeverEnds)) << body << told_of(body, 64);
  }
}

TEST(PtxProgress, ALoopThatNothingLeadsOutOfIsTold) {
  for (const char* body :
       {"W: bra W;", "W: bar.sync 0; bra W;", "W: add.u32 %r20, %r20, 1; st.global.u32 [%rd4], %r20; bra W;",
        "W: mov.u32 %r20, %clock; st.global.u32 [%rd4], %r20; bra W;"}) {
    const std::string told = told_of(body, 64);
    EXPECT_NE(told.find("lane 0 of warp 0 of block 0 goes round a loop that nothing leads out of"), told.npos)
        << body << told;
  }
  // What leads out is a fault, a return from a called function, or a trap, sooner or later.
  EXPECT_NE(told_of("W: add.s64 %rd4, %rd4, 8; st.global.u32 [%rd4], 0; bra W;").find("outside any allocation"),
            std::string::npos);
  EXPECT_NE(told_of("W: add.u32 %r20, %r20, 1; setp.eq.u32 %p1, %r20, 1000; @%p1 trap; bra W;").find("executes a trap"),
            std::string::npos);
}

/// Until word 0 of `lock` is set, which nobody does.
constexpr const char* kUntilSet = "ld.volatile.global.u32 %r5, [%rd1]; setp.eq.u32 %p1, %r5, 0; @%p1 bra W;\n";

TEST(PtxProgress, LoopsThatComeBackToTheSameStateAreTold) {
  for (const std::string& body : std::vector<std::string>{
           std::string("W: bar.sync 0;") + kUntilSet,
           // It stores what is there already.
           std::string("W: st.global.u32 [%rd4], 7; st.shared.u32 [words+4], 7;") + kUntilSet,
           // What counts the passes decides nothing, although it is needed afterwards.
           std::string("W: add.u32 %r20, %r20, 1; bar.sync 0;") + kUntilSet + "mov.u32 %r10, %r20;",
           // A search whose middle is where it was.
           "mov.u32 %r20, 4; mov.u32 %r21, 5; W: add.u32 %r22, %r20, %r21; shr.u32 %r20, %r22, 1;"
           "setp.lt.u32 %p1, %r20, %r21; @%p1 bra W;",
           // A period of 1024 passes.
           "mov.u32 %r20, 1; W: mad.lo.u32 %r20, %r20, 5, 1; and.b32 %r20, %r20, 1023;"
           "setp.ne.u32 %p1, %r20, 5000; @%p1 bra W;",
           // Others wait at a barrier, or where lanes meet.
           std::string("setp.lt.u32 %p2, %r1, 32; @%p2 bra W; bar.sync 0; W: st.global.u32 [%rd4], 7;") + kUntilSet,
           std::string("setp.ne.u32 %p2, %r1, 3; @%p2 bra STORE; W: st.global.u32 [%rd4], 7;") + kUntilSet,
           // One loop within another.
           std::string("W: mov.u32 %r20, 0; V: add.u32 %r20, %r20, 1; setp.lt.u32 %p2, %r20, 10; @%p2 bra V;"
                       "st.global.u32 [%rd4], %r20;") +
               kUntilSet,
       }) {
    EXPECT_TRUE(told_of(body, 64).starts_with(kNeverEnds)) << body << told_of(body, 64);
  }
  const std::string told = told_of(std::string("W: st.global.u32 [%rd4], 7;") + kUntilSet);
  EXPECT_TRUE(told.starts_with("kernel k never ends: warp 0 of block 0 goes round a loop, test.ptx:")) << told;
  EXPECT_TRUE(told.ends_with(
      ", \"@%p1 bra W\", and comes back to the same state, with the same registers and the same memory, and no other "
      "warp "
      "runs; 1 of the 1 blocks of the grid have begun and not ended; let each pass change what ends the loop"))
      << told;
}

TEST(PtxProgress, ALoopThatCallsIsToldToo) {
  const std::string function =
      ".func (.param .b32 r) same(.param .b32 n) { .reg .b32 %a; ld.param.u32 %a, [n]; st.param.b32 [r], %a; ret; }\n";
  const std::string call =
      "W: mov.u32 %r20, 0; { .param .b32 x; .param .b32 y; st.param.b32 [x], %r4; call (y), same, (x); "
      "ld.param.b32 %r10, [y]; }";
  const std::string told = refusal([&] { run_locked(locked(call + kUntilSet, function), 64); });
  EXPECT_TRUE(told.starts_with(kNeverEnds)) << told;
}

// Registers repeat; what counts the passes lies in memory of some kind.
TEST(PtxProgress, LoopsThatChangeMemoryAreNotTakenForEndlessOnes) {
  const std::pair<const char*, const char*> passes[] = {
      {"st.global.u32 [%rd4], 0;", "ld.global.u32 %r5, [%rd4]; add.u32 %r5, %r5, 1; st.global.u32 [%rd4], %r5;"},
      {"", "ld.volatile.shared.u32 %r5, [words+8]; add.u32 %r5, %r5, 1; st.volatile.shared.u32 [words+8], %r5;"},
      {".local .align 4 .b8 depot[4]; st.local.u32 [depot], 0;",
       "ld.local.u32 %r5, [depot]; add.u32 %r5, %r5, 1; st.local.u32 [depot], %r5;"},
      {"", "atom.global.add.u32 %r5, [%rd2], 1;"},
      {"", "red.global.add.u32 [%rd2], 1; ld.volatile.global.u32 %r5, [%rd2];"},
      {"", "atom.shared.add.u32 %r5, [words+8], 1;"},
  };
  for (const auto& [before, pass] : passes) {
    const std::string body =
        before + std::string("W: ") + pass + "setp.ne.u32 %p1, %r5, 90000; @%p1 bra W; mov.u32 %r10, 5;";
    EXPECT_EQ(run_locked(locked(body, kWords), 1).out[0], 5u) << pass;
  }
}

TEST(PtxProgress, WarpsThatOthersLetGoAtABarrierAreNotTakenForEndlessOnes) {
  // Warp 0 waits, with a barrier in each pass, until warp 1 has made so many.
  const std::string body = R"(
    mov.u32 %r20, 0; setp.ge.u32 %p2, %r1, 32; @%p2 bra WORK;
  W: bar.sync 0; ld.volatile.shared.u32 %r5, [words+8]; bar.sync 0; setp.eq.u32 %p1, %r5, 0; @%p1 bra W; bra DONE;
  WORK: bar.sync 0; add.u32 %r20, %r20, 1; setp.eq.u32 %p3, %r20, 40000; @%p3 st.volatile.shared.u32 [words+8], 1; bar.sync 0;
    setp.le.u32 %p1, %r20, 40000; @%p1 bra WORK;
  DONE: mov.u32 %r10, 5;)";
  EXPECT_EQ(run_locked(locked(body, kWords), 64).out, std::vector<u32>(64, 5));
}

TEST(PtxProgress, BlocksThatHaveNotBegunMayEndAWait) {
  // Not a loop that polls: there is a barrier in it.
  const std::string body = R"(
    setp.eq.u32 %p2, %r2, 11; @%p2 st.volatile.global.u32 [%rd1], 1;
  W: bar.sync 0; ld.volatile.global.u32 %r10, [%rd1]; setp.eq.u32 %p1, %r10, 0; @%p1 bra W;)";
  EXPECT_EQ(run_locked(locked(body), 32, 32, 12).out, std::vector<u32>(32 * 12, 1));
}

TEST(PtxProgress, LoopsThatOnlyWaitForAClockAreToldAtTheLimit) {
  GuestMemory memory(PageSize::k4K);
  const std::string text = kernel_text({},
                                       "mov.u32 %r20, %clock;\nW: mov.u32 %r21, %clock; sub.u32 %r22, %r21, %r20; "
                                       "setp.ne.u32 %p1, %r22, 1; @%p1 bra W; ret;");
  Launch launch;
  launch.kernel = "k";
  launch.block = {128};
  Machine machine(parse_module("test.ptx", text), memory, {.loop_limit = 100'000});
  const std::string told = refusal([&] { FunctionalRunner(machine).run(launch); });
  EXPECT_TRUE(told.starts_with("kernel k only waits for a clock: warp 0 of block 0 goes round a loop, test.ptx:12"))
      << told;
  EXPECT_NE(told.find("where nothing else changes, and so do all 4 warps that run"), told.npos) << told;
}

TEST(PtxProgress, LoopsThatCanEndAreNotTakenForEndlessOnes) {
  // Warp 0 waits while warp 1 works for a long time, and counts as far as memory is concerned only at the end.
  const std::string late = R"(
    mov.u32 %r20, 0; setp.ge.u32 %p2, %r1, 32; @%p2 bra WORK;
  W: ld.volatile.global.u32 %r10, [%rd2]; setp.eq.u32 %p1, %r10, 0; @%p1 bra W;
    bra STORE;
  WORK: add.u32 %r20, %r20, 1; setp.lt.u32 %p1, %r20, 30000; @%p1 bra WORK;
    st.volatile.global.u32 [%rd2], 5; mov.u32 %r10, 5;)";
  EXPECT_EQ(run_locked(locked(late), 64).out, std::vector<u32>(64, 5));
  // Each waits for what the other's atomics make of a word that both change.
  const std::string counted = R"(
  W: atom.global.add.u32 %r5, [%rd1], 1; setp.lt.u32 %p1, %r5, 1300000; @%p1 bra W;
    mov.u32 %r10, 5;)";
  EXPECT_EQ(run_locked(locked(counted), 64).out, std::vector<u32>(64, 5));
  // The clock ends it.
  const std::string timed = R"(
    mov.u32 %r20, %clock;
  W: mov.u32 %r21, %clock; sub.u32 %r22, %r21, %r20; setp.lt.u32 %p1, %r22, 120000; @%p1 bra W;
    mov.u32 %r10, 5;)";
  EXPECT_EQ(run_locked(locked(timed), 64).out, std::vector<u32>(64, 5));
}

TEST(PtxProgress, AWarpThatHasJumpedBackTooOftenIsTold) {
  GuestMemory memory(PageSize::k4K);
  const std::string text =
      kernel_text({}, "mov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 5000; @%p1 bra L; ret;");
  Launch launch;
  launch.kernel = "k";
  const auto told = [&](u64 limit) {
    Machine machine(parse_module("test.ptx", text), memory, {.loop_limit = limit});
    return refusal([&] { FunctionalRunner(machine).run(launch); });
  };
  EXPECT_EQ(told(4999),
            "kernel k, test.ptx:12, \"@%p1 bra L\": lane 0 of warp 0 of block 0 is in an endless loop: its warp has "
            "taken 4999 backward branches; if the loop does end, raise the limit (run.loop_limit, exec --loop-limit)");
  EXPECT_EQ(told(5000), "");
  EXPECT_EQ(told(0), "");
}

}  // namespace
}  // namespace terrace::ptx
