// Tensor instructions and loads of matrices, through the real reader and executor, against matrices that the host
// multiplies. Layouts are written out here case by case, as the ISA has them.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/rng.h"
#include "frontend/ptx/arith/half.h"
#include "tests/unit/ptx_harness.h"
#include "tests/unit/ptx_matrix_cases.h"

namespace terrace::ptx {
namespace {

using matrix_cases::all_mma;
using matrix_cases::bits_of_type;
using matrix_cases::encode;
using matrix_cases::ldmatrix_text;
using matrix_cases::Mma;
using matrix_cases::random_matrix;
using testing::HasSubstr;

struct Place {
  u32 row, col;
};

/// PTX ISA 9.0, 9.7.14: the figures for each shape, element i of a lane's fragment.
Place place_a(const Mma& mma, u32 lane, u32 i) {
  const u32 group = lane >> 2, in_group = lane % 4;
  switch (bits_of_type(mma.factors)) {
    case 16:
      if (mma.k == 16) return {i < 2 || (i >= 4 && i < 6) ? group : group + 8, in_group * 2 + (i & 1) + (i >= 4) * 8};
      return {i < 2 ? group : group + 8, in_group * 2 + (i & 1)};
    case 32:
      return {i == 0 || i == 2 ? group : group + 8, i < 2 ? in_group : in_group + 4};
    default:
      if (mma.m == 8) return {group, in_group * 4 + (i & 3)};
      if (mma.k == 32) return {i < 4 || (i >= 8 && i < 12) ? group : group + 8, in_group * 4 + (i & 3) + (i >= 8) * 16};
      return {i < 4 ? group : group + 8, in_group * 4 + (i & 3)};
  }
}
Place place_b(const Mma& mma, u32 lane, u32 i) {
  const u32 group = lane >> 2, in_group = lane % 4;
  switch (bits_of_type(mma.factors)) {
    case 16:
      return {in_group * 2 + (i & 1) + (i >= 2) * 8, group};
    case 32:
      return {i == 0 ? in_group : in_group + 4, group};
    default:
      return {in_group * 4 + (i & 3) + (i >= 4) * 16, group};
  }
}
Place place_c(u32 lane, u32 i) {
  return {i < 2 ? lane >> 2 : (lane >> 2) + 8, (lane % 4) * 2 + (i & 1)};
}

struct Problem {
  std::vector<int> a, b, c;
};

/// Words of all lanes, `words` each: element i of a lane is at place(lane, i) of the matrix.
template <class PlaceOf>
void distribute(std::vector<u32>& words, u32 lane_words, u32 first, u32 registers, const std::string& type,
                const std::vector<int>& matrix, u32 cols, PlaceOf&& place) {
  const u32 width = bits_of_type(type), per = 32 / width;
  for (u32 lane = 0; lane < 32; ++lane) {
    for (u32 i = 0; i < registers * per; ++i) {
      const Place at = place(lane, i);
      words[lane * lane_words + first + i / per] |= encode(type, matrix[at.row * cols + at.col]) << i % per * width;
    }
  }
}

int expected_at(const Mma& mma, const Problem& p, u32 row, u32 col) {
  int sum = p.c[row * mma.n + col];
  for (u32 k = 0; k < mma.k; ++k) sum += p.a[row * mma.k + k] * p.b[k * mma.n + col];
  return sum;
}

std::vector<u32> run_mma(const Mma& mma, const std::vector<u32>& in, u32 width = 32) {
  Harness harness(mma_text(mma), width);
  const auto given = harness.buffer("in", in);
  const u32 threads = static_cast<u32>(in.size()) / (mma.a + mma.b + mma.c);
  const Buffer<u32> out(harness.memory, "out", u64{threads} * mma.d);
  harness.run(1, threads, given, out);
  return harness.read(out);
}

TEST(PtxMma, FragmentsLieAsTheIsaStatesInEveryForm) {
  Rng rng(1, "mma");
  for (const Mma& mma : all_mma()) {
    const bool byte_b = mma.opcode.find(mma.factors + ".u8") != std::string::npos;
    const int least_a = mma.factors == "u8" ? 0 : -4, least_b = byte_b ? 0 : -4;
    const Problem p{random_matrix(rng, mma.m * mma.k, least_a, 4), random_matrix(rng, mma.k * mma.n, least_b, 4),
                    random_matrix(rng, mma.m * mma.n, -9, 9)};
    const u32 words = mma.a + mma.b + mma.c;
    std::vector<u32> in(32 * words);
    distribute(in, words, 0, mma.a, mma.factors, p.a, mma.k, [&](u32 l, u32 i) { return place_a(mma, l, i); });
    distribute(in, words, mma.a, mma.b, mma.factors, p.b, mma.n, [&](u32 l, u32 i) { return place_b(mma, l, i); });
    distribute(in, words, mma.a + mma.b, mma.c, mma.sums, p.c, mma.n, [](u32 l, u32 i) { return place_c(l, i); });
    std::vector<u32> expected(32 * mma.d);
    std::vector<int> result(mma.m * mma.n);
    for (u32 i = 0; i < result.size(); ++i) result[i] = expected_at(mma, p, i / mma.n, i % mma.n);
    distribute(expected, mma.d, 0, mma.d, mma.sums, result, mma.n, [](u32 l, u32 i) { return place_c(l, i); });
    EXPECT_EQ(run_mma(mma, in), expected) << mma.opcode;
  }
}

TEST(PtxMma, EachHalfOfAWideWarpMultipliesItsOwnMatrices) {
  Rng rng(2, "mma");
  const Mma mma = all_mma()[1];
  const u32 words = mma.a + mma.b + mma.c;
  std::vector<u32> in(64 * words);
  for (u32& word : in) word = 0x3c00'3c00 + static_cast<u32>(rng.below(64));
  EXPECT_EQ(run_mma(mma, in, 64), run_mma(mma, in, 32));
}

TEST(PtxMma, IntegersWrapOrSaturate) {
  for (const bool saturates : {false, true}) {
    const Mma mma{fmt::format("mma.sync.aligned.m16n8k16.row.col{}.s32.s8.s8.s32", saturates ? ".satfinite" : ""),
                  "s8",
                  "s32",
                  16,
                  8,
                  16,
                  4,
                  2,
                  1,
                  4};
    std::vector<u32> in(32 * 7);
    for (u32 lane = 0; lane < 32; ++lane) {
      for (u32 i = 0; i < 3; ++i) in[lane * 7 + i] = 0x7f7f'7f7f;
      for (u32 i = 3; i < 7; ++i) in[lane * 7 + i] = 0x7fff'ffff;
    }
    const u32 sum = saturates ? 0x7fff'ffff : 0x7fff'ffffu + 16 * 127 * 127;
    EXPECT_EQ(run_mma(mma, in), std::vector<u32>(32 * 4, sum));
  }
}

/// One element of m16n8k8: row 0 of A, column 0 of B, C at (0, 0); all else is zero.
u32 one_sum(const std::string& factors, const std::string& sums, const std::vector<u32>& a, const std::vector<u32>& b,
            u32 c) {
  Mma mma;
  for (const Mma& each : all_mma())
    if (each.k == 8 && each.factors == factors && each.sums == sums) mma = each;
  const u32 words = mma.a + mma.b + mma.c, width = bits_of_type(factors), per = 32 / width;
  std::vector<u32> in(32 * words);
  for (u32 lane = 0; lane < 32; ++lane) {
    for (u32 i = 0; i < mma.a * per; ++i) {
      const Place at = place_a(mma, lane, i);
      if (at.row == 0 && at.col < a.size()) in[lane * words + i / per] |= a[at.col] << i % per * width;
    }
    for (u32 i = 0; i < mma.b * per; ++i) {
      const Place at = place_b(mma, lane, i);
      if (at.col == 0 && at.row < b.size()) in[lane * words + mma.a + i / per] |= b[at.row] << i % per * width;
    }
  }
  in[mma.a + mma.b] = c;
  return run_mma(mma, in)[0] & (sums == "f16" ? 0xffff : ~u32{0});
}

TEST(PtxMma, SumsAreExactUpTo25BitsBehindTheLargestTermAndThenCutOff) {
  const u32 one = 0x3c00, tiny = 0x0400;  // f16: 1, 2^-14
  const auto f32 = [](float x) { return std::bit_cast<u32>(x); };
  // 1 + 2^-24 is cut to 1; 2^-24 twice makes 2^-23, which f32 holds: so nothing was lost before the end.
  EXPECT_EQ(one_sum("f16", "f32", {one, tiny}, {one, 0x1400}, 0), f32(1));  // 0x1400: 2^-10
  EXPECT_EQ(one_sum("f16", "f32", {one, tiny, tiny}, {one, 0x1400, 0x1400}, 0), f32(1.0f + 0x1p-23f));
  // 2^-26 lies behind the 25 bits that are kept: many of them are nothing.
  EXPECT_EQ(one_sum("f16", "f32", {one, tiny, tiny, tiny, tiny, tiny, tiny, tiny},
                    {one, 0x0c00, 0x0c00, 0x0c00, 0x0c00, 0x0c00, 0x0c00, 0x0c00}, 0),  // 0x0c00: 2^-12
            f32(1));
  // A negative term is cut towards zero as well.
  EXPECT_EQ(one_sum("f16", "f32", {one, tiny}, {one, 0x8c00}, 0), f32(1));
  // Products and accumulator cancel exactly.
  EXPECT_EQ(one_sum("f16", "f32", {one, tiny}, {one, one}, f32(-1)), f32(0x1p-14f));
  // Results are cut to f32, but rounded to nearest in f16.
  EXPECT_EQ(one_sum("f16", "f16", {one, one}, {0x6800, one}, 0), 0x6800u);     // 2048 + 1: a tie, to even
  EXPECT_EQ(one_sum("f16", "f16", {one, one}, {0x6800, 0x4200}, 0), 0x6802u);  // 2048 + 3: a tie, up
  EXPECT_EQ(one_sum("f16", "f32", {one, one}, {0x7bff, 0x0001}, f32(0x1p24f)), f32(0x1p24f + 65504));
}

TEST(PtxMma, SpecialNumbersOfEachFormat) {
  const auto f32 = [](float x) { return std::bit_cast<u32>(x); };
  const u32 inf = 0x7f80'0000, nan = 0x7fff'ffff;
  EXPECT_EQ(one_sum("f16", "f32", {0x7c00}, {0x3c00}, 0), inf);
  EXPECT_EQ(one_sum("f16", "f32", {0x7c00}, {0xbc00}, 0), inf | 0x8000'0000);
  EXPECT_EQ(one_sum("f16", "f32", {0x7c00}, {0}, 0), nan);
  EXPECT_EQ(one_sum("f16", "f32", {0x7c00, 0x7c00}, {0x3c00, 0xbc00}, 0), nan);
  EXPECT_EQ(one_sum("f16", "f32", {0x3c00}, {0x3c00}, 0x7f80'0001), nan);
  EXPECT_EQ(one_sum("f16", "f16", {0x7bff}, {0x7bff}, 0), 0x7c00u);
  EXPECT_EQ(one_sum("f16", "f16", {0x7e01}, {0x3c00}, 0), 0x7fffu);
  // Subnormal factors and accumulators count.
  EXPECT_EQ(one_sum("f16", "f32", {0x0001}, {0x3c00}, 0), f32(0x1p-24f));
  EXPECT_EQ(one_sum("bf16", "f32", {0}, {0}, 1), 1u);
  EXPECT_EQ(one_sum("bf16", "f32", {0x7f00}, {0x4000}, 0), inf);  // 2^127 * 2
  // An accumulator that is zero counts with the exponent -126: eight products of 2^-152 are cut off, and do not make 2^-149.
  EXPECT_EQ(one_sum("bf16", "f32", std::vector<u32>(8, 0x0100), std::vector<u32>(8, 0x3200), 0), 0u);
  EXPECT_EQ(one_sum("bf16", "f32", std::vector<u32>(8, 0x0100), std::vector<u32>(8, 0x3280), 0), 2u);
  // tf32 ignores the low 13 bits of its registers.
  EXPECT_EQ(one_sum("tf32", "f32", {f32(1.5f) | 0x1fff}, {f32(3) | 0x1fff}, 0), f32(4.5f));
  EXPECT_EQ(one_sum("tf32", "f32", {0x8000'0000}, {f32(1)}, 0x8000'0000), 0u);  // a sum of zeros is +0
}

/// Random numbers over the whole range: beside an exact sum, within what 25 kept bits and one cut can lose.
TEST(PtxMma, RandomSumsAreWithinTheirBound) {
  Rng rng(3, "mma");
  for (u32 round = 0; round < 200; ++round) {
    std::vector<u32> a(8), b(8);
    long double exact = 0;
    double largest = 0;
    for (u32 i = 0; i < 8; ++i) {
      a[i] = static_cast<u32>(rng.below(0x7800)) | static_cast<u32>(rng.below(2)) << 15;
      b[i] = static_cast<u32>(rng.below(0x7800)) | static_cast<u32>(rng.below(2)) << 15;
      const double x = widen(F16{static_cast<u16>(a[i])}), y = widen(F16{static_cast<u16>(b[i])});
      exact += static_cast<long double>(x) * y;
      largest = std::max(largest, std::fabs(x * y));
    }
    const float sum = std::bit_cast<float>(one_sum("f16", "f32", a, b, 0));
    const double lost = std::fabs(static_cast<double>(exact - sum));
    EXPECT_LE(lost, 8 * largest * 0x1p-24 + std::fabs(sum) * 0x1p-22);
  }
}

/// Of f64: chains of fused multiply-adds, which round in the order of k. The layout is the ISA's.
TEST(PtxMma, DoublesAreMultipliedAndAddedOneAfterTheOther) {
  for (const std::string rounding : {"", ".rn"}) {
    Harness harness(matrix_cases::mma_f64_text(rounding));
    Rng rng(5, "mma of doubles");
    const std::vector<u8> bytes = matrix_cases::doubles(rng, 1);
    std::vector<double> in(32 * 4);
    std::memcpy(in.data(), bytes.data(), bytes.size());
    double a[8][4], b[4][8], c[8][8];
    for (u32 lane = 0; lane < 32; ++lane) {
      a[lane / 4][lane % 4] = in[lane * 4];
      b[lane % 4][lane / 4] = in[lane * 4 + 1];
      for (u32 e = 0; e < 2; ++e) c[lane / 4][lane % 4 * 2 + e] = in[lane * 4 + 2 + e];
    }
    const auto from = harness.buffer("in", in);
    const auto out = harness.buffer("out", std::vector<double>(64));
    harness.run(1, 32, from, out);
    const auto got = harness.read(out);
    for (u32 lane = 0; lane < 32; ++lane)
      for (u32 e = 0; e < 2; ++e) {
        const u32 row = lane / 4, col = lane % 4 * 2 + e;
        double sum = c[row][col];
        for (u32 k = 0; k < 4; ++k) sum = std::fma(a[row][k], b[k][col], sum);
        EXPECT_EQ(got[lane * 2 + e], sum) << row << " " << col;
      }
  }
  EXPECT_THAT(refusal([] {
                Harness(kernel_text({},
                                    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd0}, {%fd0}, "
                                    "{%fd1}, {%fd2, %fd3}; ret;"));
              }),
              HasSubstr("1 registers are given for a fragment of 2"));
}

TEST(PtxMma, NeedsAllLanesOfAWarp) {
  const Mma mma = all_mma()[0];
  const std::string sentence = refusal([&] { run_mma(mma, std::vector<u32>(u64{16} * (mma.a + mma.b + mma.c))); });
  EXPECT_THAT(sentence, HasSubstr("executes it with 16 of 32 lanes; an instruction for matrices needs all of them"));
}

std::string refusal_of(const std::string& statement) {
  return refusal([&] { Harness(kernel_text({}, statement + " ret;")); });
}

TEST(PtxMma, RefusesOtherFormsByName) {
  const std::string four = "{%r0, %r1, %r2, %r3}", two = "{%r4, %r5}";
  const std::string operands = fmt::format(" {}, {}, {}, {};", four, four, two, four);
  for (const char* opcode :
       {"mma.sync.aligned.m16n8k16.col.col.f32.f16.f16.f32x", "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e4m3.f32", "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32", "mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16",
        "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64",
        "mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"})
    EXPECT_THAT(refusal_of(opcode + operands), HasSubstr("this form is not supported; there are .row.col")) << opcode;
  EXPECT_THAT(refusal_of("mma.m16n8k16.row.col.f32.f16.f16.f32" + operands), HasSubstr("needs .sync.aligned"));
  EXPECT_THAT(refusal_of("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0, %r1}, {%r0, %r1, %r2, %r3}, {%r4, "
                         "%r5}, {%r0, %r1, %r2, %r3};"),
              HasSubstr("2 registers are given for a fragment of 4"));
  EXPECT_THAT(refusal_of("wgmma.fence.sync.aligned;"), HasSubstr("use mma or wmma instead"));
}

TEST(PtxLdmatrix, LanesGetTheirElementsOfEachMatrix) {
  for (const u32 count : {1u, 2u, 4u}) {
    for (const bool transposed : {false, true}) {
      Harness harness(matrix_cases::ldmatrix_of(count, transposed));
      const Buffer<u32> out(harness.memory, "out", 32 * 4);
      harness.run(1, 32, out, out);
      const auto got = harness.read(out);
      for (u32 lane = 0; lane < 32; ++lane) {
        for (u32 m = 0; m < count; ++m) {
          u32 expected = 0;
          for (u32 e = 0; e < 2; ++e) {
            const u32 row = transposed ? lane % 4 * 2 + e : lane / 4, col = transposed ? lane / 4 : lane % 4 * 2 + e;
            expected |= ((m * 8 + row) * 5 % 64 * 8 + col) << 16 * e;
          }
          EXPECT_EQ(got[lane * 4 + m], expected) << count << ' ' << transposed << ' ' << lane << ' ' << m;
        }
      }
    }
  }
}

TEST(PtxLdmatrix, StmatrixPutsBackWhatLdmatrixTookAndMovmatrixTransposes) {
  Harness harness(matrix_cases::stmatrix_and_movmatrix());
  const Buffer<u32> out(harness.memory, "out", 32 * 4);
  harness.run(1, 32, out, out);
  const auto got = harness.read(out);
  for (u32 lane = 0; lane < 32; ++lane) {
    for (u32 m = 0; m < 2; ++m) {
      const u32 col = lane / 4, row = lane % 4 * 2;
      const u32 expected = (m * 64 + row * 8 + col) | (m * 64 + (row + 1) * 8 + col) << 16;
      EXPECT_EQ(got[lane * 4 + m], expected);
      if (m == 0) {
        EXPECT_EQ(got[lane * 4 + 2], expected);
      }
    }
  }
}

TEST(PtxLdmatrix, FaultsAndRefusals) {
  const auto run = [](const std::string& body) {
    return refusal([&] {
      Harness harness(ldmatrix_text(body));
      const Buffer<u32> out(harness.memory, "out", 32 * 4);
      harness.run(1, 32, out, out);
    });
  };
  EXPECT_THAT(run("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r5+2];"), HasSubstr("reads 16 bytes at"));
  EXPECT_THAT(run("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10,%r11,%r12,%r13}, [%r5+1024];"),
              HasSubstr("reads 16 bytes at"));
  EXPECT_THAT(run("ldmatrix.sync.aligned.m8n8.x1.b16 {%r10}, [%rd0];"), HasSubstr("outside of shared memory"));
  EXPECT_THAT(run("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {%r10}, [%r5];"), HasSubstr("only m8n8"));
  EXPECT_THAT(run("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r10}, [%r5];"), HasSubstr("1 registers are given"));
  EXPECT_THAT(run("ldmatrix.sync.aligned.m8n8.x1.global.b16 {%r10}, [%rd0];"), HasSubstr("shared memory only"));
}

TEST(PtxWmma, LoadsMultipliesAndStoresEveryShapeTypeAndLayout) {
  Rng rng(4, "wmma");
  for (const matrix_cases::Wmma& w : matrix_cases::all_wmma()) {
    for (u32 layouts = 0; layouts < 8; ++layouts) {
      const matrix_cases::Layouts by_rows{(layouts & 1) != 0, (layouts & 2) != 0, (layouts & 4) != 0};
      const matrix_cases::WmmaProblem problem = wmma_problem(rng, w, by_rows);
      Harness harness(wmma_text(w, by_rows));
      const auto in = harness.buffer("in", problem.in);
      const auto out = harness.buffer("out", std::vector<u8>(problem.out.size()));
      harness.run(1, 32, in, out);
      EXPECT_EQ(harness.read(out), problem.out) << w.shape << ' ' << w.factors << ' ' << w.sum_out << ' ' << layouts;
    }
  }
}

TEST(PtxWmma, ActsOnSharedMemoryWithoutAStride) {
  Harness harness(kernel_text(
      {"u64 out"},
      ".shared .align 32 .b32 m[256];\n"
      "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, m; mov.u32 %r2, 0;\n"
      "FILL: mad.lo.u32 %r3, %r2, 32, %r0; shl.b32 %r4, %r3, 2; add.u32 %r4, %r4, %r1;\n"
      "st.shared.u32 [%r4], %r3; add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, 8; @%p0 bra FILL;\n"
      "wmma.load.c.sync.aligned.row.m16n16k16.shared.s32 {%r10,%r11,%r12,%r13,%r14,%r15,%r16,%r17}, [m];\n"
      "wmma.store.d.sync.aligned.col.m16n16k16.global.s32 [%rd0], {%r10,%r11,%r12,%r13,%r14,%r15,%r16,%r17};\n"
      "ret;"));
  const Buffer<u32> out(harness.memory, "out", 256);
  harness.run(1, 32, out);
  const auto got = harness.read(out);
  for (u32 i = 0; i < 256; ++i) EXPECT_EQ(got[i], i % 16 * 16 + i / 16);
}

TEST(PtxWmma, AllLanesMustNameTheSameMatrix) {
  const auto run = [](const std::string& load) {
    return refusal([&] {
      Harness harness(kernel_text({"u64 out"},
                                  "ld.param.u64 %rd0, [out]; mov.u32 %r0, %laneid; mul.wide.u32 %rd1, %r0, 32;\n"
                                  "add.u64 %rd1, %rd1, %rd0; add.u32 %r1, %r0, 16;\n" +
                                      load + " ret;"));
      const Buffer<u32> out(harness.memory, "out", 4096);
      harness.run(1, 32, out);
    });
  };
  const std::string into = "wmma.load.a.sync.aligned.row.m16n16k16.global.s8 {%r2,%r3}, ";
  EXPECT_EQ(run(into + "[%rd0];"), "");
  EXPECT_THAT(run(into + "[%rd1];"), HasSubstr("another address or stride of the matrix than lane 0"));
  EXPECT_THAT(run(into + "[%rd0], %r1;"), HasSubstr("another address or stride of the matrix than lane 0"));
  EXPECT_THAT(run(into + "[%rd0+16384];"), HasSubstr("reads 8 bytes at"));
  EXPECT_THAT(run(into + "[%rd0+4];"), HasSubstr("reads 8 bytes at"));
}

/// Of f64, in all layouts and with strides beyond the row or column; what lies between rows stays as it is.
TEST(PtxWmma, DoublesOfEachLayoutAreMultipliedAndAddedInTheOrderOfK) {
  const auto at = [](bool rows, u32 row, u32 col, u32 stride) {
    return rows ? row * stride + col : col * stride + row;
  };
  for (u32 layouts = 0; layouts < 16; ++layouts) {
    const bool a_rows = layouts & 1, b_rows = layouts & 2, c_rows = layouts & 4, d_rows = layouts & 8;
    const auto word = [](bool rows) { return rows ? "row" : "col"; };
    Harness harness(kernel_text({"u64 a", "u64 b", "u64 c", "u64 d"},
                                fmt::format(R"(
      ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c]; ld.param.u64 %rd4, [d]; mov.u32 %r1, 12;
      wmma.load.a.sync.aligned.{0}.m8n8k4.global.f64 {{%fd1}}, [%rd1], %r1;
      wmma.load.b.sync.aligned.{1}.m8n8k4.f64 {{%fd2}}, [%rd2], %r1;
      wmma.load.c.sync.aligned.{2}.m8n8k4.f64 {{%fd3, %fd4}}, [%rd3], %r1;
      wmma.mma.sync.aligned.{0}.{1}.m8n8k4.f64.f64.f64.f64.rn {{%fd5, %fd6}}, {{%fd1}}, {{%fd2}}, {{%fd3, %fd4}};
      wmma.store.d.sync.aligned.{3}.m8n8k4.f64 [%rd4], {{%fd5, %fd6}}, %r1; ret;)",
                                            word(a_rows), word(b_rows), word(c_rows), word(d_rows))));
    Rng rng(7, "wmma of doubles");
    std::vector<double> a(96), b(96), c(96);
    for (std::vector<double>* each : {&a, &b, &c})
      for (double& value : *each) value = static_cast<double>(rng.below(1u << 20)) * 0x1.23456789p-10 - 300;
    const auto out = harness.buffer("d", std::vector<double>(96, 77));
    harness.run(1, 32, harness.buffer("a", a), harness.buffer("b", b), harness.buffer("c", c), out);
    const auto got = harness.read(out);
    std::vector<double> expected(96, 77);
    for (u32 row = 0; row < 8; ++row) {
      for (u32 col = 0; col < 8; ++col) {
        double sum = c[at(c_rows, row, col, 12)];
        for (u32 k = 0; k < 4; ++k) sum = std::fma(a[at(a_rows, row, k, 12)], b[at(b_rows, k, col, 12)], sum);
        expected[at(d_rows, row, col, 12)] = sum;
      }
    }
    EXPECT_EQ(got, expected) << layouts;
  }
}

TEST(PtxWmma, RefusesOtherFormsByName) {
  EXPECT_THAT(refusal_of("wmma.load.c.sync.aligned.row.m16n16k16.f64 {%r1}, [%rd0];"),
              HasSubstr("this form is not supported"));
  EXPECT_THAT(refusal_of("wmma.mma.sync.aligned.row.col.m8n8k4.f32.f64.f64.f64 {%r1}, {%r1}, {%r1}, {%r1};"),
              HasSubstr("this form is not supported"));
  EXPECT_THAT(refusal_of("wmma.load.a.sync.aligned.row.m16n16k8.f16 {%r1}, [%rd0];"),
              HasSubstr("this form is not supported"));
  EXPECT_THAT(refusal_of("wmma.load.d.sync.aligned.row.m16n16k16.f16 {%r1}, [%rd0];"), HasSubstr("needs .a, .b or .c"));
  EXPECT_THAT(refusal_of("wmma.load.a.sync.aligned.row.m16n16k16.local.f16 {%r1}, [%rd0];"),
              HasSubstr("global and shared"));
  EXPECT_THAT(refusal_of("wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32 {%r1,%r2}, {%r3}, {%r4}, {%r1,%r2};"),
              HasSubstr("this form is not supported"));
}

}  // namespace
}  // namespace terrace::ptx
