// terrace cuda: CUDA programs as they are, each a tenant of one simulated GPU (docs/cuda.md).
// SPDX-License-Identifier: MIT
#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/cuda_tenants.h"
#include "cli/progress.h"
#include "cuda/process_host.h"
#include "engine/check.h"
#include "engine/interrupt.h"
#include "text/output.h"

namespace terrace {
namespace {

namespace fs = std::filesystem;

/// A folder of the user's own for the sockets; it goes when the run ends.
class PrivateFolder {
 public:
  PrivateFolder() : path_((fs::temp_directory_path() / "terrace-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr)
      input_error("cannot create a folder in {}; set TMPDIR to a folder that you can write to",
                  fs::temp_directory_path().string());
  }
  ~PrivateFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Runs the tenants and says how it went; returns the exit code.
int run_tenants(const CommandLine& line, RunRequest request, const std::vector<CudaTenant>& tenants,
                std::optional<OutputFile>& json) {
  for (const CudaTenant& tenant : tenants) request.given.push_back(given(tenant));
  Progress progress(line.command, Progress::style_of_stderr(line.quiet));
  request.progress = [&progress](double part, Cycle cycles, u64 warp_instructions) {
    check_interrupt();
    if (progress.due(part)) progress.update(part, cycles, warp_instructions);
  };
  const RunResult result = simulate(request);
  progress.finish();
  if (json) {
    json->write(json_text(result.json));
    json->commit();
  }
  write_stdout(result.text);
  for (const std::string& fault : result.faults) say(fault);
  if (result.all_faulted) return kInputExitCode;
  return result.checks_passed ? 0 : 1;
}

}  // namespace

int cuda_command(const CommandLine& line) {
  if (line.programs.empty())
    input_error("cuda: give a program after --, such as terrace cuda --gpu dws_30sm -- ./app; see terrace cuda --help");
  const RunRequest request = request_of(line);
  std::optional<OutputFile> json;
  if (!line.run.json.empty()) json.emplace(line.run.json);
  cuda::ProcessHost::Setup host;
  host.patience_s = seconds_of(line.cuda.host_timeout, kHostTimeout, "cuda", "--host-timeout");
  host.library_folder = cudart_folder();
  const PrivateFolder folder;
  std::vector<CudaTenant> tenants;
  for (const std::vector<std::string>& command : line.programs) {
    host.command = command;
    host.socket = fmt::format("{}/{}", folder.path(), tenants.size());
    tenants.push_back(make_tenant(request.config, fmt::format("{}", fmt::join(command, " ")), line.programs.size(),
                                  std::make_unique<cuda::ProcessHost>(host)));
  }
  return run_tenants(line, request, tenants, json);
}

}  // namespace terrace
