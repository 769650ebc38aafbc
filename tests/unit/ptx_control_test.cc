// Control flow: lanes that part and meet, exits, calls, barriers, warps of any width. Each kernel stores one word per
// thread; the expected words are computed here, thread by thread.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

#include "unit/ptx_harness.h"

namespace terrace::ptx {
namespace {

/// %r1 is the thread's number, %rd3 the address of its word; the body leaves its result in %r10.
std::string per_thread(const std::string& body, const std::string& before = "") {
  std::string text = kernel_text({"u64 out"}, R"(
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.s32 %r4, %r2, %r3, %r1; mul.wide.u32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2; mov.u32 %r10, 0;
    )" + body + R"(
  STORE: st.global.u32 [%rd3], %r10; ret;)");
  const auto header_end = text.find(".visible .entry");
  return text.insert(header_end, before);
}

std::vector<u32> run_per_thread(const std::string& text, u32 threads, u32 width = 32, u32 blocks = 1) {
  Harness harness(text, width);
  const auto out = harness.buffer("out", std::vector<u32>(std::size_t{threads} * blocks, 0xdeadbeef));
  harness.run(blocks, threads, out);
  return harness.read(out);
}

class PtxWidths : public testing::TestWithParam<u32> {};
INSTANTIATE_TEST_SUITE_P(PtxControl, PtxWidths, testing::Values(1, 7, 16, 32, 33, 64),
                         testing::PrintToStringParamName());

TEST_P(PtxWidths, ALaneThatHasLeftALoopKeepsWhatOthersStillComputeInIt) {
  // %r8 is computed anew in each turn and used after the loop: for one thread it is dead where %rd5 lives, but not for a
  // lane that waits after the loop while others go on. The values of %r20 and on leave no other place free.
  std::string before, after;
  for (u32 r = 20; r < 32; ++r) {
    before += fmt::format("add.u32 %r{0}, %r1, {0}; ", r);
    after += fmt::format("add.u32 %r10, %r10, %r{}; ", r);
  }
  const auto result = run_per_thread(per_thread("mov.u32 %r5, 0; sub.u32 %r9, 63, %r1; " + before + R"(
  LOOP: mul.wide.u32 %rd5, %r5, 1000; add.s64 %rd6, %rd5, 7; cvt.u32.u64 %r7, %rd6; add.u32 %r8, %r7, %r1;
    add.u32 %r5, %r5, 1; setp.le.u32 %p1, %r5, %r9;
    @%p1 bra LOOP;
    mov.u32 %r10, %r8; )" + after),
                                     64, GetParam());
  for (u32 t = 0; t < 64; ++t) EXPECT_EQ(result[t], 1000 * (63 - t) + 7 + t + 12 * t + 12 * 51 / 2) << t;
}

TEST_P(PtxWidths, NestedBranchesGiveEachThreadItsOwnPath) {
  const auto result = run_per_thread(per_thread(R"(
    and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 0; and.b32 %r6, %r1, 2; setp.eq.u32 %p2, %r6, 0;
    @%p1 bra EVEN;
    @%p2 bra ODD_LOW;
    add.u32 %r10, %r10, 300; bra JOIN;
  ODD_LOW: add.u32 %r10, %r10, 100; bra JOIN;
  EVEN: @!%p2 bra EVEN_HIGH;
    add.u32 %r10, %r10, 1; bra JOIN;
  EVEN_HIGH: add.u32 %r10, %r10, 200;
  JOIN: add.u32 %r10, %r10, %r1;)"),
                                     60, GetParam());
  const u32 added[4] = {1, 100, 200, 300};
  for (u32 t = 0; t < 60; ++t) EXPECT_EQ(result[t], added[t % 4] + t) << t;
}

TEST_P(PtxWidths, NestedLoopsWithDivergentCountsAndABreakEndWhereTheyShould) {
  const auto result = run_per_thread(per_thread(R"(
    mov.u32 %r5, 0;
  OUTER: setp.ge.u32 %p1, %r5, %r1; @%p1 bra STORE;
    mov.u32 %r6, 0;
  INNER: setp.gt.u32 %p2, %r6, %r5; @%p2 bra NEXT;
    add.u32 %r10, %r10, 1; add.u32 %r6, %r6, 1;
    setp.gt.u32 %p3, %r10, 40; @%p3 bra STORE;
    bra INNER;
  NEXT: add.u32 %r5, %r5, 1; bra OUTER;)"),
                                     23, GetParam());
  for (u32 t = 0; t < 23; ++t) EXPECT_EQ(result[t], std::min(t * (t + 1) / 2, 41u)) << t;
}

TEST_P(PtxWidths, ALaneThatHasLeftALoopKeepsItsWordWhileOthersGoOnWithDoubleWords) {
  const auto result = run_per_thread(per_thread(R"(
    mov.u32 %r5, 0; sub.u32 %r6, 60, %r1;
  LOOP: cvt.rn.f64.u32 %fd1, %r5; cvt.rn.f64.u32 %fd2, %r6; setp.ge.f64 %p1, %fd1, %fd2;
    mov.u32 %r11, %r5; @%p1 bra DONE;
    add.u32 %r5, %r5, 1; bra LOOP;
  DONE: mov.u32 %r10, %r11;)"),
                                     60, GetParam());
  for (u32 t = 0; t < 60; ++t) EXPECT_EQ(result[t], 60 - t) << t;
}

TEST_P(PtxWidths, LanesThatExitEarlyLeaveTheOthersRunning) {
  Harness harness(per_thread(R"(
    mov.u32 %r10, 5; and.b32 %r5, %r1, 3; setp.eq.u32 %p1, %r5, 1; @%p1 exit;
    setp.eq.u32 %p2, %r5, 2; @%p2 ret; add.u32 %r10, %r10, 1;)"),
                  GetParam());
  const auto out = harness.buffer("out", std::vector<u32>(50, 0));
  harness.run(1, 50, out);
  const auto result = harness.read(out);
  for (u32 t = 0; t < 50; ++t) EXPECT_EQ(result[t], t % 4 == 1 || t % 4 == 2 ? 0u : 6u) << t;
}

TEST_P(PtxWidths, ABranchTableSendsEachLaneToItsEntry) {
  const auto result = run_per_thread(per_thread(R"(
    rem.u32 %r5, %r1, 3;
    TABLE: .branchtargets A, B, C;
    brx.idx %r5, TABLE;
  A: mov.u32 %r10, 10; bra STORE;
  B: mov.u32 %r10, 20; bra STORE;
  C: mov.u32 %r10, 30; bra STORE;)"),
                                     40, GetParam());
  for (u32 t = 0; t < 40; ++t) EXPECT_EQ(result[t], 10 * (t % 3 + 1)) << t;
}

constexpr const char* kFactorial = R"(
.func (.param .b32 r) factorial(.param .b32 n) {
  .reg .pred %p; .reg .b32 %n, %m, %x;
  ld.param.u32 %n, [n];
  setp.gt.u32 %p, %n, 1;
  mov.u32 %x, 1;
  @!%p bra DONE;
  sub.u32 %m, %n, 1;
  { .param .b32 a; st.param.b32 [a], %m; .param .b32 b; call.uni (b), factorial, (a); ld.param.b32 %m, [b]; }
  mul.lo.u32 %x, %n, %m;
DONE:
  st.param.b32 [r], %x; ret;
}
)";

TEST_P(PtxWidths, RecursionToDivergentDepthsReturnsToEachCaller) {
  const auto result = run_per_thread(per_thread(R"(
    rem.u32 %r5, %r1, 9;
    { .param .b32 a; st.param.b32 [a], %r5; .param .b32 b; call (b), factorial, (a); ld.param.b32 %r10, [b]; })",
                                                kFactorial),
                                     45, GetParam());
  for (u32 t = 0; t < 45; ++t) {
    u32 expected = 1;
    for (u32 n = 2; n <= t % 9; ++n) expected *= n;
    EXPECT_EQ(result[t], expected) << t;
  }
}

TEST_P(PtxWidths, AGuardedCallRunsForItsLanesOnlyAndAReturnInsideABranchWaitsForTheRest) {
  const auto result = run_per_thread(per_thread(R"(
    and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 1; mov.u32 %r10, 7;
    @%p1 bra CALL; bra STORE;
  CALL: { .param .b32 a; st.param.b32 [a], %r1; .param .b32 b; call (b), twist, (a); ld.param.b32 %r10, [b]; })",
                                                R"(
.func (.param .b32 r) twist(.param .b32 n) {
  .reg .pred %p, %q; .reg .b32 %n;
  ld.param.u32 %n, [n]; st.param.b32 [r], %n; setp.lt.u32 %p, %n, 8; @%p ret;
  add.u32 %n, %n, 100; st.param.b32 [r], %n; setp.lt.u32 %q, %n, 120; @%q bra OUT; add.u32 %n, %n, 100; st.param.b32 [r], %n;
OUT: ret;
}
)"),
                                     40, GetParam());
  for (u32 t = 0; t < 40; ++t) {
    const u32 called = t < 8 ? t : t + 100 < 120 ? t + 100 : t + 200;
    EXPECT_EQ(result[t], t % 2 == 1 ? called : 7u) << t;
  }
}

TEST(PtxControl, RecursionIsAsDeepAsTheStackAllows) {
  // Each call keeps 16 bytes: its own number, which it adds when the deeper ones have returned. sum(n) = n + ... + 1.
  const std::string text = per_thread(R"(
    mov.u32 %r5, 500; { .param .b32 a; st.param.b32 [a], %r5; .param .b32 b; call (b), sum, (a); ld.param.b32 %r10, [b]; })",
                                      R"(
.func (.param .b32 r) sum(.param .b32 n) {
  .local .align 4 .b8 own[16]; .reg .pred %p; .reg .b32 %n, %m, %x;
  ld.param.u32 %n, [n]; mov.u32 %x, 0; setp.eq.u32 %p, %n, 0; @%p bra DONE;
  st.local.u32 [own+8], %n; sub.u32 %m, %n, 1;
  { .param .b32 a; st.param.b32 [a], %m; .param .b32 b; call.uni (b), sum, (a); ld.param.b32 %x, [b]; }
  ld.local.u32 %n, [own+8]; add.u32 %x, %x, %n;
DONE: st.param.b32 [r], %x; ret;
}
)");
  const auto run = [&](u64 stack_bytes) {
    Harness harness(text);
    harness.machine.set_stack_bytes(stack_bytes);
    const auto out = harness.buffer("out", std::vector<u32>(33));
    harness.run(1, 33, out);
    return harness.read(out)[32];
  };
  // The first call is known; 500 more take 16 bytes each.
  EXPECT_EQ(run(8000), 500 * 501 / 2);
  EXPECT_THAT(refusal([&] { run(7984); }),
              testing::HasSubstr("calls sum at depth 501, deeper than the stack of 8000 "));
  EXPECT_THAT(refusal([&] { run(1024); }), testing::HasSubstr("or give it a larger stack"));
}

TEST(PtxControl, SharedMemoryForTheToolkitLiesBesideThatOfTheKernel) {
  const std::string own = ".shared .align 4 .b8 own[128];\n";
  const std::string body = R"(
    shl.b32 %r5, %r1, 2; mov.u32 %r6, own; add.u32 %r6, %r6, %r5; st.shared.u32 [%r6], %r1;
    mov.u32 %r7, %reserved_smem_offset_1; add.u32 %r7, %r7, %r5; add.u32 %r8, %r1, 1000; st.shared.u32 [%r7+896], %r8;
    bar.sync 0; ld.shared.u32 %r9, [%r6]; ld.shared.u32 %r10, [%r7+896]; mad.lo.u32 %r10, %r9, 10000, %r10;)";
  const auto got = run_per_thread(per_thread(body, own), 32);
  for (u32 t = 0; t < 32; ++t) EXPECT_EQ(got[t], t * 10000 + t + 1000);
  Harness harness(per_thread(body, own)), without(per_thread("mov.u32 %r6, own;", own));
  EXPECT_EQ(harness.machine.code(0, "k").static_shared_bytes, 128u + 1024);
  EXPECT_EQ(without.machine.code(0, "k").static_shared_bytes, 128u);
}

TEST(PtxControl, EndlessRecursionIsAFaultThatNamesTheFunction) {
  const std::string sentence = refusal(
      [] { run_per_thread(per_thread(R"({ call forever; })", ".func forever() { call forever; ret; }\n"), 32); });
  EXPECT_NE(sentence.find("calls forever at depth 128"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("bound the recursion"), std::string::npos) << sentence;
}

TEST(PtxControl, AnEndlessLoopEndsAtTheInstructionLimitAndSaysWhere) {
  Harness harness(per_thread("SPIN: bra SPIN;"));
  const auto out = harness.buffer("out", std::vector<u32>(32));
  FunctionalConfig config;
  config.instruction_limit = 100;
  const std::string sentence = refusal([&] { harness.run(harness.launch({1}, {32}, out), config); });
  EXPECT_EQ(sentence,
            "kernel k has executed 100 warp instructions without ending: warp 0 of block 0 runs at test.ptx:14, \"bra "
            "SPIN\"; an endless loop, or raise the limit (exec --limit)");
}

TEST(PtxControl, LanesMeetAgainAlthoughTheTextHasAnExitThatNoneReaches) {
  // As clang ends a switch whose default is unreachable.
  const auto result = run_per_thread(per_thread(R"(
    and.b32 %r5, %r1, 3; setp.eq.u32 %p1, %r5, 0; @%p1 bra A;
    setp.eq.u32 %p2, %r5, 1; @%p2 bra B;
    setp.lt.u32 %p3, %r5, 4; @%p3 bra C;
    exit;
  A: mov.u32 %r6, 10; bra JOIN;
  B: mov.u32 %r6, 20; bra JOIN;
  C: mov.u32 %r6, 30;
  JOIN: shfl.sync.bfly.b32 %r10, %r6, 1, 31, -1;)"),
                                     32);
  const u32 of_neighbour[4] = {20, 10, 30, 30};
  for (u32 t = 0; t < 32; ++t) EXPECT_EQ(result[t], of_neighbour[t % 4]) << t;
}

TEST_P(PtxWidths, WarpSzIsTheNumberOfLanesThatLaneidCounts) {
  const u32 lanes = std::min(GetParam(), 32u);
  const auto result = run_per_thread(per_thread(R"(
    .shared .b32 cells[WARP_SZ]; mov.u32 %r5, WARP_SZ; add.u32 %r5, %r5, WARP_SZ-1; add.u32 %r5, %r5, -WARP_SZ;
    mov.u32 %r6, cells; add.u32 %r6, %r6, -WARP_SZ; st.shared.u8 [%r6+WARP_SZ], %r5; ld.shared.u8 %r10, [%r6+WARP_SZ];
    mov.u32 %r7, %total_smem_size; shl.b32 %r7, %r7, 16; or.b32 %r10, %r10, %r7;)"),
                                     40, GetParam());
  for (const u32 word : result) EXPECT_EQ(word, ((lanes * 4 + 15) / 16 * 16) << 16 | (lanes - 1));
}

TEST(PtxControl, EitherPredicateOfAComparisonCanBeLeftOut) {
  const auto result = run_per_thread(per_thread(R"(
    setp.lt.u32 _|%p1, %r1, 5; setp.lt.u32 %p2|_, %r1, 5; @%p1 add.u32 %r10, %r10, 1; @%p2 add.u32 %r10, %r10, 2;)"),
                                     32);
  for (u32 t = 0; t < 32; ++t) EXPECT_EQ(result[t], t < 5 ? 2u : 1u) << t;
}

TEST(PtxControl, ATrapIsAFaultWithItsPlace) {
  const std::string sentence = refusal([] { run_per_thread(per_thread("setp.eq.u32 %p1, %r1, 5; @%p1 trap;"), 32); });
  EXPECT_EQ(sentence, "kernel k, test.ptx:14, \"@%p1 trap\": lane 5 of warp 0 of block 0 executes a trap");
}

constexpr const char* kAssert =
    ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e) .noreturn;\n"
    ".global .align 1 .b8 message[6] = {105, 32, 60, 32, 110, 0};\n"                    // i < n
    ".global .align 1 .b8 file[8] = {98, 105, 110, 115, 46, 99, 117, 0};\n"             // bins.cu
    ".global .align 1 .b8 function[10] = {118, 111, 105, 100, 32, 102, 40, 41, 0};\n";  // void f()
constexpr const char* kAssertCall = R"({
    .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;
    mov.u64 %rd10, message; cvta.global.u64 %rd11, %rd10; st.param.b64 [p0+0], %rd11;
    mov.u64 %rd10, file; cvta.global.u64 %rd11, %rd10; st.param.b64 [p1+0], %rd11; st.param.b32 [p2+0], 42;
    mov.u64 %rd10, function; cvta.global.u64 %rd11, %rd10; st.param.b64 [p3+0], %rd11; st.param.b64 [p4+0], 1;
    call.uni __assertfail, (p0, p1, p2, p3, p4); })";

TEST(PtxControl, AFailedAssertionIsAFaultThatQuotesIt) {
  const std::string sentence = refusal([] {
    run_per_thread(
        per_thread(std::string("setp.ne.u32 %p1, %r1, 5; @%p1 bra FINE;\n") + kAssertCall + "\nFINE:", kAssert), 64);
  });
  EXPECT_EQ(
      sentence,
      "kernel k, test.ptx:24, \"call.uni __assertfail, (p0, p1, p2, p3, p4)\": lane 5 of warp 0 of block 0 fails the "
      "assertion \"i < n\" at bins.cu:42 in function void f()");
}

TEST(PtxControl, LanesMeetAgainBehindAnAssertionThatHolds) {
  const auto result =
      run_per_thread(per_thread(std::string("mov.u32 %r6, 1; setp.lt.u32 %p1, %r1, 99; @%p1 bra FINE;\n") +
                                    kAssertCall + "\nFINE: shfl.sync.bfly.b32 %r10, %r1, 1, 31, -1;",
                                kAssert),
                     64);
  for (u32 t = 0; t < 64; ++t) EXPECT_EQ(result[t], t ^ 1) << t;
}

TEST(PtxControl, AnAssertionOfTheWrongShapeIsRefused) {
  EXPECT_EQ(refusal([] {
              Harness harness(
                  module_text(".extern .func __assertfail();\n.visible .entry k() {\ncall "
                              "__assertfail;\nret;\n}\n"));
            }),
            "test.ptx:6: call: __assertfail takes a message, a file, a line, a function and the size of a character; "
            "declare it as "
            "assert.h does");
}

TEST(PtxControl, ABlockOfEveryDimensionNumbersItsThreadsXThenYThenZ) {
  Harness harness(kernel_text({"u64 out"}, R"(
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y;
    mad.lo.u32 %r6, %r3, %r5, %r2; mad.lo.u32 %r6, %r6, %r4, %r1;
    mov.u32 %r7, %ctaid.x; mov.u32 %r8, %ctaid.y; mov.u32 %r9, %nctaid.x; mad.lo.u32 %r11, %r8, %r9, %r7;
    mad.lo.u32 %r12, %r11, 30, %r6; mul.wide.u32 %rd2, %r12, 4; add.s64 %rd3, %rd1, %rd2;
    shl.b32 %r13, %r1, 16; shl.b32 %r14, %r2, 8; or.b32 %r15, %r13, %r14; or.b32 %r15, %r15, %r3;
    st.global.u32 [%rd3], %r15; ret;)"));
  const auto out = harness.buffer("out", std::vector<u32>(120));
  harness.run(harness.launch({2, 2}, {5, 3, 2}, out));
  const auto result = harness.read(out);
  for (u32 i = 0; i < 120; ++i) {
    const u32 t = i % 30;
    EXPECT_EQ(result[i], (t % 5) << 16 | (t / 5 % 3) << 8 | t / 15) << i;
  }
}

TEST(PtxBarriers, SharedMemoryWrittenBeforeABarrierIsSeenByEveryWarpAfterIt) {
  const auto result = run_per_thread(per_thread(R"(
    .shared .align 4 .b8 cells[512];
    mov.u32 %r20, cells; shl.b32 %r21, %r1, 2; add.u32 %r22, %r20, %r21; mul.lo.u32 %r23, %r1, 3; st.shared.u32 [%r22], %r23;
    bar.sync 0;
    xor.b32 %r24, %r1, 96; shl.b32 %r25, %r24, 2; add.u32 %r26, %r20, %r25; ld.shared.u32 %r10, [%r26];)"),
                                     128);
  for (u32 t = 0; t < 128; ++t) EXPECT_EQ(result[t], 3 * (t ^ 96)) << t;
}

TEST(PtxBarriers, AReductionBarrierCountsTheThreadsWhosePredicateHolds) {
  const auto result = run_per_thread(per_thread(R"(
    setp.lt.u32 %p1, %r1, 50; bar.red.popc.u32 %r10, 0, %p1;
    bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 0, %p1;
    @%p2 add.u32 %r10, %r10, 1000; @%p3 add.u32 %r10, %r10, 2000;)"),
                                     100);
  for (u32 t = 0; t < 100; ++t) EXPECT_EQ(result[t], 2050u) << t;
}

TEST(PtxBarriers, ANamedBarrierWithACountLetsProducersGoOnAndHoldsConsumers) {
  // Warps 0 and 1 produce and only arrive; warps 2 and 3 wait for all four.
  const auto result = run_per_thread(per_thread(R"(
    .shared .align 4 .b8 cells[512];
    mov.u32 %r20, cells; shl.b32 %r21, %r1, 2; add.u32 %r22, %r20, %r21;
    setp.ge.u32 %p1, %r1, 64; @%p1 bra CONSUME;
    add.u32 %r23, %r1, 9; st.shared.u32 [%r22], %r23; bar.arrive 3, 128; bra STORE;
  CONSUME: bar.sync 3, 128; ld.shared.u32 %r10, [%r22+-256];)"),
                                     128);
  for (u32 t = 0; t < 128; ++t) EXPECT_EQ(result[t], t < 64 ? 0 : t - 64 + 9) << t;
}

TEST(PtxBarriers, WarpsThatHaveEndedAreNotWaitedFor) {
  Harness harness(per_thread("setp.lt.u32 %p1, %r1, 32; @%p1 exit; bar.sync 0; mov.u32 %r10, 4;"));
  const auto out = harness.buffer("out", std::vector<u32>(96, 1));
  harness.run(1, 96, out);
  const auto result = harness.read(out);
  for (u32 t = 0; t < 96; ++t) EXPECT_EQ(result[t], t < 32 ? 1u : 4u);
}

TEST(PtxBarriers, ABarrierThatNeverCompletesIsExplainedInOneSentence) {
  const std::string sentence =
      refusal([] { run_per_thread(per_thread("setp.lt.u32 %p1, %r1, 32; @%p1 bar.sync 1; @!%p1 bar.sync 2;"), 64); });
  EXPECT_EQ(
      sentence,
      "kernel k waits at a barrier that can never complete: warp 0 of block 0 waits at test.ptx:14, \"@%p1 bar.sync "
      "1\" for barrier 1, where 1 of 2 warps have arrived (and 1 more warps wait); make every warp reach it");
}

TEST(PtxBarriers, ACountThatIsNoMultipleOfTheWarpWidthIsAFault) {
  for (const char* kind : {"bar.sync 1, ", "bar.arrive 1, "}) {
    const std::string body = std::string(kind) + "33;";
    EXPECT_NE(refusal([&] {
                run_per_thread(per_thread(body), 64);
              }).find("waits for 33 threads at barrier 1; the count must be a multiple of the warp width, 32"),
              std::string::npos)
        << body;
  }
  // Not even when there are so many: the last warp's absent lanes do not arrive.
  EXPECT_NE(refusal([] { run_per_thread(per_thread("bar.sync 1, 40;"), 40); }).find("must be a multiple"),
            std::string::npos);
  EXPECT_NE(refusal([] {
              run_per_thread(per_thread("bar.sync 1, 96;"), 128, 64);
            }).find("must be a multiple of the warp width, 64"),
            std::string::npos);
}

TEST(PtxBarriers, AWholeBlockOfWarpsOf32IsACountOnWiderWarpsToo) {
  const auto result = run_per_thread(per_thread("bar.sync 1, 96; mov.u32 %r10, 5;"), 96, 64);
  for (const u32 word : result) EXPECT_EQ(word, 5u);
}

TEST(PtxBarriers, AnImpossibleCountOrNumberIsAFault) {
  EXPECT_NE(
      refusal([] { run_per_thread(per_thread("bar.sync 1, 256;"), 64); }).find("waits for 256 threads at barrier 1"),
      std::string::npos);
  EXPECT_NE(refusal([] { run_per_thread(per_thread("mov.u32 %r5, 16; bar.sync %r5;"), 64); }).find("names barrier 16"),
            std::string::npos);
}

}  // namespace
}  // namespace terrace::ptx
