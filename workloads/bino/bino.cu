// Binomial option pricing: one European call per block on a tree of `steps` steps. The leaves go to a buffer in global
// memory; from there, tiles of 256 nodes are rolled back 32 steps at a time in shared memory. A tile loses one node a
// step, so that 224 of them are written back and the next tile starts 224 nodes further on.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr int kNodes = 256;  // of a tile, and threads of a block
constexpr int kDelta = 32;   // steps done in shared memory at a time
constexpr int kAdvance = kNodes - kDelta;
}  // namespace

// Outside the namespace: a variable of a type without a name elsewhere would be taken for never written.
struct Option {
  float spot, strike, move, up, down;  // up and down: probabilities, discounted for one step
};
__constant__ Option bino_options[1024];

extern "C" __global__ void binomial(float* buffers, float* prices, u32 steps) {
  __shared__ float a[kNodes + 1];
  __shared__ float b[kNodes + 1];
  const int t = static_cast<int>(threadIdx.x);
  const int n = static_cast<int>(steps);
  float* values = buffers + u64{blockIdx.x} * (steps + 16);
  const Option& option = bino_options[blockIdx.x];
  const float up = option.up, down = option.down;

#pragma unroll 1
  for (int i = t; i <= n; i += kNodes) {
    const float value = option.spot * fast_exp(option.move * static_cast<float>(2 * i - n)) - option.strike;
    values[i] = value > 0.0f ? value : 0.0f;
  }
  // What the last thread reads beyond its tile: it belongs to nodes that are dropped.
  if (t == 0) a[kNodes] = b[kNodes] = 0.0f;

#pragma unroll 1
  for (int i = n; i > 0; i -= kDelta) {
#pragma unroll 1
    for (int base = 0; base < i; base += kAdvance) {
      const int first = i - base < kNodes - 1 ? i - base : kNodes - 1;
      const int last = first - kDelta;
      __syncthreads();
      if (t <= first) a[t] = values[base + t];
#pragma unroll 1
      for (int k = first - 1; k >= last; k -= 2) {
        __syncthreads();
        b[t] = up * a[t + 1] + down * a[t];
        __syncthreads();
        a[t] = up * b[t + 1] + down * b[t];
      }
      __syncthreads();
      if (t <= last) values[base + t] = a[t];
    }
  }
  if (t == 0) prices[blockIdx.x] = a[0];
}
