// real_gpu: compares Terrace with an NVIDIA GPU through the CUDA driver (docs/real_gpu.md).
//   real_gpu write FOLDER          the random kernels as FOLDER/unit_N.cu and, by clang, FOLDER/clang/unit_N.ptx
//   real_gpu kernels FOLDER HASHES
//   real_gpu workloads FOLDER SIZE
//   real_gpu opcodes CASES [TABLE [SEED]]   TABLE: integer, float, half, "half compare", convert, approx or video; SEED: of operands, default 1
//   real_gpu matrices CASES
//   real_gpu waiting
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "engine/check.h"
#include "frontend/device_code.h"
#include "random_kernels/generator.h"
#include "random_kernels/units.h"
#include "real_gpu/agreement.h"

namespace {

using namespace terrace;

/// With the workloads' flags, as the tests of random kernels compile them.
void write_kernels(const std::string& folder) {
  std::filesystem::create_directories(folder + "/clang");
  for (u32 unit = 0; unit < random_kernels::kUnits; ++unit) {
    const std::string source = fmt::format("{}/unit_{}.cu", folder, unit);
    std::ofstream(source, std::ios::binary) << random_kernels::translation_unit(random_kernels::seeds_of_unit(unit));
    std::ofstream(fmt::format("{}/clang/unit_{}.ptx", folder, unit), std::ios::binary)
        << read_device_code(source, random_kernels::kClangFlags).text;
  }
}

int act(const std::vector<std::string>& words) {
  const auto is = [&](const char* command, u64 arguments) {
    return !words.empty() && words[0] == command && words.size() == arguments + 1;
  };
  if (is("write", 1)) {
    write_kernels(words[1]);
    return 0;
  }
  if (is("kernels", 2) || is("workloads", 2) || is("opcodes", 1) || is("opcodes", 2) || is("opcodes", 3) ||
      is("matrices", 1) || is("waiting", 0)) {
    real_gpu::Gpu gpu;
    fmt::print("GPU: {}\n", gpu.name());
    if (words[0] == "waiting") return real_gpu::compare_waiting(gpu) != 0;
    if (words[0] == "kernels") return real_gpu::compare_kernels(gpu, words[1], words[2]) != 0;
    if (words[0] == "workloads") return real_gpu::compare_workloads(gpu, words[1], parse_input_size(words[2])) != 0;
    const u32 cases = static_cast<u32>(std::stoul(words[1]));
    if (words[0] == "matrices") return real_gpu::compare_matrices(gpu, cases) != 0;
    return real_gpu::compare_opcodes(gpu, cases, words.size() > 2 ? words[2] : "",
                                     words.size() > 3 ? std::stoull(words[3]) : 1) != 0;
  }
  input_error(
      "usage: real_gpu write FOLDER | kernels FOLDER HASHES | workloads FOLDER SIZE | opcodes CASES [TABLE [SEED]] | "
      "matrices "
      "CASES | "
      "waiting");
}

}  // namespace

int main(int count, char** words) {
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);  // what is known is said at once
  try {
    return act({words + 1, words + count});
  } catch (const std::exception& error) {
    fmt::print(stderr, "real_gpu: {}\n", error.what());
    return 2;
  }
}
