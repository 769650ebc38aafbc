// Instructions in which lanes see one another, in 32- and 64-wide warps: a 64-wide warp gives the same results, since
// its halves know nothing of each other.
// SPDX-License-Identifier: MIT
#include "unit/ptx_harness.h"

namespace terrace::ptx {
namespace {

class PtxWarpWide : public testing::TestWithParam<u32> {
 protected:
  /// The body finds its thread in %r1, its lane in %r2 and leaves a word in %r10.
  std::vector<u32> results(const std::string& body, u32 threads = 64) {
    Harness harness(kernel_text({"u64 out"}, R"(
      ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %laneid; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
      mov.u32 %r10, 0;
      )" + body + " st.global.u32 [%rd3], %r10; ret;"),
                    GetParam());
    const auto out = harness.buffer("out", std::vector<u32>(threads));
    harness.run(1, threads, out);
    return harness.read(out);
  }
};
INSTANTIATE_TEST_SUITE_P(, PtxWarpWide, testing::Values(32, 64), testing::PrintToStringParamName());

TEST_P(PtxWarpWide, TheLaneNumberCountsWithinThirtyTwo) {
  const auto result = results("mov.u32 %r10, %laneid;");
  for (u32 t = 0; t < 64; ++t) EXPECT_EQ(result[t], t % 32);
}

TEST_P(PtxWarpWide, ShuffleDownTakesFromALaneAboveOrKeepsItsOwn) {
  const auto result = results("shfl.sync.down.b32 %r10|%p1, %r1, 5, 31, -1; @!%p1 add.u32 %r10, %r10, 1000;");
  for (u32 t = 0; t < 64; ++t) EXPECT_EQ(result[t], t % 32 + 5 < 32 ? t + 5 : t + 1000) << t;
}

TEST_P(PtxWarpWide, ShuffleUpTakesFromALaneBelowOrKeepsItsOwn) {
  const auto result = results("shfl.sync.up.b32 %r10|%p1, %r1, 3, 0, -1; @!%p1 add.u32 %r10, %r10, 1000;");
  for (u32 t = 0; t < 64; ++t) EXPECT_EQ(result[t], t % 32 >= 3 ? t - 3 : t + 1000) << t;
}

TEST_P(PtxWarpWide, ShuffleInSegmentsOfEightStaysInsideThem) {
  const auto result = results("shfl.sync.idx.b32 %r10, %r1, 2, 6175, -1;");  // segment mask 0x18, clamp 31
  for (u32 t = 0; t < 64; ++t) EXPECT_EQ(result[t], t / 8 * 8 + 2) << t;
}

TEST_P(PtxWarpWide, AButterflySumsAllLanesOfAHalf) {
  const auto result = results(R"(
    mov.u32 %r10, %r1;
    shfl.sync.bfly.b32 %r3, %r10, 16, 31, -1; add.u32 %r10, %r10, %r3; shfl.sync.bfly.b32 %r3, %r10, 8, 31, -1; add.u32 %r10, %r10, %r3;
    shfl.sync.bfly.b32 %r3, %r10, 4, 31, -1; add.u32 %r10, %r10, %r3; shfl.sync.bfly.b32 %r3, %r10, 2, 31, -1; add.u32 %r10, %r10, %r3;
    shfl.sync.bfly.b32 %r3, %r10, 1, 31, -1; add.u32 %r10, %r10, %r3;)");
  for (u32 t = 0; t < 64; ++t) EXPECT_EQ(result[t], t < 32 ? 496u : 496u + 1024) << t;
}

TEST_P(PtxWarpWide, VotesCountTheLanesOfAHalf) {
  const auto result = results(R"(
    setp.gt.u32 %p1, %r1, 40; vote.sync.ballot.b32 %r10, %p1, -1;
    vote.sync.any.pred %p2, %p1, -1; vote.sync.all.pred %p3, !%p1, -1; vote.sync.uni.pred %p4, %p1, -1;
    @%p2 xor.b32 %r10, %r10, 1; @%p3 xor.b32 %r10, %r10, 2; @%p4 xor.b32 %r10, %r10, 4;)");
  for (u32 t = 0; t < 64; ++t) EXPECT_EQ(result[t], t < 32 ? (0u ^ 2 ^ 4) : (0xffff'fe00u ^ 1)) << t;
}

TEST_P(PtxWarpWide, MatchFindsTheLanesWithTheSameValue) {
  const auto result = results("rem.u32 %r3, %r2, 3; match.any.sync.b32 %r10, %r3, -1;");
  for (u32 t = 0; t < 64; ++t) EXPECT_EQ(result[t], 0x4924'9249u << (t % 32 % 3) & 0xffff'ffffu) << t;
}

TEST_P(PtxWarpWide, MatchAllHoldsOnlyWhenAllAgree) {
  const auto result = results(
      "shr.u32 %r3, %r1, 5; setp.eq.u32 %p2, %r1, 40; @%p2 mov.u32 %r3, 9; match.all.sync.b32 %r10|%p1, %r3, -1; "
      "@%p1 xor.b32 %r10, %r10, 5;");
  for (u32 t = 0; t < 64; ++t) EXPECT_EQ(result[t], t < 32 ? ~0u ^ 5 : 0u) << t;
}

TEST_P(PtxWarpWide, TheActiveMaskShowsTheLanesThatAreHere) {
  const auto result =
      results("and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 1; @!%p1 bra OVER; activemask.b32 %r10; OVER:");
  for (u32 t = 0; t < 64; ++t) EXPECT_EQ(result[t], t % 2 ? 0xaaaa'aaaau : 0u) << t;
}

TEST_P(PtxWarpWide, ReductionsCombineTheLanesOfAHalf) {
  const auto result = results(
      "redux.sync.add.u32 %r3, %r1, -1; redux.sync.max.s32 %r4, %r1, -1; redux.sync.xor.b32 %r5, %r1, -1; "
      "add.u32 %r10, %r3, %r4; add.u32 %r10, %r10, %r5;");
  for (u32 t = 0; t < 64; ++t) EXPECT_EQ(result[t], t < 32 ? 496u + 31 + 0 : 496u + 1024 + 63 + 0) << t;
}

TEST_P(PtxWarpWide, LaneMasksFollowTheLane) {
  const auto result = results(
      "mov.u32 %r3, %lanemask_lt; mov.u32 %r4, %lanemask_ge; popc.b32 %r3, %r3; popc.b32 %r4, %r4; shl.b32 %r4, %r4, "
      "8; or.b32 %r10, %r3, %r4;");
  for (u32 t = 0; t < 64; ++t) EXPECT_EQ(result[t], t % 32 | (32 - t % 32) << 8) << t;
}

TEST_P(PtxWarpWide, ElectChoosesTheLowestLaneOfAHalf) {
  const auto result =
      results("setp.gt.u32 %p2, %r2, 3; @!%p2 bra OVER; elect.sync %r10|%p1, -1; @%p1 add.u32 %r10, %r10, 100; OVER:");
  for (u32 t = 0; t < 64; ++t) EXPECT_EQ(result[t], t % 32 > 3 ? (t % 32 == 4 ? 104u : 4u) : 0u) << t;
}

}  // namespace
}  // namespace terrace::ptx
