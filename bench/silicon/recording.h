// All that a program had the GPU do, so that it can be done again without the host's part in it.
// SPDX-License-Identifier: MIT
#pragma once

#include <variant>
#include <vector>

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

/// Runs a program whose buffers are those from `first_buffer` on. Without `host_reads` the host does not see what kernels leave.
Recording record(real_gpu::Gpu& gpu, real_gpu::GpuRunner& runner, Program& program, u64 first_buffer, bool host_reads);

/// Memory as it was before the first launch.
void restore(real_gpu::Gpu& gpu, const Recording& recording, real_gpu::Gpu::Stream* stream);

/// Milliseconds of all kernels; the host's writes between them do not count. `events` are kept for the next time.
double replay(real_gpu::Gpu& gpu, real_gpu::Gpu::Module* module, const Recording& recording,
              real_gpu::Gpu::Stream* stream, std::vector<real_gpu::Gpu::Event*>& events);

}  // namespace terrace::silicon
