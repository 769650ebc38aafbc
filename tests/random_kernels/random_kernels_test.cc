// Random kernels give in Terrace what they gave on an H200. hashes.txt holds what the GPU left, one line per seed
// (docs/real_gpu.md says how it was made).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "engine/hash.h"
#include "frontend/device_code.h"
#include "frontend/functional_runner.h"
#include "frontend/ptx/execute/machine.h"
#include "random_kernels/random_program.h"
#include "random_kernels/units.h"
#include "support/paths.h"
#include "support/scratch.h"
#include "text/tree.h"

namespace terrace::random_kernels {
namespace {

/// Seeds without a hash: they store the low byte of a half, and ptxas converts its value instead (docs/real_gpu.md).
const std::set<u64> kBytesOfHalves{58, 78, 156, 183, 301, 314, 350, 354, 366, 414, 536};

std::map<u64, std::string> gpu_hashes() {
  std::istringstream lines(read_file(source_folder() + "/tests/random_kernels/hashes.txt"));
  std::map<u64, std::string> hashes;
  u64 seed = 0;
  for (std::string hash; lines >> seed >> hash;) hashes[seed] = hash;
  return hashes;
}

/// A unit's kernels, run one after the other in one memory.
class Unit {
 public:
  explicit Unit(const DeviceCode& code) : machine_(ptx::parse_module(code.file, code.text), memory_) {}

  std::string hash(u64 seed, u32 resident_blocks = 1) {
    RandomProgram program(seed);
    program.allocate(memory_);
    FunctionalRunner runner(machine_, {.resident_blocks = resident_blocks, .count = false});
    runner.run(program, memory_);
    EXPECT_TRUE(program.check(memory_).passed) << "seed " << seed;
    return hash_text(program.digest(memory_));
  }

 private:
  GuestMemory memory_{PageSize::k4K};
  ptx::Machine machine_;
};

DeviceCode compiled_by_clang(u32 unit) {
  const Scratch scratch;
  return read_device_code(scratch.write(fmt::format("unit_{}.cu", unit), translation_unit(seeds_of_unit(unit))),
                          kClangFlags);
}

void expect_agreement(u32 unit, const DeviceCode& code) {
  static const auto hashes = gpu_hashes();
  Unit kernels(code);
  for (const u64 seed : seeds_of_unit(unit)) {
    if (kBytesOfHalves.contains(seed)) continue;
    const auto found = hashes.find(seed);
    ASSERT_NE(found, hashes.end()) << "no GPU ran seed " << seed;
    EXPECT_EQ(kernels.hash(seed), found->second) << "seed " << seed;
  }
}

/// Few enough for every check; the others run where time does not matter.
constexpr u32 kQuickUnits = 4;

TEST(RandomKernels, FiveHundredSeedsAndMoreHaveAHashFromTheGpu) {
  const auto hashes = gpu_hashes();
  EXPECT_GE(hashes.size(), 500u);
  for (u32 unit = 0; unit < kUnits; ++unit)
    for (const u64 seed : seeds_of_unit(unit)) EXPECT_NE(hashes.contains(seed), kBytesOfHalves.contains(seed)) << seed;
}

TEST(RandomKernels, ASeedGivesTheSameTextEverywhere) {
  // Of the first unit, as gcc 12 and clang 19 both made it.
  EXPECT_EQ(hash_text(hash64(translation_unit(seeds_of_unit(0)))), "9642cadfd4f4a2ee");
}

TEST(RandomKernels, SomeOfThemGiveWhatTheGpuGave) {
  for (u32 unit = 0; unit < kQuickUnits; ++unit) expect_agreement(unit, compiled_by_clang(unit));
}

TEST(RandomKernels, ResultsDoNotDependOnTheOrderOfBlocks) {
  Unit kernels(compiled_by_clang(0));
  for (const u64 seed : seeds_of_unit(0)) EXPECT_EQ(kernels.hash(seed, 6), kernels.hash(seed, 1)) << "seed " << seed;
}

// Only ./check --all.
TEST(RandomKernelsAll, DISABLED_GiveWhatTheGpuGave) {
  for (u32 unit = kQuickUnits; unit < kUnits; ++unit) expect_agreement(unit, compiled_by_clang(unit));
}

// Where nvcc compiled them (scripts/prepare_real_gpu), its code is held to the same hashes.
TEST(RandomKernels, NvccsCodeGivesWhatTheGpuGaveWhereItIsAtHand) {
  const std::string folder = source_folder() + "/build/real_gpu/kernels/nvcc";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "no nvcc here compiled them";
  for (u32 unit = 0; unit < kUnits; ++unit)
    expect_agreement(unit, read_device_code(fmt::format("{}/unit_{}.ptx", folder, unit)));
}

}  // namespace
}  // namespace terrace::random_kernels
