// `terrace new kernel NAME`: a kernel of one's own to begin with, that runs and is checked as it is written.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "engine/check.h"
#include "text/output.h"
#include "text/tree.h"

namespace terrace {
namespace {

namespace fs = std::filesystem;

// @ stands for the name. The kernel is not called by it alone: any word will do as a name, even one that C++ reserves.
constexpr std::string_view kDeviceCode =
    R"(// y = a x + y, one element per thread. docs/your_program.md says what of CUDA there is.
__global__ void @_kernel(const float* x, float* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
)";

constexpr std::string_view kProgram =
    R"(# Buffers, launches and the check of @.cu. docs/your_program.md says what else there is.
source = "@.cu"

[[buffer]]
name = "x"
type = "f32"
count = 16384
init = "iota"                  # 0, 1, 2, ...
read_only = true               # a kernel that writes to it faults

[[buffer]]
name = "y"
type = "f32"
count = 16384
init = "constant"
value = 1.0

[[launch]]
kernel = "@_kernel"
grid = [64]
block = [256]
args = ["x", "y", 2.0, 16384]  # as the kernel declares them

[[expect]]                     # 1, 3, 5, ...
buffer = "y"
equals = "iota"
value = 1.0
step = 2.0
)";

std::string filled_in(std::string_view text, const std::string& name) {
  std::string filled;
  for (const char c : text) c == '@' ? filled += name : filled += c;
  return filled;
}

void check_name(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto fits = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  if (name.size() > 64 || !letter(name.front()) || !std::all_of(name.begin(), name.end(), fits))
    input_error("new: a kernel's name has up to 64 letters, digits and _, and does not begin with a digit; not \"{}\"",
                printable(name));
}

/// All of the files, or none, and no folder that was not there.
void write_files(const fs::path& folder, const std::vector<std::pair<std::string, std::string>>& files) {
  for (const auto& [name, text] : files)
    if (fs::exists(fs::symlink_status(folder / name)))
      input_error("new: {} exists already; choose another name, or another folder with --out",
                  (folder / name).string());
  std::error_code failed;
  const bool made = fs::create_directory(folder, failed);
  if (failed || !fs::is_directory(folder))
    input_error("new: {} cannot be created: {}; choose another folder with --out", folder.string(),
                failed ? failed.message() : "there is a file of that name");
  std::vector<fs::path> written;
  try {
    for (const auto& [name, text] : files) {
      write_whole((folder / name).string(), text);
      written.push_back(folder / name);
    }
  } catch (const InputError&) {
    for (const fs::path& file : written) fs::remove(file, failed);
    if (made) fs::remove(folder, failed);
    throw;
  }
}

}  // namespace

int new_command(const CommandLine& line) {
  const std::string &what = line.operands.at(0), &name = line.operands.at(1);
  if (what != "kernel")
    input_error("new: cannot make a \"{}\"; there is only terrace new kernel NAME", printable(what));
  check_name(name);
  const fs::path folder = line.new_folder.empty() ? fs::path(name) : fs::path(line.new_folder);
  const std::string code = name + ".cu", program = name + ".toml";
  write_files(folder, {{code, filled_in(kDeviceCode, name)}, {program, filled_in(kProgram, name)}});
  const std::string toml = (folder / program).string();
  write_stdout(
      fmt::format("Wrote {0}, a kernel, and {1}, its buffers, launch and check. Next:\n"
                  "  terrace exec {1} --check\n"
                  "  terrace list kernels {0}\n"
                  "  terrace run --gpu dws_30sm --tenant {1} --check\n"
                  "  terrace run --gpu dws_30sm --tenant {1} --tenant mm --size mini --check\n",
                  (folder / code).string(), toml));
  return 0;
}

}  // namespace terrace
