// All that a program had the GPU do, so that it can be done again without the host's part in it.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "frontend/guest_memory.h"
#include "frontend/ptx/execute/machine.h"
#include "frontend/workload.h"
#include "real_gpu/gpu_runner.h"

namespace terrace::silicon {

struct Recording {
  struct Upload {
    real_gpu::Gpu::Address to;
    std::vector<u8> bytes;
  };
  struct Saved {
    real_gpu::GpuRunner::Extent original;
    real_gpu::Gpu::Address copy;
  };
  std::vector<std::variant<Upload, Launch>> steps;  // from the first launch on
  std::vector<Saved> beginning;                     // memory before the first launch
  u64 launches = 0, most_blocks = 0;
};

/// A workload whose module is loaded and whose buffers are made, ready to run.
class ReadyWorkload {
 public:
  /// `folder` holds the modules of the workloads.
  ReadyWorkload(real_gpu::Gpu& gpu, const std::string& folder, const WorkloadRequest& request);
  real_gpu::Gpu::Module* module() const { return runner_.module(); }
  /// Runs it. Without `host_reads` the host does not see what kernels leave.
  Recording record(bool host_reads);
  CheckResult check() { return program_->check(memory_); }

 private:
  std::string file_, ptx_;  // of the module
  std::unique_ptr<Program> program_;
  real_gpu::Gpu& gpu_;
  GuestMemory memory_{PageSize::k4K};
  ptx::Machine variables_;  // places the module's variables
  real_gpu::GpuRunner runner_;
  u64 first_buffer_;
};

/// Memory as it was before the first launch.
void restore(real_gpu::Gpu& gpu, const Recording& recording, real_gpu::Gpu::Stream* stream);

/// Milliseconds of all kernels; the host's writes between them do not count. `events` are kept for the next time.
double replay(real_gpu::Gpu& gpu, real_gpu::Gpu::Module* module, const Recording& recording,
              real_gpu::Gpu::Stream* stream, std::vector<real_gpu::Gpu::Event*>& events);

}  // namespace terrace::silicon
