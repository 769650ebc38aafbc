// SPDX-License-Identifier: MIT
#include "cli/cuda_tenants.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "cli/root_config.h"
#include "cli/threads.h"
#include "config/field_text.h"
#include "config/loader.h"
#include "engine/check.h"
#include "gpu/until.h"
#include "text/program_folder.h"

namespace terrace {
namespace {

namespace fs = std::filesystem;

/// What a tenant may allocate: its part of memory, less an eighth for page tables and what finds no room.
u64 memory_of_tenant(const GpuConfig& config, u64 tenants) {
  return std::min(config.pages.memory_bytes / tenants, GuestMemory::kNearBytes) / 8 * 7;
}

cuda::HostSession::Setup session_setup(const GpuConfig& config, u64 tenants) {
  cuda::HostSession::Setup setup;
  setup.call_cycles = config.tenancy.host_call_cycles;
  setup.most_registers_of_thread = config.sm.most_registers_of_thread();
  setup.device = {config.name,         memory_of_tenant(config, tenants),
                  config.sm.count,     config.sm.warp_width,
                  config.sm.warps,     config.sm.blocks,
                  config.sm.registers, config.sm.shared_bytes,
                  config.core_mhz,     config.l2.bytes};
  return setup;
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

}  // namespace

std::string cudart_folder() {
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

GivenTenant given(const CudaTenant& tenant) {
  return {tenant.name, tenant.program.get(), tenant.memory.get(), tenant.machine.get(),
          [program = tenant.program.get()] { return program->code_hash(); }};
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

u32 seconds_of(const std::string& text, u32 unless_given, std::string_view command, std::string_view option) {
  if (text.empty()) return unless_given;
  const auto seconds = parse_integer(text);
  if (!seconds || *seconds > 1'000'000)
    input_error("{}: {} must be a whole number of seconds up to 1000000 (0: none), not {}", command, option, text);
  return static_cast<u32>(*seconds);
}

}  // namespace terrace
