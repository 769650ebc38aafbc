// Recognition of digits by four layers of a network, an image a row of blocks. The first two layers are convolutions of
// 5 x 5 at every other pixel; the last two are full, and each of their blocks has one thread.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kWindow = 5;

/// 1.7159 tanh(2 x / 3).
__device__ __forceinline__ float activation(float x) {
  return 1.7159f * (1.0f - 2.0f / (1.0f + fast_exp(x * (4.0f / 3.0f))));
}

/// The sum of a window's products; rows of the layer below are `pitch` apart.
__device__ __forceinline__ float window_sum(const float* below, const float* weights, u32 pitch) {
  float sum = 0.0f;
#pragma unroll 1
  for (u32 y = 0; y < kWindow; ++y) {
#pragma unroll 1
    for (u32 x = 0; x < kWindow; ++x) sum += below[y * pitch + x] * weights[y * kWindow + x];
  }
  return sum;
}

__device__ __forceinline__ float full_sum(const float* below, const float* weights, u32 inputs) {
  float sum = weights[0];
#pragma unroll 1
  for (u32 i = 0; i < inputs; ++i) sum += below[i] * weights[1 + i];
  return sum;
}
}  // namespace

/// Layers 1 and 2: block x is the map, block y the image, threads are pixels. A map has 26 weights for each map below; the
/// first one is its bias.
extern "C" __global__ void nn_convolve(const float* below, const float* weights, float* above, u32 maps_below,
                                       u32 side_below) {
  const u32 map = blockIdx.x, image = blockIdx.y, side = blockDim.x;
  const u32 first = 2 * (threadIdx.y * side_below + threadIdx.x);
  const u32 pixels_below = side_below * side_below;
  const float* own = weights + map * maps_below * (kWindow * kWindow + 1);
  float sum = own[0];
#pragma unroll 1
  for (u32 i = 0; i < maps_below; ++i)
    sum += window_sum(below + (image * maps_below + i) * pixels_below + first, own + 1 + i * kWindow * kWindow,
                      side_below);
  above[((image * gridDim.x + map) * side + threadIdx.y) * side + threadIdx.x] = activation(sum);
}

/// Layers 3 and 4: block x is the unit, block y the image.
extern "C" __global__ void nn_full(const float* below, const float* weights, float* above, u32 inputs) {
  const u32 unit = blockIdx.x, image = blockIdx.y;
  above[image * gridDim.x + unit] = activation(full_sum(below + image * inputs, weights + unit * (inputs + 1), inputs));
}
