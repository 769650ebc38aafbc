// What terrace cuda and terrace serve have in common: tenants whose host side is a process.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cli/command_line.h"
#include "cuda/cuda_program.h"
#include "frontend/guest_memory.h"
#include "frontend/ptx/execute/machine.h"
#include "run/run.h"

namespace terrace {

/// Where the runtime library lies that programs load.
std::string cudart_folder();

/// A tenant with everything it owns.
struct CudaTenant {
  std::string name;
  std::unique_ptr<GuestMemory> memory;
  std::unique_ptr<ptx::Machine> machine;
  std::unique_ptr<cuda::CudaProgram> program;
};

CudaTenant make_tenant(const GpuConfig& config, std::string name, u64 tenants, std::unique_ptr<cuda::HostSource> host);
GivenTenant given(const CudaTenant& tenant);

/// What the options ask for, without tenants. What does not apply to processes is an InputError.
RunRequest request_of(const CommandLine& line);
inline constexpr u32 kHostTimeout = 600;  // chosen: longer than programs compute between two calls
/// Of --host-timeout and its kin: seconds, or what it is when it is not given.
u32 seconds_of(const std::string& text, u32 unless_given, std::string_view command, std::string_view option);

}  // namespace terrace
