// What the files of the runtime library share: CUDA's types as its calls pass them, and how a call ends.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "link.h"

#define TERRACE_API extern "C" __attribute__((visibility("default")))

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;

namespace terrace::cudart {

/// Remembers a failure for cudaGetLastError.
int done(int status);
/// A call that is not supported: one line on standard error, the first time.
int unserved(const char* call);

/// CUDA's own names of the default stream are 0, 1 and 2.
inline std::uint64_t number(cudaStream_t stream) {
  const auto value = reinterpret_cast<std::uintptr_t>(stream);
  return value <= 2 ? 0 : value;
}
inline std::uint64_t number(cudaEvent_t event) {
  return reinterpret_cast<std::uintptr_t>(event);
}

/// Copies `height` rows of `width` bytes; `kind` is a cudaMemcpyKind.
int copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
         std::size_t height, int kind, std::uint64_t stream, bool async);
int launch(Kernel& kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared, cudaStream_t stream);
int wait();

}  // namespace terrace::cudart
