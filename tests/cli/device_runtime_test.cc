// Kernels that print, assert and take memory, from CUDA source to what a user sees.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "support/program.h"
#include "support/scratch.h"

namespace terrace {
namespace {

constexpr const char* kSource = R"(#include "terrace_device.h"
extern "C" __global__ void k(int* out, int most) {
  const int i = global_thread();
  assert(i < most);
  int* place = static_cast<int*>(malloc(4));
  *static_cast<volatile int*>(place) = i + 1;
  out[i] = *place;
  if (i % 20 == 0) printf("thread %d of block %d: %s, %5.2f\n", i, blockIdx.x, "fine", i / 3.0);
  free(place);
}
)";

std::string program(const Scratch& scratch, const std::string& name, int most) {
  scratch.write("k.cu", kSource);
  return scratch.write(name,
                       "source = \"k.cu\"\n[[buffer]]\nname = \"out\"\ntype = \"i32\"\ncount = 64\n"
                       "[[launch]]\nkernel = \"k\"\ngrid = [2]\nblock = [32]\nargs = [\"out\", " +
                           std::to_string(most) + "]\n[[expect]]\nbuffer = \"out\"\nequals = \"iota\"\nvalue = 1\n");
}

constexpr const char* kText =
    "thread 0 of block 0: fine,  0.00\nthread 20 of block 0: fine,  6.67\n"
    "thread 40 of block 1: fine, 13.33\nthread 60 of block 1: fine, 20.00\n";

TEST(DeviceRuntimeProgram, PrintsAheadOfItsResults) {
  const Scratch scratch;
  const std::string good = program(scratch, "good.toml", 64);
  Outcome outcome = run_terrace({"exec", good}, scratch.path().string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with(kText + good)) << outcome.out;
  outcome = run_terrace({"run", "--gpu", "dws_30sm", "--tenant", good, "--quiet"}, scratch.path().string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* line : {"thread 0 of block 0: fine,  0.00\n", "thread 60 of block 1: fine, 20.00\n"})
    EXPECT_LT(outcome.out.find(line), outcome.out.find("digest ")) << outcome.out;
}

TEST(DeviceRuntimeProgram, HasAHeapAsLargeAsItsFileSays) {
  const Scratch scratch;
  scratch.write("k.cu",
                "#include \"terrace_device.h\"\n"
                "extern \"C\" __global__ void k() { void* volatile p = malloc(300); printf(\"%d\", p != nullptr); }\n");
  const auto printed = [&](const std::string& heap) {
    const std::string path = scratch.write(
        "k.toml", heap + "source = \"k.cu\"\n[[launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [4]\nargs = []\n");
    const Outcome outcome = run_terrace({"exec", path}, scratch.path().string());
    return outcome.exit_code == 0 ? outcome.out.substr(0, 4) : outcome.err;
  };
  EXPECT_EQ(printed(""), "1111");
  EXPECT_EQ(printed("heap_bytes = 1000\n"), "1110");
  EXPECT_EQ(printed("heap_bytes = 0\n"), "0000");
  EXPECT_NE(
      printed("heap_bytes = \"1 MB\"\n").find("k.toml:1: heap_bytes must be a whole number from 0 to 17179869184"),
      std::string::npos);
}

TEST(DeviceRuntimeProgram, RecursesAsDeepAsItsFileSays) {
  const Scratch scratch;
  scratch.write(
      "k.cu",
      "__device__ int fold(int n, volatile int* up) {\n"
      "  volatile int own[4]; own[n % 4] = n;\n"
      "  return n == 0 ? up[1] - 1 : fold(n - 1, own) + own[n % 4];\n}\n"
      "extern \"C\" __global__ void k() { volatile int first[2] = {0, 1}; printf(\"%d\", fold(300, first)); }\n");
  const auto outcome = [&](const std::string& stack) {
    const std::string path = scratch.write(
        "k.toml", stack + "source = \"k.cu\"\n[[launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [1]\nargs = []\n");
    return run_terrace({"exec", path}, scratch.path().string());
  };
  const Outcome shallow = outcome(""), deep = outcome("stack_bytes = 65536\n");
  EXPECT_EQ(shallow.exit_code, 2);
  EXPECT_NE(shallow.err.find("give it a larger stack"), std::string::npos) << shallow.err;
  EXPECT_EQ(deep.exit_code, 0) << deep.err;
  EXPECT_TRUE(deep.out.starts_with("45150")) << deep.out;  // 300 * 301 / 2
  EXPECT_NE(outcome("stack_bytes = 524289\n").err.find("stack_bytes must be a whole number from 0 to 524288"),
            std::string::npos);
}

TEST(DeviceRuntimeProgram, AFailedAssertionEndsItsTenantOnly) {
  const Scratch scratch;
  const std::string good = program(scratch, "good.toml", 64), bad = program(scratch, "bad.toml", 50);
  const std::string sentence = "lane 18 of warp 0 of block 1 fails the assertion \"i < most\" at ";
  Outcome outcome = run_terrace({"exec", bad}, scratch.path().string());
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find(sentence), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("k.cu:4 in function void k(int *, int)"), std::string::npos) << outcome.err;
  // What was printed before comes out.
  EXPECT_EQ(outcome.out, "thread 0 of block 0: fine,  0.00\nthread 20 of block 0: fine,  6.67\n");
  outcome = run_terrace({"run", "--gpu", "dws_30sm", "--tenant", bad, "--tenant", good, "--check", "--quiet"},
                        scratch.path().string());
  EXPECT_NE(outcome.err.find(sentence), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("thread 60 of block 1"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("FAILED: out"), std::string::npos) << outcome.out;
}

TEST(DeviceRuntimeProgram, AnEndlessLoopEndsAtTheLimitThatIsGiven) {
  const Scratch scratch;
  scratch.write("k.ptx", ".version 7.8\n.target sm_70\n.address_size 64\n.visible .entry k() {\nSPIN: bra SPIN;\n}\n");
  const std::string path =
      scratch.write("k.toml", "source = \"k.ptx\"\n[[launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [4]\nargs = []\n");
  Outcome outcome = run_terrace({"exec", path, "--limit", "5000", "--loop-limit", "0"}, scratch.path().string());
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("kernel k has executed 5000 warp instructions without ending: warp 0 of block 0 runs at "),
            std::string::npos)
      << outcome.err;
  outcome = run_terrace({"exec", path, "--limit", "many"}, scratch.path().string());
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, "terrace: exec: --limit must be a whole number of warp instructions from 1 on, not many\n");
}

}  // namespace
}  // namespace terrace
