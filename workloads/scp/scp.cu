// Scalar products of many pairs of vectors. A block takes pairs a grid apart; 1,024 partial sums in shared memory, each
// of the elements 1,024 apart, are then added in a tree.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kSums = 1024;
}  // namespace

extern "C" __global__ void scalar_products(const float* a, const float* b, float* products, u32 vectors, u32 elements) {
  __shared__ float sums[kSums];
#pragma unroll 1
  for (u32 vector = blockIdx.x; vector < vectors; vector += gridDim.x) {
    const float* x = a + u64{vector} * elements;
    const float* y = b + u64{vector} * elements;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < kSums; i += blockDim.x) {
      float sum = 0.0f;
      const float *at_x = x + i, *at_y = y + i;
#pragma unroll 1
      for (; at_x < x + elements; at_x += kSums, at_y += kSums) sum += *at_x * *at_y;
      sums[i] = sum;
    }
#pragma unroll 1
    for (u32 span = kSums / 2; span > 0; span /= 2) {
      __syncthreads();
#pragma unroll 1
      for (u32 i = threadIdx.x; i < span; i += blockDim.x) sums[i] += sums[i + span];
    }
    if (threadIdx.x == 0) products[vector] = sums[0];
    __syncthreads();  // before the next vector overwrites the sums
  }
}
