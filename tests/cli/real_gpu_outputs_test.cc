// Programs whose output on a real GPU is kept (docs/real_gpu.md): Terrace prints the same, or, where textures are filtered, numbers within a bound.
// SPDX-License-Identifier: MIT
#include <fnmatch.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "engine/types.h"
#include "support/program.h"
#include "support/scratch.h"

namespace terrace {
namespace {

using Lines = std::map<std::string, std::string>;

/// Lines by their first word: a name, then a hash or a number, then perhaps a bound and the bits of floats.
Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const size_t space = std::min(line.find(' '), line.size());
    const std::string name = line.substr(0, space);
    EXPECT_TRUE(lines.emplace(name, line.substr(space)).second) << "two lines are called " << name;
  }
  return lines;
}

/// "HASH within BOUND: BITS BITS ..."
struct Filtered {
  double bound = 0;
  std::vector<float> values;
};
std::optional<Filtered> filtered(const std::string& line) {
  const std::string mark = " within ";
  const size_t at = line.find(mark);
  if (at == std::string::npos) return std::nullopt;
  Filtered result;
  char* rest = nullptr;
  result.bound = std::strtod(line.c_str() + at + mark.size(), &rest);
  std::istringstream stream(rest + (*rest == ':'));
  for (std::string bits; stream >> bits;)
    result.values.push_back(std::bit_cast<float>(static_cast<u32>(std::stoul(bits, nullptr, 16))));
  return result;
}

bool agree(const std::string& gpu, const std::string& terrace) {
  if (gpu == terrace) return true;
  const auto there = filtered(gpu), here = filtered(terrace);
  if (!there || !here || there->bound != here->bound || there->values.size() != here->values.size()) return false;
  for (size_t i = 0; i < here->values.size(); ++i)
    if (!(std::abs(double{here->values[i]} - double{there->values[i]}) <= here->bound)) return false;
  return true;
}

/// A case that is known to differ. `name` may have wildcards.
struct Known {
  const char* name;
  const char* why;
};

/// A sentence for each case that differs and is not known to, and for each known one that does not.
std::vector<std::string> differences(const std::string& gpu, const std::string& terrace,
                                     const std::vector<Known>& known = {}) {
  const Lines there = lines_of(gpu), here = lines_of(terrace);
  std::vector<std::string> found;
  std::vector<bool> seen(known.size());
  const auto report = [&](const std::string& name, const std::string& sentence) {
    bool is_known = false;
    for (size_t i = 0; i < known.size(); ++i)
      if (fnmatch(known[i].name, name.c_str(), 0) == 0) is_known = seen[i] = true;
    if (!is_known) found.push_back(name + sentence);
  };
  for (const auto& [name, line] : there) {
    const auto its = here.find(name);
    if (its == here.end())
      report(name, ": Terrace has no such line");
    else if (!agree(line, its->second))
      report(name, ":\n  the GPU:" + line + "\n  Terrace:" + its->second);
  }
  for (const auto& [name, line] : here)
    if (!there.contains(name)) report(name, ": the GPU has no such line");
  for (size_t i = 0; i < known.size(); ++i)
    if (!seen[i]) found.push_back(std::string(known[i].name) + " is said to differ and does not");
  return found;
}

/// What a program prints, without the table of `terrace cuda` behind it.
std::string output_of(const std::string& program) {
  const Scratch scratch;
  const Outcome outcome =
      run_terrace({"cuda", "--gpu", "dws_30sm", "--quiet", "--", build_folder() + "/tests/cuda/" + program},
                  scratch.path().string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const size_t table = outcome.out.find("\ntenant ");
  return outcome.out.substr(0, table == std::string::npos ? table : table + 1);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void expect_as_on(const std::string& gpu_file, const std::string& program, const std::vector<Known>& known = {}) {
  const std::string path = source_folder() + "/tests/cuda/" + gpu_file;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << gpu_file << " is not there: it has not been run on a GPU";
  if (!std::filesystem::exists(build_folder() + "/tests/cuda/" + program))
    GTEST_SKIP() << program << " is not built: it needs nvcc";
  for (const std::string& sentence : differences(text_of(path), output_of(program), known)) ADD_FAILURE() << sentence;
}

TEST(RealGpuOutputs, TexturesAreSampledAsByAnH200) {
  expect_as_on("sampling_h200.txt", "sampling_plain",
               {{"refusals/no-width", "the GPU makes a texture without a texel"},
                {"probes/1d/array/f32x1/*/no-numbers-filtered", "CUDA does not say what infinite texels give"}});
}

TEST(RealGpuOutputs, SurfacesAreReadAndWrittenAsByAnH200) {
  expect_as_on("surface_bytes_h200.txt", "surface_bytes_plain");
}

TEST(RealGpuOutputs, LinkedAndRecursiveFunctionsDoWhatTheyDoOnAnH200) {
  expect_as_on("linking_h200.txt", "nvcc/linking");
}

TEST(RealGpuOutputs, KernelsPrintAllocateAndMeetAsOnAnH200) {
  expect_as_on(
      "device_calls_h200.txt", "device_calls_plain",
      {{"print/long", "z is no size that CUDA lists: the argument after it is taken from a wrong place on the GPU"},
       {"print/short", "hh is no size that CUDA lists"},
       {"print/star*", "* is no width or precision that CUDA lists: the GPU prints the conversion itself"},
       {"heap/one/0", "nothing is null here, and memory on the GPU"},
       {"heap/one/16777216", "all of the heap in one piece: the GPU keeps its books in it"},
       {"heap/one/18446744073709551615", "the GPU gives memory for 2^64 - 1 bytes"}});
}

/// What a process whose kernel fails is told, for each way to fail: the lines that the program prints.
std::string told_after_faults(const std::string& program) {
  std::string lines;
  for (const char* part : {"assert", "trap", "misaligned", "outside", "null", "freed_twice"}) {
    const Scratch scratch;
    const Outcome outcome = run_terrace(
        {"cuda", "--gpu", "dws_30sm", "--quiet", "--", build_folder() + "/tests/cuda/" + program, "-", part},
        scratch.path().string());
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out << outcome.err;
    std::istringstream stream(outcome.out);
    for (std::string line; std::getline(stream, line);)
      if (line.starts_with("fails/")) lines += line + "\n";
  }
  return lines;
}

TEST(RealGpuOutputs, FaultsAreToldAsOnAnH200) {
  const std::string path = source_folder() + "/tests/cuda/device_fails_h200.txt";
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "device_fails_h200.txt is not there: it has not been run on a GPU";
  for (const std::string& sentence : differences(text_of(path), told_after_faults("device_calls_plain")))
    ADD_FAILURE() << sentence;
}

TEST(RealGpuOutputs, FaultsAreToldByTheErrorsThatCudaNames) {
  const Lines lines = lines_of(told_after_faults("device_calls_plain"));
  EXPECT_EQ(lines.size(), 6u);
  const auto waited = [&](const char* part, const char* code) {
    const auto line = lines.find(std::string("fails/") + part);
    ASSERT_NE(line, lines.end()) << part;
    EXPECT_NE(line->second.find(std::string(" waited ") + code + " "), std::string::npos) << part << line->second;
  };
  waited("assert", "710");
  waited("trap", "719");
  waited("outside", "700");
  waited("null", "700");
}

TEST(RealGpuOutputs, NvccsCodeSamplesTheSame) {
  if (!std::filesystem::exists(build_folder() + "/tests/cuda/nvcc/sampling")) GTEST_SKIP() << "nvcc is not here";
  EXPECT_EQ(output_of("nvcc/sampling"), output_of("sampling_plain"));
  EXPECT_EQ(output_of("nvcc/surface_bytes"), output_of("surface_bytes_plain"));
  // In another order: what a kernel's lanes print depends on which path of a branch comes first.
  for (const std::string& sentence : differences(output_of("nvcc/device_calls"), output_of("device_calls_plain")))
    ADD_FAILURE() << sentence;
}

TEST(RealGpuOutputs, TheComparisonFindsWhatDiffers) {
  const std::string gpu = output_of("sampling_plain");
  const Lines lines = lines_of(gpu);
  EXPECT_GT(lines.size(), 1000u);
  EXPECT_TRUE(differences(gpu, gpu).empty());
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = gpu;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    return differences(gpu, text).size();
  };
  const auto line_of = [&](const char* name) { return name + lines.at(name) + "\n"; };
  const std::string exact = line_of("modes/2d/array/f32x1/wrap/normalized/13x7/inside");
  EXPECT_EQ(changed(exact, ""), 1u);
  EXPECT_EQ(changed(exact, exact.substr(0, exact.size() - 2) + (exact[exact.size() - 2] == '0' ? "1\n" : "0\n")), 1u);
  EXPECT_EQ(changed(exact, "another 0\n" + exact), 1u);
  // Texels 0 and 1: half of them, and what is a step of 1/256 and two steps away.
  const std::string ramp = line_of("weights/1d/array/f32x1/clamp/texels/2x1/fine");
  const auto with = [&](const char* hash_and_bits) {
    std::string text = ramp;
    text.replace(text.find(' ') + 1, 1, "x");
    return text.replace(text.find(" 3f000000"), 9, hash_and_bits);
  };
  EXPECT_EQ(changed(ramp, with(" 3f000000")), 0u) << "another hash, the same numbers";
  EXPECT_EQ(changed(ramp, with(" 3f010000")), 0u);
  EXPECT_EQ(changed(ramp, with(" 3f020000")), 1u);
  EXPECT_EQ(changed(ramp, with(" 7fc00000")), 1u);
  EXPECT_EQ(changed(ramp, with("")), 1u);
}

TEST(RealGpuOutputs, AKnownDifferenceIsOneAsLongAsItDiffers) {
  const std::vector<Known> known{{"modes/*/nan", "a reason"}};
  EXPECT_TRUE(differences("modes/1d/nan 1\nmodes/2d 2\n", "modes/1d/nan 3\nmodes/2d 2\n", known).empty());
  EXPECT_EQ(differences("modes/1d/nan 1\nmodes/2d 2\n", "modes/1d/nan 1\nmodes/2d 3\n", known).size(), 2u);
}

}  // namespace
}  // namespace terrace
