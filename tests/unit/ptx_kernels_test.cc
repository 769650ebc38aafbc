// Whole kernels: what compilers print for simple CUDA code runs and gives the right numbers.
// SPDX-License-Identifier: MIT
#include "unit/ptx_harness.h"

namespace terrace::ptx {
namespace {

TEST(PtxKernels, SaxpyComputesEveryElementAndLeavesTheRestAlone) {
  Harness harness(kernel_text({"u64 x", "u64 y", "f32 a", "u32 n"}, R"(
    ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.f32 %f1, [a]; ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2;
    mul.wide.s32 %rd3, %r5, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4]; ld.global.f32 %f3, [%rd5];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%rd5], %f4;
  DONE:
    ret;)"));
  const u32 n = 100;
  std::vector<float> x(128), y(128);
  for (u32 i = 0; i < 128; ++i) x[i] = static_cast<float>(i), y[i] = static_cast<float>(1000 + i);
  const auto bx = harness.buffer("x", x), by = harness.buffer("y", y);
  harness.run(2, 64, bx, by, 2.0f, n);
  const auto result = harness.read(by);
  for (u32 i = 0; i < 128; ++i) EXPECT_EQ(result[i], i < n ? 2.0f * x[i] + y[i] : y[i]) << i;
}

TEST(PtxKernels, ALoopWithADivergentTripCountSumsTheRightNumberOfTerms) {
  Harness harness(kernel_text({"u64 out"}, R"(
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mov.u32 %r3, 0;
  LOOP:
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 bra DONE;
    add.u32 %r2, %r2, 1; add.u32 %r3, %r3, %r2;
    bra.uni LOOP;
  DONE:
    mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r3;
    ret;)"));
  const auto out = harness.buffer("out", std::vector<u32>(64));
  harness.run(1, 64, out);
  const auto result = harness.read(out);
  for (u32 t = 0; t < 64; ++t) EXPECT_EQ(result[t], t * (t + 1) / 2);
}

}  // namespace
}  // namespace terrace::ptx
