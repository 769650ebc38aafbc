// A kernel as clang-19 prints it, against the same computation in C++ (tests/data/compiled.cu), and one written by hand
// in the two styles of nvcc 13.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <fstream>
#include <sstream>

#include "support/case_name.h"
#include "support/paths.h"
#include "unit/ptx_harness.h"

namespace terrace::ptx {
namespace {

struct Shape {
  i32 a;
  float b[3];
  double c;
};

// The compiler contracts a * b + c, so the reference does too.
float polish(float x, i32 n, const Shape& s) {
  float r = x;
  for (i32 i = 0; i < n; ++i) r = std::fmaf(r, s.b[i % 3], static_cast<float>(s.a));
  return n > 3 ? polish(r, n - 1, s) * 0.5f : r;
}

std::string data_file(const std::string& name) {
  std::ifstream file(source_folder() + "/tests/data/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(PtxCompiled, AKernelOfClangAgreesBitByBitWithTheSameCodeOnTheHost) {
  const std::string text = data_file("compiled.ptx");
  ASSERT_FALSE(text.empty());
  const Shape shape{3, {0.5f, 0.25f, -0.75f}, 1.7};
  const i32 n = 300;
  const u32 threads = 96;
  std::vector<float> in(n + 9);
  std::vector<i32> choice(n);
  for (u32 i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i * 37 % 101) - 49.3f;
  for (i32 t = 0; t < n; ++t) choice[static_cast<u32>(t)] = t * 7 % 6;

  const float coefficients[4] = {1, 2, 3, 4};
  const i32 table[3] = {7, 8, 9};
  std::vector<float> exchange(320), expected(n);
  for (u32 t = 0; t < u32{n}; ++t) {
    float local[8];
    const u32 c = static_cast<u32>(choice[t]);
    for (u32 i = 0; i < 8; ++i) local[(i + c) & 7] = in[t + i] * coefficients[i & 3];
    exchange[t] = local[(c * 3) & 7];
  }
  for (u32 t = 0; t < u32{n}; ++t) {
    float v = 0;
    switch (choice[t]) {
      case 0:
        v = 1;
        break;
      case 1:
        v = exchange[t ^ 1];
        break;
      case 2:
        v = polish(in[t], static_cast<i32>(t % 9), shape);
        break;
      case 3:
        v = static_cast<float>(table[t & 1]);
        break;
      case 4:
        v = 5.5f / in[t + 1];
        break;
      default:
        v = shape.b[t % 3];
    }
    const double d = v;
    expected[t] = static_cast<float>(std::fma(d, shape.c, std::sqrt(std::fabs(d))));
  }

  for (const u32 width : {32u, 64u, 8u}) {
    Harness harness(text, width);
    const auto din = harness.buffer("in", in);
    const auto dchoice = harness.buffer("choice", choice);
    const Buffer<float> out(harness.memory, "out", n);
    Launch launch = harness.launch({(n + threads - 1) / threads}, {threads}, din, dchoice, out, n, shape);
    launch.dynamic_shared_bytes = threads * 4;
    harness.run(launch);
    EXPECT_EQ(harness.read(out), expected) << width;
  }
}

class PtxNvccStyle : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, PtxNvccStyle, testing::Values("nvcc_style_sm90.ptx", "nvcc_style_sm100.ptx"),
                         [](const auto& tested) { return case_name(tested.param, tested.index); });

TEST_P(PtxNvccStyle, AStencilWithACallAgreesBitByBitWithTheHost) {
  const u32 n = 300, threads = 128;
  const float limit = 20;
  std::vector<float> in(n), expected(n);
  for (u32 i = 0; i < n; ++i) in[i] = static_cast<float>(i * 37 % 101) - 49.3f;
  u32 clipped = 0;
  for (u32 i = 0; i < n; ++i) {
    const float before = i == 0 ? 0 : in[i - 1], after = i + 1 == n ? 0 : in[i + 1];
    const float mean = std::fmaf(after, 0.25f, std::fmaf(in[i], 0.5f, before * 0.25f));
    expected[i] = mean < -limit ? -limit : mean > limit ? limit : mean;
    clipped += mean != expected[i];
  }
  ASSERT_GT(clipped, 0u);
  for (const u32 width : {32u, 64u}) {
    Harness harness(data_file(GetParam()), width);
    const auto din = harness.buffer("in", in);
    const auto count = harness.buffer("count", std::vector<u32>(1));
    const Buffer<float> out(harness.memory, "out", n);
    Launch launch = harness.launch({(n + threads - 1) / threads}, {threads}, din, out, count, n, limit);
    launch.kernel = "_Z6smoothPKfPfPjif";
    harness.run(launch);
    EXPECT_EQ(harness.read(out), expected) << width;
    EXPECT_EQ(harness.read(count)[0], clipped) << width;
  }
}

}  // namespace
}  // namespace terrace::ptx
