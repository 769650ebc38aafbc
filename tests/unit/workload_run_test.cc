// The workloads on the PTX machine: right results, checks that notice wrong ones, and the access pattern of the
// specification.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/check.h"
#include "frontend/ptx/execute/machine.h"
#include "run/exec.h"
#include "support/case_name.h"
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
  for (const char* name : {"gups",       "blk",   "mm",    "bfs",          "cp",       "xsbench",       "kmeans",
                           "sssp",       "mis",   "color", "pagerank",     "fw",       "3ds",           "hs",
                           "fft",        "bp",    "nw",    "bino",         "lbm",      "lavamd",        "srad",
                           "sad",        "qtc",   "ray",   "lps",          "jpeg",     "lud",           "sc",
                           "pathfinder", "merge", "dwt2d", "color_maxmin", "fw_block", "pagerank_spmv", "bc"})
    EXPECT_NE(run(name, "mini").digest, run(std::string(name) + ":seed=2", "mini").digest) << name;
}

TEST(WorkloadRun, AnotherSeedGivesAnotherInputToTheProgramsOfMaskAndCdSearchToo) {
  for (const char* name :
       {"histo", "scp", "trd", "cons", "fwt", "cfd", "luh", "mum", "nn", "dxtc", "tpacf", "leu", "pvc"})
    EXPECT_NE(run(name, "mini").digest, run(std::string(name) + ":seed=2", "mini").digest) << name;
}

/// Single and double precision share one array; the first is overwritten by the second.
TEST(WorkloadRun, ReductionAndScanRunOnEitherPrecisionAndOnBoth) {
  for (const char* program : {"red", "scan"})
    for (const char* element : {"f32", "f64", "both"}) {
      const ExecResult result = run(fmt::format("{}:element={},iters=2", program, element), "mini");
      EXPECT_TRUE(result.check->passed) << program << " " << element << ": " << result.check->message;
    }
}

TEST(WorkloadRun, HydrodynamicsThatLeakHaveFreshTemporariesForEveryStep) {
  const ExecResult kept = run("luh:iters=3", "mini"), leaking = run("luh:iters=3,leak=true", "mini");
  EXPECT_TRUE(kept.check->passed) << kept.check->message;
  EXPECT_TRUE(leaking.check->passed) << leaking.check->message;
  EXPECT_GT(leaking.footprint_bytes, 2 * kept.footprint_bytes);
}

/// One block sorts all; several do; the last one is nearly empty; and there is nothing to sort.
TEST(WorkloadRun, PageViewsAreGroupedAndTheAddressesOfEachUrlCounted) {
  for (const char* input :
       {"records=60,threads=32", "records=200,threads=16", "records=129,threads=32", "records=1,threads=8"}) {
    const ExecResult result = run(fmt::format("pvc:phases=all,{}", input), "mini");
    EXPECT_TRUE(result.check->passed) << input << ": " << result.check->message;
  }
}

TEST(WorkloadRun, PageViewsAreGroupedAsAWholeAndByBlocksOfAPowerOfTwo) {
  EXPECT_THROW(run("pvc:phases=all,slice=0.5", "mini"), InputError);
  EXPECT_THROW(run("pvc:phases=all,threads=48", "mini"), InputError);
  EXPECT_TRUE(run("pvc:threads=48,slice=0.5", "mini").check->passed);
}

/// A workload that has run at mini, and its memory.
struct Completed {
  ProgramInstance instance;
  GuestMemory memory{PageSize::k4K};

  explicit Completed(const std::string& program) : instance(make_workload(parse_workload(program, InputSize::kMini))) {
    instance.program->allocate(memory);
    ptx::Machine machine(ptx::parse_module(instance.code.file, instance.code.text), memory);
    instance.program->initialise(memory);
    run_functionally(*instance.program, machine, memory);
  }
  CheckResult check() const { return instance.program->check(memory); }
};

/// Programs whose results one wrong value spoils, and where those are.
struct Output {
  const char* program;
  const char* buffer;
};
class EveryOutput : public testing::TestWithParam<Output> {};
INSTANTIATE_TEST_SUITE_P(
    Workload, EveryOutput,
    testing::Values(
        Output{"gups:update=atomic64", "table"}, Output{"gups:variant=mask", "table"}, Output{"blk", "call"},
        Output{"blk", "put"}, Output{"mm", "C"}, Output{"atax", "tmp"}, Output{"atax", "y"}, Output{"mvt", "x1"},
        Output{"mvt", "x2"}, Output{"bicg", "s"}, Output{"bicg", "q"}, Output{"gesummv", "y"}, Output{"bfs", "cost"},
        Output{"cp", "potential"}, Output{"3ds", "out"}, Output{"hs", "pong"}, Output{"fft", "ping"},
        Output{"bp", "weights"}, Output{"bp", "old"}, Output{"bp", "partial"}, Output{"nw", "scores"},
        Output{"bino", "prices"}, Output{"lbm:noise=0.01", "pong"}, Output{"lavamd", "force"},
        Output{"lavamd:element=f32", "force"}, Output{"srad", "image"}, Output{"srad", "c"}, Output{"sad", "sads"},
        Output{"sad:variant=mask", "sads"}, Output{"xsbench", "verification"}, Output{"kmeans", "by_feature"},
        Output{"kmeans", "membership"}, Output{"sssp", "y"}, Output{"mis", "in_set"}, Output{"mis", "status"},
        Output{"color", "color"}, Output{"pagerank", "rank"}, Output{"fw", "dist"}, Output{"fw", "next"},
        Output{"lps", "u2"}, Output{"jpeg", "plane"}, Output{"lib", "values"}, Output{"lib", "slopes"},
        Output{"lib:values=true,greeks=false", "values"}, Output{"qtc", "winners"}, Output{"qtc", "list"},
        Output{"qtc", "clustered"}, Output{"qtc", "degrees"}, Output{"lud", "matrix"}, Output{"pathfinder", "ping"},
        Output{"color_maxmin", "color"}, Output{"pagerank_spmv", "x"}, Output{"pagerank_spmv", "data"},
        Output{"bc", "bc"}, Output{"fw_block", "dist"}, Output{"sc", "work"}, Output{"sc", "switches"},
        Output{"gaussian", "a"}, Output{"gaussian", "m"}, Output{"gaussian", "b"}, Output{"merge", "keys_b"},
        Output{"merge", "values_b"}, Output{"dwt2d", "green"}, Output{"dwt2d", "red_bands"},
        Output{"dwt2d", "blue_bands"}, Output{"histo", "partial"}, Output{"histo", "histogram"},
        Output{"scp", "products"}, Output{"red", "out"}, Output{"scan", "out"}, Output{"trd", "c"}, Output{"trd", "c1"},
        Output{"cons", "out"}, Output{"fwt", "data"}, Output{"cfd", "variables"}, Output{"cfd", "fluxes"},
        Output{"luh", "fx"}, Output{"luh", "energy"}, Output{"mum", "matches"}, Output{"nn", "layer1"},
        Output{"nn", "digits"}, Output{"dxtc", "blocks"}, Output{"tpacf", "histograms"}, Output{"leu", "scores"},
        Output{"leu", "dilated"}, Output{"pvc", "keys"}, Output{"pvc", "values"}, Output{"pvc", "directory"},
        Output{"pvc:phases=all,records=60,threads=32", "addresses"}),
    [](const auto& tested) {
      return case_name(fmt::format("{} {}", tested.param.program, tested.param.buffer), tested.index);
    });

TEST_P(EveryOutput, WithOneWrongValueFailsTheCheck) {
  Completed run(GetParam().program);
  GuestMemory& memory = run.memory;
  ASSERT_TRUE(run.check().passed);

  // A bit of the middle value's exponent, or a high one of a whole number: small becomes huge and huge becomes small.
  const auto& all = memory.allocations();
  const auto buffer = std::find_if(all.begin(), all.end(), [](const auto& a) { return a.name == GetParam().buffer; });
  ASSERT_NE(buffer, all.end());
  u8* bytes = memory.at(buffer->first);
  bytes[buffer->bytes / 16 * 8 + 7] ^= 0x40;
  EXPECT_FALSE(run.check().passed);
}

TEST(WorkloadRun, APlainGupsThatDidNothingFailsTheCheck) {
  const ProgramInstance instance = make_workload(parse_workload("gups", InputSize::kMini));
  GuestMemory memory(PageSize::k4K);
  instance.program->allocate(memory);
  instance.program->initialise(memory);
  ASSERT_TRUE(instance.program->next(memory));
  EXPECT_FALSE(instance.program->check(memory).passed);
}

/// One pixel in a hundred may be wrong, where a ray just misses something; three may not.
TEST(WorkloadRun, APictureWithThreeWrongPixelsInAHundredFailsTheCheck) {
  Completed ray("ray");
  GuestMemory& memory = ray.memory;
  ASSERT_TRUE(ray.check().passed);
  const auto& pixels = memory.allocations().front();
  ASSERT_EQ(pixels.name, "pixels");
  for (u64 pixel = 0; pixel < 8; ++pixel) *memory.at(VirtAddr{pixels.first.raw + 4 * 31 * pixel}) ^= 0x40;
  EXPECT_FALSE(ray.check().passed);
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
/// millions, footprint in MiB. A kernel's name narrows the comparison to it, except for the footprint. Exceptions (pages of bfs at 64 K and of xsbench) are in
/// docs/workloads.md.
struct Pattern {
  const char* program;
  const char* size;
  const char* kernel;
  double lines, pages;          // 0: not compared
  double million_instructions;  // 0: not compared
  double mebibytes = 0;         // 0: not specified for this input
};
void PrintTo(const Pattern& pattern, std::ostream* out) {
  *out << pattern.program << " " << pattern.size;
}
class EveryPattern : public testing::TestWithParam<Pattern> {};
INSTANTIATE_TEST_SUITE_P(
    Workload, EveryPattern,
    testing::Values(
        Pattern{"gups:variant=mask,update=atomic64", "paper", "", 31.1, 30.6, 0.8, 4.5},
        Pattern{"gups:variant=dws", "paper", "", 15.0, 15.0, 0.1, 16},
        Pattern{"gups", "tiny", "", 31.1, 30.9, 0.12, 16}, Pattern{"blk", "tiny", "", 1.0, 1.0, 0.9, 7.6},
        Pattern{"mm:slice=0.02", "paper", "", 1.1, 1.1, 82 * 0.02, 12},
        Pattern{"mvt", "tiny", "row_walk_plain_f64", 11.7, 11.3, 0},
        Pattern{"mvt", "tiny", "col_walk_plain_f64", 1.7, 1.0, 0}, Pattern{"atax", "tiny", "", 6.2, 6.2, 0.30, 16},
        Pattern{"gesummv", "tiny", "", 8.8, 8.8, 0.21, 32},
        Pattern{"bfs:start=source,iters=0,slice=1,vertices=65536", "tiny", "", 3.0, 0, 1.4, 2.4},
        Pattern{"cp", "tiny", "", 2.0, 1.0, 0.9}, Pattern{"xsbench", "tiny", "", 13.5, 0, 0.66, 32},
        Pattern{"kmeans", "paper", "", 3.6, 1.1, 1.5, 4.3}, Pattern{"kmeans", "paper", "invert", 16.5, 1.5, 0, 4.3},
        Pattern{"sssp", "tiny", "", 5.3, 2.9, 11.5 / 3 * 160 / 1208, 4.7},
        Pattern{"mis:vertices=160000,iters=4", "small", "", 1.7, 1.02, 16 * 0.16, 38 * 0.16},
        Pattern{"color:vertices=160000", "small", "", 2.0, 1.03, 19 * 0.16, 31 * 0.16},
        Pattern{"color:variant=vc", "tiny", "color1", 21, 18, 0.44, 46},
        Pattern{"pagerank:vertices=299067", "tiny", "", 9.3, 4.5, 3.1 / 2, 18},
        Pattern{"pagerank:variant=vc", "tiny", "", 15.2, 11.9, 3.8 * 0.2, 73},
        // 9.3 is what VC measured on the original; the specification's model has 8.1 (docs/workloads.md).
        Pattern{"fw", "tiny", "", 9.3, 9.3, 0.9, 8}, Pattern{"3ds", "tiny", "", 1.0, 1.0, 0.74, 6},
        Pattern{"hs:variant=dws", "paper", "", 2.8, 1.0, 4.5, 3},
        Pattern{"hs:variant=simt,slice=0.1", "paper", "", 2.8, 2.0, 1.8, 12},
        Pattern{"fft", "tiny", "", 2.5, 1.0, 0.9, 1.5}, Pattern{"bp", "tiny", "", 1.6, 1.02, 0.9, 1.7},
        Pattern{"nw", "tiny", "", 1.9, 1.5, 0.84, 32}, Pattern{"lbm", "tiny", "", 1.2, 1.0, 0.9, 33},
        Pattern{"lavamd:slice=0.002", "paper", "", 6.2, 1.2, 0, 7.5}, Pattern{"lavamd", "tiny", "", 0, 0, 1.1},
        Pattern{"bino", "tiny", "", 0, 0, 0.9}, Pattern{"srad:variant=dws", "paper", "", 1.3, 1.0, 3.0, 7},
        Pattern{"sad", "tiny", "", 1.8, 1.03, 0.24, 8.6}, Pattern{"sad:variant=mask", "paper", "", 16, 2.1, 5.3, 8.6},
        Pattern{"lps", "paper", "", 1.7, 1.1, 1.8, 9.8}, Pattern{"jpeg", "paper", "", 1.0, 1.0, 0.25, 1.0},
        Pattern{"lib", "tiny", "", 1.0, 1.0, 0.9}, Pattern{"lud", "tiny", "", 2.0, 0, 0.8},
        Pattern{"qtc:variant=dws,seeds=3,iters=1", "paper", "qtc_main", 4.6, 3.8, 7.4, 17},
        Pattern{"pathfinder", "tiny", "", 1.9, 1.0, 0.9}, Pattern{"fw_block", "tiny", "", 2.0, 1.0, 0.8},
        Pattern{"pagerank_spmv:vertices=299067", "tiny", "spmv_scalar", 8.4, 3.5, 0, 18},
        Pattern{"sc:variant=mask,iters=1,slice=0.1", "paper", "", 1.2, 1.0, 0.39, 72},
        Pattern{"gaussian:iters=1,slice=0.05", "paper", "fan2", 3.3, 3.3, 11.5 * 0.05, 32},
        Pattern{"merge", "tiny", "", 1.4, 1.05, 0.9}, Pattern{"dwt2d", "tiny", "", 1.0, 1.0, 0.9, 13},
        Pattern{"bc", "tiny", "", 0, 0, 0.8, 1},
        // Instructions of histo are not compared: shared-memory atomics replace its loops (docs/workloads.md).
        Pattern{"histo", "paper", "", 1.9, 1.2, 0, 8.1}, Pattern{"scp", "paper", "", 1.0, 1.0, 0.5, 8},
        Pattern{"red:iters=1,element=f32", "paper", "", 1.0, 1.0, 0.06, 1},
        Pattern{"scan:iters=1,element=f32", "paper", "", 2.0, 1.0, 0.16, 2},
        Pattern{"trd", "tiny", "", 1.0, 1.0, 2.2 * 6 / 16, 18},
        Pattern{"cons:height=64", "small", "", 2.0, 0, 9.5 * 64 / 1152},
        Pattern{"cons:width=3072,height=64", "small", "", 2.0, 2.0, 19.0 * 64 / 1536, 54 * 64 / 1536.0},
        Pattern{"fwt", "tiny", "", 1.0, 1.0, 0.7, 0.5}, Pattern{"cfd", "tiny", "", 4.4, 1.2, 11.4 * 16 / 193, 2},
        Pattern{"luh:slice=0.3,iters=1", "small", "", 2.7, 1.05, 2.1 * 0.3, 30}, Pattern{"mum", "tiny", "", 0, 0, 1.0},
        Pattern{"nn", "tiny", "", 0, 1.0, 0.9, 0.5},
        Pattern{"tpacf:points=256,sets=4,threads=256", "tiny", "", 1.0, 1.0, 0.6},
        Pattern{"leu:columns=84,rows=76,circles=7,samples=150,reach=1", "tiny", "leu_gicov", 0, 1.0, 0.9},
        Pattern{"pvc", "tiny", "", 13.6, 1.5, 4.0 * 24.576 / 100}),
    [](const auto& tested) {
      return case_name(fmt::format("{} {}", tested.param.program, tested.param.size), tested.index);
    });

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
  if (want.mebibytes > 0) {
    EXPECT_NEAR(static_cast<double>(result.footprint_bytes) / (1 << 20), want.mebibytes, 0.05 * want.mebibytes + 0.05);
  }
}

}  // namespace
}  // namespace terrace
