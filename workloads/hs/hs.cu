// Hotspot: heat in a chip. A block of 16 x 16 threads loads a patch of temperatures and powers into shared memory, does
// a few time steps there, in which the valid region shrinks by one ring each, and writes what is left.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr int kSide = 16;

__device__ __forceinline__ int at_least(int value, int low) {
  return value < low ? low : value;
}
__device__ __forceinline__ int at_most(int value, int high) {
  return value > high ? high : value;
}
__device__ __forceinline__ bool within(int value, int low, int high) {
  return value >= low && value <= high;
}
}  // namespace

extern "C" __global__ void hotspot_pyramid(u32 iterations, const float* power, const float* from, float* to,
                                           u32 columns, u32 rows, u32 border, float step_by_capacity, float rx,
                                           float ry, float rz, float ambient) {
  __shared__ float temperature_tile[kSide][kSide];
  __shared__ float power_tile[kSide][kSide];
  __shared__ float next_tile[kSide][kSide];
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  const int last_column = static_cast<int>(columns) - 1, last_row = static_cast<int>(rows) - 1;
  const int steps = static_cast<int>(iterations);
  const float per_rx = 1.0f / rx, per_ry = 1.0f / ry, per_rz = 1.0f / rz;

  const int inner = kSide - 2 * steps;
  const int patch_x = inner * static_cast<int>(blockIdx.x) - static_cast<int>(border);
  const int patch_y = inner * static_cast<int>(blockIdx.y) - static_cast<int>(border);
  const int x = patch_x + tx, y = patch_y + ty;
  const int index = static_cast<int>(columns) * y + x;
  if (within(x, 0, last_column) && within(y, 0, last_row)) {
    temperature_tile[ty][tx] = from[index];
    power_tile[ty][tx] = power[index];
  }
  __syncthreads();

  // The part of the patch that lies on the chip; beyond it the edge's own temperature stands in.
  const int first_x = at_least(-patch_x, 0), first_y = at_least(-patch_y, 0);
  const int end_x = at_most(last_column - patch_x, kSide - 1), end_y = at_most(last_row - patch_y, kSide - 1);
  const int north = at_least(ty - 1, first_y), south = at_most(ty + 1, end_y);
  const int west = at_least(tx - 1, first_x), east = at_most(tx + 1, end_x);

  bool computed = false;
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    computed = within(tx, i + 1, kSide - i - 2) && within(ty, i + 1, kSide - i - 2) && within(tx, first_x, end_x) &&
               within(ty, first_y, end_y);
    if (computed) {
      const float t = temperature_tile[ty][tx];
      next_tile[ty][tx] =
          t +
          step_by_capacity *
              (power_tile[ty][tx] + (temperature_tile[south][tx] + temperature_tile[north][tx] - 2.0f * t) * per_ry +
               (temperature_tile[ty][east] + temperature_tile[ty][west] - 2.0f * t) * per_rx + (ambient - t) * per_rz);
    }
    __syncthreads();
    if (i == steps - 1) break;
    if (computed) temperature_tile[ty][tx] = next_tile[ty][tx];
    __syncthreads();
  }
  if (computed) to[index] = next_tile[ty][tx];
}
