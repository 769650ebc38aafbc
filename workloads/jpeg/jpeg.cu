// Inverse discrete cosine transform of blocks of 8 x 8, in place. A thread block of 8 x 4 x 2 has a tile of 32 x 16
// values: threads first transform a column of their 8 x 8 block, then a row. The threads of an 8 x 8 block are in one
// warp, so that the warp's own barrier is enough.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kBlock = 8, kAcross = 4, kDown = 2;  // an 8 x 8 block, and how many of them a tile has
constexpr u32 kPitch = kBlock * kAcross + 1;

// sqrt(2) cos(k pi / 16) for k = 1, 2, 3, 5, 6, 7, and 1 / sqrt(8).
constexpr float k1 = 1.387039845f, k2 = 1.306562965f, k3 = 1.175875602f;
constexpr float k5 = 0.785694958f, k6 = 0.541196100f, k7 = 0.275899379f;
constexpr float kNorm = 0.353553391f;

/// Eight values `step` apart.
__device__ __forceinline__ void inverse(float* values, u32 step) {
  const float c0 = values[0], c1 = values[step], c2 = values[2 * step], c3 = values[3 * step];
  const float c4 = values[4 * step], c5 = values[5 * step], c6 = values[6 * step], c7 = values[7 * step];
  const float sum = c0 + c4, difference = c0 - c4;
  const float outer = k2 * c2 + k6 * c6, inner = k6 * c2 - k2 * c6;
  const float even[4] = {sum + outer, difference + inner, difference - inner, sum - outer};
  const float odd[4] = {k1 * c1 + k3 * c3 + k5 * c5 + k7 * c7, k3 * c1 - k7 * c3 - k1 * c5 - k5 * c7,
                        k5 * c1 - k1 * c3 + k7 * c5 + k3 * c7, k7 * c1 - k5 * c3 + k3 * c5 - k1 * c7};
#pragma unroll
  for (u32 i = 0; i < 4; ++i) {
    values[i * step] = kNorm * (even[i] + odd[i]);
    values[(7 - i) * step] = kNorm * (even[i] - odd[i]);
  }
}
}  // namespace

extern "C" __global__ void idct8x8(float* plane, u32 pitch) {
  __shared__ float tile[kBlock * kDown * kPitch];
  const u32 column = threadIdx.y * kBlock + threadIdx.x, first_row = threadIdx.z * kBlock;
  float* const mine =
      plane + (blockIdx.y * kBlock * kDown + first_row) * pitch + blockIdx.x * kBlock * kAcross + column;
  float* const down = tile + first_row * kPitch + column;
  float* const across = tile + (first_row + threadIdx.x) * kPitch + threadIdx.y * kBlock;
#pragma unroll
  for (u32 i = 0; i < kBlock; ++i) down[i * kPitch] = mine[i * pitch];
  inverse(down, kPitch);
  __syncwarp();
  inverse(across, 1);
  __syncwarp();
#pragma unroll
  for (u32 i = 0; i < kBlock; ++i) mine[i * pitch] = down[i * kPitch];
}
