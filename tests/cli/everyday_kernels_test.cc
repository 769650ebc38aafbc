// Kernels as people write them for nvcc: each is compiled without a CUDA toolkit, executed, and checked by its own file.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "support/paths.h"
#include "support/program.h"
#include "support/scratch.h"

namespace terrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<std::string> everyday_kernels() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() + "/tests/data/everyday"))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class EverydayKernels : public testing::TestWithParam<std::string> {};

TEST_P(EverydayKernels, CompilesRunsAndIsRight) {
  const Outcome outcome = run_terrace(
      {"exec", source_folder() + "/tests/data/everyday/" + GetParam() + ".toml", "--check"}, source_folder());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("check passed"));
}

INSTANTIATE_TEST_SUITE_P(All, EverydayKernels, testing::ValuesIn(everyday_kernels()),
                         [](const auto& its) { return its.param; });

/// A program of one launch, and what `terrace` with these words says to it.
std::string complaint(const std::string& code, const std::vector<std::string>& words, int exit_code = 2,
                      const std::string& launch = "grid = [1]\nblock = [32]\nargs = [\"x\", 0]\n") {
  const Scratch scratch;
  scratch.write("own/k.cu", code);
  scratch.write(
      "own/k.toml",
      "source = \"k.cu\"\n[[buffer]]\nname = \"x\"\ntype = \"i32\"\ncount = 64\n[[launch]]\nkernel = \"k\"\n" + launch);
  const Outcome outcome = run_terrace(words, scratch.path().string());
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.out << outcome.err;
  return outcome.err;
}

const std::vector<std::string> kExec{"exec", "own/k.toml"};
const std::vector<std::string> kRun{"run", "--gpu", "dws_30sm", "--quiet", "--tenant", "own/k.toml"};

TEST(SourceLines, AFaultNamesTheLineOfItsSource) {
  const char code[] =
      "__device__ void put(int* at, int value) {\n"
      "  *at = value;\n"
      "}\n"
      "__global__ void k(int* x, int far) {\n"
      "  x[threadIdx.x] = 1;\n"
      "  if (threadIdx.x == 3)\n"
      "    atomicAdd(&x[1 << 20], far);\n"
      "}\n";
  EXPECT_THAT(complaint(code, kExec), HasSubstr("own/k.cu:7 (line "));
  EXPECT_THAT(complaint(code, kRun), HasSubstr("own/k.cu:7 (line "));
  // Of an inlined function it is the line inside it.
  const std::string inlined =
      std::string(code).replace(std::string(code).find("atomicAdd"), 28, "put(&x[1 << 20], far);      ");
  EXPECT_THAT(complaint(inlined, kExec), HasSubstr("own/k.cu:2 (line "));
}

TEST(SourceLines, AnEndlessLoopAndABarrierThatNeverCompletesNameThem) {
  EXPECT_THAT(
      complaint("__global__ void k(volatile int* x, int n) {\n  x[0] = n;\n  while (x[0] == 0)\n    x[1] = 2;\n}\n",
                {"exec", "own/k.toml", "--limit", "10000"}),
      AllOf(HasSubstr("without ending"), HasSubstr("own/k.cu:")));
  EXPECT_THAT(complaint("__global__ void k(int* x, int n) {\n  if (threadIdx.x / 32 == n)\n    __syncthreads();\n"
                        "  else\n    asm volatile(\"bar.sync 1, 64;\");\n}\n",
                        kExec, 2, "grid = [1]\nblock = [64]\nargs = [\"x\", 0]\n"),
              AllOf(HasSubstr("never complete"), HasSubstr("own/k.cu:3 (line ")));
}

TEST(SourceLines, AnotherFileIsNamedAsItself) {
  const Scratch scratch;
  scratch.write("own/util.h", "__device__ inline void put(int* at) {\n  *at = 1;\n}\n");
  scratch.write("own/k.cu", "#include \"util.h\"\n__global__ void k(int* x) { put(x + (1 << 20)); }\n");
  scratch.write("own/k.toml",
                "source = \"k.cu\"\n[[buffer]]\nname = \"x\"\ntype = \"i32\"\ncount = 1\n[[launch]]\nkernel = \"k\"\n"
                "args = [\"x\"]\n");
  EXPECT_THAT(run_terrace(kExec, scratch.path().string()).err,
              AllOf(HasSubstr("util.h:2 (line "), HasSubstr(" of the PTX of own/k.cu)")));
}

/// Neither results nor the recorded code depend on the folder that a source lies in.
TEST(SourceLines, TheCodeIsTheSameInEveryFolder) {
  const auto hash_in = [](const std::string& folder) {
    const Scratch scratch;
    scratch.write(folder + "/k.cu", "__global__ void k(int* x) { x[threadIdx.x] = 1; }\n");
    scratch.write(
        folder + "/k.toml",
        "source = \"k.cu\"\n[[buffer]]\nname = \"x\"\ntype = \"i32\"\ncount = 32\n[[launch]]\nkernel = \"k\"\n"
        "block = [32]\nargs = [\"x\"]\n");
    const std::string out = run_terrace({"exec", folder + "/k.toml"}, scratch.path().string()).out;
    return out.substr(out.find('('), 18);
  };
  EXPECT_EQ(hash_in("a"), hash_in("somewhere/else"));
}

TEST(LaunchErrors, NameFileAndLaunch) {
  const char code[] = "__global__ void __launch_bounds__(64) k(int* x, int n) { x[0] = n; }\n";
  const std::string here = "own/k.toml:6: launch[0]: ";
  for (const auto& words : {kExec, kRun}) {
    EXPECT_THAT(complaint(code, words, 2, "block = [32]\nargs = [\"x\"]\n"),
                HasSubstr(here + "kernel _Z1kPii takes 2 arguments, 1 are given"));
    EXPECT_THAT(
        complaint(code, words, 2, "block = [96]\nargs = [\"x\", 1]\n"),
        HasSubstr(here + "kernel _Z1kPii is launched with 96 threads per block but is compiled for at most 64"));
  }
  EXPECT_THAT(complaint(code, kRun, 2, "block = [32]\nshared = 1000000\nargs = [\"x\", 1]\n"),
              HasSubstr(here + "kernel k needs 1 warps"));
  EXPECT_THAT(complaint("__global__ void other(int* x, int n) { x[0] = n; }\n", kExec),
              AllOf(HasSubstr(here + "own/k.cu has no kernel \"k\""), HasSubstr("_Z5otherPii (other(int*, int))")));
}

TEST(PlainNames, AnOverloadedKernelNeedsItsWholeName) {
  const char code[] = "__global__ void k(int* x, int n) { x[0] = n; }\n__global__ void k(int* x) { x[0] = 1; }\n";
  EXPECT_THAT(complaint(code, kExec),
              HasSubstr("has no kernel \"k\"; it has _Z1kPi (k(int*)), _Z1kPii (k(int*, int))"));
}

}  // namespace
}  // namespace terrace
