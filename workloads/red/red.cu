// Sum of an array: a thread adds up pairs of elements 256 apart, in strides of the grid; a tree in shared memory adds up
// the block.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kThreads = 256;

template <class T>
__device__ __forceinline__ void reduce(const T* in, T* out, u32 count, T* sums) {
  const u32 t = threadIdx.x;
  const u32 step = gridDim.x * 2 * kThreads;
  const T* end = in + count;
  T sum = 0;
#pragma unroll 1
  for (const T* at = in + (blockIdx.x * 2 * kThreads + t); at < end; at += step) sum += at[0] + at[kThreads];
  sums[t] = sum;
#pragma unroll 1
  for (u32 span = kThreads / 2; span > 0; span /= 2) {
    __syncthreads();
    if (t < span) sums[t] += sums[t + span];
  }
  if (t == 0) out[blockIdx.x] = sums[0];
}
}  // namespace

extern "C" __global__ void reduce_f32(const float* in, float* out, u32 count) {
  __shared__ float sums[kThreads];
  reduce(in, out, count, sums);
}

extern "C" __global__ void reduce_f64(const double* in, double* out, u32 count) {
  __shared__ double sums[kThreads];
  reduce(in, out, count, sums);
}
