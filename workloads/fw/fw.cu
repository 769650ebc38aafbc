// Floyd-Warshall, one step: paths through vertex k, for all pairs at once. In `fw_step` threadIdx.x counts rows of a
// row-major matrix, so that a warp spans 16 rows: that is the benchmark. `fw_step_coalesced` is for comparison.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {

__device__ __forceinline__ void relax(int* dist, int* next, u32 dim, u32 k, u32 i, u32 j) {
  if (i >= dim || j >= dim) return;
  const u64 at = u64{i} * dim + j;
  const int through = dist[u64{i} * dim + k] + dist[u64{k} * dim + j];
  if (through < dist[at]) {
    dist[at] = through;
    next[at] = static_cast<int>(k);
  }
}

}  // namespace

extern "C" __global__ void fw_step(int* dist, int* next, u32 dim, u32 k) {
  relax(dist, next, dim, k, blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y);
}

extern "C" __global__ void fw_step_coalesced(int* dist, int* next, u32 dim, u32 k) {
  relax(dist, next, dim, k, blockIdx.y * blockDim.y + threadIdx.y, blockIdx.x * blockDim.x + threadIdx.x);
}
