// The workloads on the PTX machine: right results, checks that notice wrong ones, and the access pattern of the
// specification.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/check.h"
#include "frontend/ptx/execute/machine.h"
#include "run/exec.h"
#include "support/paths.h"

namespace terrace {
namespace {

ExecResult run(const std::string& program, const std::string& size) {
  ExecOptions options;
  options.program = program;
  options.size = size;
  options.check = true;
  return execute_program(options);
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const Workload* workload : all_workloads()) names.emplace_back(workload->info().name);
  return names;
}

class EveryWorkload : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Workload, EveryWorkload, testing::ValuesIn(names()),
                         [](const auto& test) { return test.param; });

TEST_P(EveryWorkload, GivesTheRightResultAtMiniWithinItsLimitOfInstructions) {
  const ExecResult result = run(GetParam(), "mini");
  EXPECT_TRUE(result.check->passed) << result.check->message;
  EXPECT_LE(result.total.warp_instructions, 20'000u);
  EXPECT_GT(result.total.line_accesses, 0u);
}

TEST_P(EveryWorkload, GivesTheRightResultAtTinyWithAboutAMillionInstructions) {
  const ExecResult result = run(GetParam(), "tiny");
  EXPECT_TRUE(result.check->passed) << result.check->message;
  EXPECT_LE(result.total.warp_instructions, 1'500'000u);
}

TEST_P(EveryWorkload, GivesTheRightResultWhenOnlyPartOfTheBlocksIsLaunched) {
  const ExecResult result = run(GetParam() + ":slice=0.4", "mini");
  EXPECT_TRUE(result.check->passed) << result.check->message;
}

TEST_P(EveryWorkload, GivesTheRightResultWhenRepeated) {
  const ExecResult result = run(GetParam() + ":iters=3", "mini");
  EXPECT_TRUE(result.check->passed) << result.check->message;
}

TEST_P(EveryWorkload, LeavesTheSameMemoryForTheSameSeed) {
  EXPECT_EQ(run(GetParam(), "mini").digest, run(GetParam(), "mini").digest);
}

TEST_P(EveryWorkload, StartsAgainFromTheSameMemoryWhenRelaunched) {
  const ProgramInstance instance = make_workload(parse_workload(GetParam(), InputSize::kMini));
  GuestMemory memory(PageSize::k4K);
  instance.program->allocate(memory);
  ptx::Machine machine(ptx::parse_module(instance.code.file, instance.code.text), memory);
  u64 first = 0;
  for (u32 time = 0; time < 2; ++time) {
    instance.program->initialise(memory);
    run_functionally(*instance.program, machine, memory);
    if (time == 0) first = memory.digest();
  }
  EXPECT_EQ(memory.digest(), first);
  EXPECT_TRUE(instance.program->check(memory).passed);
}

TEST_P(EveryWorkload, HasDeviceCodeThatNamesNothingOfTheMachineItWasCompiledOn) {
  const DeviceCode code = read_workload_module(find_workload(GetParam()).info().module);
  EXPECT_EQ(code.text.find(source_folder()), std::string::npos);
  EXPECT_EQ(code.text.find(".file"), std::string::npos);
}

TEST_P(EveryWorkload, RunsAsNvccCompilesIt) {
  const std::string module(find_workload(GetParam()).info().module);
  ExecOptions options;
  options.program = GetParam();
  options.size = "mini";
  options.check = true;
  options.code = workload_folder() + "/nvcc/" + module + ".ptx";
  if (!std::filesystem::exists(options.code)) GTEST_SKIP() << "build the target nvcc_modules (needs a CUDA toolkit)";
  const ExecResult result = execute_program(options);
  EXPECT_TRUE(result.check->passed) << result.check->message;
}

TEST(WorkloadRun, AnotherSeedGivesAnotherInputWhereTheInputIsDrawn) {
  for (const char* name : {"gups", "blk", "mm", "bfs", "cp", "xsbench", "kmeans", "sssp", "mis",    "color", "pagerank",
                           "fw",   "3ds", "hs", "fft", "bp", "nw",      "bino",   "lbm",  "lavamd", "srad",  "sad"})
    EXPECT_NE(run(name, "mini").digest, run(std::string(name) + ":seed=2", "mini").digest) << name;
}

/// Programs whose results one wrong value spoils, and where those are.
struct Output {
  const char* program;
  const char* buffer;
};
class EveryOutput : public testing::TestWithParam<Output> {};
INSTANTIATE_TEST_SUITE_P(
    Workload, EveryOutput,
    testing::Values(Output{"gups:update=atomic64", "table"}, Output{"gups:variant=mask", "table"},
                    Output{"blk", "call"}, Output{"blk", "put"}, Output{"mm", "C"}, Output{"atax", "tmp"},
                    Output{"atax", "y"}, Output{"mvt", "x1"}, Output{"mvt", "x2"}, Output{"bicg", "s"},
                    Output{"bicg", "q"}, Output{"gesummv", "y"}, Output{"bfs", "cost"}, Output{"cp", "potential"},
                    Output{"3ds", "out"}, Output{"hs", "pong"}, Output{"fft", "ping"}, Output{"bp", "weights"},
                    Output{"bp", "old"}, Output{"bp", "partial"}, Output{"nw", "scores"}, Output{"bino", "prices"},
                    Output{"lbm:noise=0.01", "pong"}, Output{"lavamd", "force"}, Output{"lavamd:element=f32", "force"},
                    Output{"srad", "image"}, Output{"srad", "c"}, Output{"sad", "sads"},
                    Output{"sad:variant=mask", "sads"}, Output{"xsbench", "verification"},
                    Output{"kmeans", "by_feature"}, Output{"kmeans", "membership"}, Output{"sssp", "y"},
                    Output{"mis", "in_set"}, Output{"mis", "status"}, Output{"color", "color"},
                    Output{"pagerank", "rank"}, Output{"fw", "dist"}, Output{"fw", "next"}));

TEST_P(EveryOutput, WithOneWrongValueFailsTheCheck) {
  const ProgramInstance instance = make_workload(parse_workload(GetParam().program, InputSize::kMini));
  GuestMemory memory(PageSize::k4K);
  instance.program->allocate(memory);
  ptx::Machine machine(ptx::parse_module(instance.code.file, instance.code.text), memory);
  instance.program->initialise(memory);
  run_functionally(*instance.program, machine, memory);
  ASSERT_TRUE(instance.program->check(memory).passed);

  // A bit of the middle value's exponent, or a high one of a whole number: small becomes huge and huge becomes small.
  const auto& all = memory.allocations();
  const auto buffer = std::find_if(all.begin(), all.end(), [](const auto& a) { return a.name == GetParam().buffer; });
  ASSERT_NE(buffer, all.end());
  u8* bytes = memory.at(buffer->first);
  bytes[buffer->bytes / 16 * 8 + 7] ^= 0x40;
  EXPECT_FALSE(instance.program->check(memory).passed);
}

TEST(WorkloadRun, APlainGupsThatDidNothingFailsTheCheck) {
  const ProgramInstance instance = make_workload(parse_workload("gups", InputSize::kMini));
  GuestMemory memory(PageSize::k4K);
  instance.program->allocate(memory);
  instance.program->initialise(memory);
  ASSERT_TRUE(instance.program->next(memory));
  EXPECT_FALSE(instance.program->check(memory).passed);
}

TEST(WorkloadRun, AStencilOfOnesGivesTwentyFiveEverywhere) {
  const ExecResult result = run("3ds:data=ones", "mini");
  EXPECT_TRUE(result.check->passed) << result.check->message;
  EXPECT_NE(result.digest, run("3ds", "mini").digest);
}

/// A fluid at rest cannot tell directions of one weight apart; a disturbed one can.
TEST(WorkloadRun, ADisturbedFluidFlowsAsOnTheHost) {
  const ExecResult result = run("lbm:noise=0.01,iters=3", "mini");
  EXPECT_TRUE(result.check->passed) << result.check->message;
}

/// Lines and pages per access as the specification's table has them (to the digits printed there), warp instructions in
/// millions. A kernel's name narrows the comparison to it. Exceptions (pages of bfs at 64 K and of xsbench) are in
/// docs/workloads.md.
struct Pattern {
  const char* program;
  const char* size;
  const char* kernel;
  double lines, pages;          // 0: not compared
  double million_instructions;  // 0: not compared
};
void PrintTo(const Pattern& pattern, std::ostream* out) {
  *out << pattern.program << " " << pattern.size;
}
class EveryPattern : public testing::TestWithParam<Pattern> {};
INSTANTIATE_TEST_SUITE_P(
    Workload, EveryPattern,
    testing::Values(Pattern{"gups:variant=mask,update=atomic64", "paper", "", 31.1, 30.6, 0.8},
                    Pattern{"gups:variant=dws", "paper", "", 15.0, 15.0, 0.1},
                    Pattern{"gups", "tiny", "", 31.1, 30.9, 0.12}, Pattern{"blk", "tiny", "", 1.0, 1.0, 0.9},
                    Pattern{"mm:slice=0.02", "paper", "", 1.1, 1.1, 82 * 0.02},
                    Pattern{"mvt", "tiny", "row_walk_plain_f64", 11.7, 11.3, 0},
                    Pattern{"mvt", "tiny", "col_walk_plain_f64", 1.7, 1.0, 0},
                    Pattern{"atax", "tiny", "", 6.2, 6.2, 0.30}, Pattern{"gesummv", "tiny", "", 8.8, 8.8, 0.21},
                    Pattern{"bfs:start=source,iters=0,slice=1,vertices=65536", "tiny", "", 3.0, 0, 1.4},
                    Pattern{"cp", "tiny", "", 2.0, 1.0, 0.9}, Pattern{"xsbench", "tiny", "", 13.5, 0, 0.66},
                    Pattern{"kmeans", "paper", "", 3.6, 1.1, 1.5}, Pattern{"kmeans", "paper", "invert", 16.5, 1.5, 0},
                    Pattern{"sssp", "tiny", "", 5.3, 2.9, 11.5 / 3 * 160 / 1208},
                    Pattern{"mis:vertices=160000,iters=4", "small", "", 1.7, 1.02, 16 * 0.16},
                    Pattern{"color:vertices=160000", "small", "", 2.0, 1.03, 19 * 0.16},
                    Pattern{"color:variant=vc", "tiny", "color1", 21, 18, 0.44},
                    Pattern{"pagerank:vertices=299067", "tiny", "", 9.3, 4.5, 3.1 / 2},
                    Pattern{"pagerank:variant=vc", "tiny", "", 15.2, 11.9, 3.8 * 0.2},
                    // 9.3 is what VC measured on the original; the specification's model has 8.1 (docs/workloads.md).
                    Pattern{"fw", "tiny", "", 9.3, 9.3, 0.9}, Pattern{"3ds", "tiny", "", 1.0, 1.0, 0.74},
                    Pattern{"hs:variant=dws", "paper", "", 2.8, 1.0, 4.5},
                    Pattern{"hs:variant=simt,slice=0.1", "paper", "", 2.8, 2.0, 1.8},
                    Pattern{"fft", "tiny", "", 2.5, 1.0, 0.9}, Pattern{"bp", "tiny", "", 1.6, 1.02, 0.9},
                    Pattern{"nw", "tiny", "", 1.9, 1.5, 0.84}, Pattern{"lbm", "tiny", "", 1.2, 1.0, 0.9},
                    Pattern{"lavamd:slice=0.002", "paper", "", 6.2, 1.2, 0}, Pattern{"lavamd", "tiny", "", 0, 0, 1.1},
                    Pattern{"bino", "tiny", "", 0, 0, 0.9}, Pattern{"srad:variant=dws", "paper", "", 1.3, 1.0, 3.0},
                    Pattern{"sad", "tiny", "", 1.8, 1.03, 0.24},
                    Pattern{"sad:variant=mask", "paper", "", 16, 2.1, 5.3}));

TEST_P(EveryPattern, AgreesWithTheSpecification) {
  const Pattern& want = GetParam();
  const ExecResult result = run(want.program, want.size);
  ASSERT_TRUE(result.check->passed) << result.check->message;
  const FunctionalCounts* counts = &result.total;
  for (const KernelCounts& kernel : result.kernels)
    if (kernel.kernel == want.kernel) counts = &kernel.counts;
  // The table is printed with two or three digits: half of the last one comes on top of the 5 %.
  if (want.lines > 0) {
    EXPECT_NEAR(counts->lines_per_access(), want.lines, 0.05 * want.lines + 0.05);
  }
  if (want.pages > 0) {
    EXPECT_NEAR(counts->pages_per_access(), want.pages, 0.05 * want.pages + 0.05);
  }
  if (want.million_instructions > 0) {
    EXPECT_NEAR(static_cast<double>(counts->warp_instructions) / 1e6, want.million_instructions,
                0.4 * want.million_instructions);
  }
}

}  // namespace
}  // namespace terrace
