// terrace cuda and terrace serve: CUDA programs as they are, each a tenant of one simulated GPU (docs/cuda.md).
// SPDX-License-Identifier: MIT
#include <fmt/ranges.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/root_config.h"
#include "cli/threads.h"
#include "config/field_text.h"
#include "config/loader.h"
#include "cuda/cuda_program.h"
#include "cuda/process_host.h"
#include "cuda/socket_host.h"
#include "engine/check.h"
#include "engine/interrupt.h"
#include "frontend/guest_memory.h"
#include "frontend/ptx/execute/machine.h"
#include "gpu/until.h"
#include "run/run.h"
#include "text/output.h"
#include "text/program_folder.h"

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

std::string library_folder() {
  const fs::path folder = program_folder();
  std::error_code ignored;
  std::vector<fs::path> places{folder / "cudart"};
  for (const char* lib : {"lib", "lib64", "lib/x86_64-linux-gnu"})
    places.push_back(folder.parent_path() / lib / "terrace");
  for (const fs::path& place : places)
    if (fs::exists(place / "libcudart.so.12", ignored)) return place.string();
  input_error("the program in {} finds libcudart.so.12 neither beside it nor in lib/terrace; build or install it again",
              folder.string());
}

/// What a tenant may allocate: its part of memory, less an eighth for page tables and what finds no room.
u64 memory_of_tenant(const GpuConfig& config, u64 tenants) {
  return std::min(config.pages.memory_bytes / tenants, GuestMemory::kNearBytes) / 8 * 7;
}

cuda::HostSession::Setup session_setup(const GpuConfig& config, u64 tenants) {
  cuda::HostSession::Setup setup;
  setup.call_cycles = config.tenancy.host_call_cycles;
  setup.device = {config.name,         memory_of_tenant(config, tenants),
                  config.sm.count,     config.sm.warp_width,
                  config.sm.warps,     config.sm.blocks,
                  config.sm.registers, config.sm.shared_bytes,
                  config.core_mhz,     config.l2.bytes};
  return setup;
}

/// A tenant with everything it owns.
struct CudaTenant {
  std::string name;
  std::unique_ptr<GuestMemory> memory;
  std::unique_ptr<ptx::Machine> machine;
  std::unique_ptr<cuda::CudaProgram> program;
};

u32 patience_of(const std::string& text, std::string_view command) {
  if (text.empty()) return 600;
  const auto seconds = parse_integer(text);
  if (!seconds || *seconds > 1'000'000)
    input_error("{}: --host-timeout must be a whole number of seconds up to 1000000 (0: none), not {}", command, text);
  return static_cast<u32>(*seconds);
}

void refuse_what_does_not_apply(const GpuConfig& config, std::string_view command) {
  if (is_window(config.run.until))
    input_error(
        "{}: run.until = \"{}\" starts programs again, but a process runs only once; use completed, cycles:N or "
        "instructions:N",
        command, config.run.until);
  if (!config.run.tenants.empty())
    input_error("{}: run.tenants names {}, but here the tenants are processes", command, config.run.tenants);
}

CudaTenant make_tenant(const GpuConfig& config, std::string name, u64 tenants, std::unique_ptr<cuda::HostSource> host) {
  CudaTenant tenant;
  tenant.name = std::move(name);
  tenant.memory = std::make_unique<GuestMemory>(PageSize(config.pages.bytes));
  tenant.machine = std::make_unique<ptx::Machine>(
      *tenant.memory, ptx::MachineConfig{.warp_width = config.sm.warp_width, .loop_limit = config.run.loop_limit});
  tenant.program = std::make_unique<cuda::CudaProgram>(std::move(host), session_setup(config, tenants), *tenant.memory,
                                                       *tenant.machine);
  return tenant;
}

RunRequest request_of(const CommandLine& line) {
  const ConfigLoader<RootConfig> loader(layers_of(line));
  RunRequest request;
  request.config = loader.config();
  refuse_what_does_not_apply(request.config, line.command);
  request.config.run.relaunch = false;
  request.check = true;
  request.options.threads = threads_of(line.run.threads, line.command, 1);
  return request;
}

/// Runs the tenants and says how it went; returns the exit code.
int run_tenants(const CommandLine& line, RunRequest request, const std::vector<CudaTenant>& tenants,
                std::optional<OutputFile>& json) {
  for (const CudaTenant& tenant : tenants) {
    request.given.push_back({tenant.name, tenant.program.get(), tenant.memory.get(), tenant.machine.get(),
                             [program = tenant.program.get()] { return program->code_hash(); }});
  }
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

/// Removes the socket of a server when it ends.
struct SocketFile {
  std::string path;
  ~SocketFile() { unlink(path.c_str()); }
};

u64 clients_of(const std::string& text) {
  const auto clients = parse_integer(text.empty() ? "1" : text);
  if (!clients || *clients < 1 || *clients > kMaxTenants)
    input_error("serve: --clients must be a whole number from 1 to {}, not {}", kMaxTenants, text);
  return *clients;
}

}  // namespace

int cuda_command(const CommandLine& line) {
  if (line.programs.empty())
    input_error("cuda: give a program after --, such as terrace cuda --gpu dws_30sm -- ./app; see terrace cuda --help");
  const RunRequest request = request_of(line);
  std::optional<OutputFile> json;
  if (!line.run.json.empty()) json.emplace(line.run.json);
  cuda::ProcessHost::Setup host;
  host.patience_s = patience_of(line.cuda.host_timeout, "cuda");
  host.library_folder = library_folder();
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

int serve_command(const CommandLine& line) {
  const RunRequest request = request_of(line);
  const u64 clients = clients_of(line.cuda.clients);
  const u32 patience = patience_of(line.cuda.host_timeout, "serve");
  std::optional<OutputFile> json;
  if (!line.run.json.empty()) json.emplace(line.run.json);
  const cuda::Descriptor listening = cuda::listen_at(line.cuda.socket);
  const SocketFile file{line.cuda.socket};
  if (!line.quiet)
    say(fmt::format("waiting for {} at {}; run a program with LD_LIBRARY_PATH={} {}={}",
                    clients == 1 ? "a client" : fmt::format("{} clients", clients), line.cuda.socket, library_folder(),
                    cuda::kSocketVariable, fs::absolute(line.cuda.socket).string()));
  std::vector<CudaTenant> tenants;
  for (u64 i = 0; i < clients; ++i) {
    tenants.push_back(make_tenant(request.config, fmt::format("client {}", i), clients,
                                  std::make_unique<cuda::SocketHost>(listening, patience)));
  }
  return run_tenants(line, request, tenants, json);
}

}  // namespace terrace
