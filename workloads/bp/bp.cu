// The two kernels of backprop on the layer from n inputs to 16 hidden units. A block of 16 x 16 threads has 16 inputs;
// rows of the weights hold 17 numbers, the first of them unused, so that they start unaligned.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kHidden = 16;
constexpr u32 kInputs = 16;
constexpr u32 kPitch = kHidden + 1;
constexpr float kRate = 0.3f;
constexpr float kMomentum = 0.3f;

/// Of the thread's weight: row 0 belongs to the bias.
__device__ __forceinline__ u32 weight_index() {
  return kPitch * (kInputs * blockIdx.y + threadIdx.y + 1) + threadIdx.x + 1;
}
__device__ __forceinline__ u32 input_index() {
  return kInputs * blockIdx.y + threadIdx.y + 1;
}
}  // namespace

/// partial[block][hidden] = the sum over the block's inputs of input x weight. The tree of sums is also written over
/// the weights, as in the original, whose host uploads them again.
extern "C" __global__ void forward(const float* input, float* weights, float* partial) {
  __shared__ float inputs[kInputs];
  __shared__ float products[kInputs][kHidden];
  const u32 tx = threadIdx.x, ty = threadIdx.y;
  if (tx == 0) inputs[ty] = input[input_index()];
  __syncthreads();
  products[ty][tx] = weights[weight_index()];
  __syncthreads();
  products[ty][tx] = products[ty][tx] * inputs[ty];
  __syncthreads();
#pragma unroll 1
  for (u32 span = 2; span <= kInputs; span *= 2) {
    if (ty % span == 0) products[ty][tx] += products[ty + span / 2][tx];
    __syncthreads();
  }
  weights[weight_index()] = products[ty][tx];
  __syncthreads();
  if (tx == 0) partial[kHidden * blockIdx.y + ty] = products[tx][ty];
}

extern "C" __global__ void adjust(const float* delta, const float* input, float* weights, float* old) {
  const u32 index = weight_index();
  const float change = kRate * delta[threadIdx.x + 1] * input[input_index()] + kMomentum * old[index];
  weights[index] += change;
  old[index] = change;
  __syncthreads();
  if (threadIdx.y == 0 && blockIdx.y == 0) {
    const u32 bias = threadIdx.x + 1;
    const float bias_change = kRate * delta[bias] + kMomentum * old[bias];
    weights[bias] += bias_change;
    old[bias] = bias_change;
  }
}
