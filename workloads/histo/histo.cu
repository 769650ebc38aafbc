// A histogram of bytes in two kernels. In the first, every warp has 256 bins of its own in shared memory, and a block
// writes the sum of its warps; in the second, a block adds up one bin over all blocks of the first.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kBins = 256;
constexpr u32 kWarps = 6;
constexpr u32 kThreads = kWarps * 32;
}  // namespace

extern "C" __global__ void hist(const u32* words, u32* partial, u32 count) {
  __shared__ u32 bins[kWarps * kBins];
  const u32 t = threadIdx.x;
#pragma unroll 1
  for (u32 i = t; i < kWarps * kBins; i += kThreads) bins[i] = 0;
  __syncthreads();

  u32* own = bins + t / 32 * kBins;
  const u32 step = gridDim.x * kThreads;
#pragma unroll 1
  for (u32 i = blockIdx.x * kThreads + t; i < count; i += step) {
    const u32 word = words[i];
    atomicAdd(own + (word & 255), 1u);
    atomicAdd(own + (word >> 8 & 255), 1u);
    atomicAdd(own + (word >> 16 & 255), 1u);
    atomicAdd(own + (word >> 24), 1u);
  }
  __syncthreads();

#pragma unroll 1
  for (u32 bin = t; bin < kBins; bin += kThreads) {
    u32 sum = 0;
#pragma unroll 1
    for (u32 warp = 0; warp < kWarps; ++warp) sum += bins[warp * kBins + bin];
    partial[blockIdx.x * kBins + bin] = sum;
  }
}

/// Block = bin; thread i takes the part of block i of `hist`, a kilobyte from its neighbours'.
extern "C" __global__ void merge_bins(const u32* partial, u32* histogram, u32 parts) {
  __shared__ u32 sums[256];
  const u32 t = threadIdx.x;
  u32 sum = 0;
#pragma unroll 1
  for (u32 i = t; i < parts; i += blockDim.x) sum += partial[i * kBins + blockIdx.x];
  sums[t] = sum;
#pragma unroll 1
  for (u32 span = blockDim.x / 2; span > 0; span /= 2) {
    __syncthreads();
    if (t < span) sums[t] += sums[t + span];
  }
  if (t == 0) histogram[blockIdx.x] = sums[0];
}
