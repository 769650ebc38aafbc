// 25-point star stencil in three dimensions, radius 4. A thread owns an (x, y) column and marches along z with four
// planes ahead and four behind in registers; the neighbours in x and y come from shared memory. The halo there is 8
// wide although 4 are used, as in the original, and nothing is clamped: at the edges the linear index runs on into the
// neighbouring row or plane.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kColumns = 32;
constexpr u32 kRows = 8;
constexpr u32 kHalo = 8;
constexpr u32 kRadius = 4;
}  // namespace

extern "C" __global__ void stencil25(const float* in, float* out, const float* coefficients, u32 width, u32 height,
                                     u32 depth) {
  __shared__ float tile[kRows + 2 * kHalo][kColumns + 2 * kHalo];
  const u32 plane = width * height;
  const u32 tx = threadIdx.x + kHalo;
  const u32 ty = threadIdx.y + kHalo;
  u32 next = (blockIdx.y * kRows + threadIdx.y) * width + blockIdx.x * kColumns + threadIdx.x;

  // The window of nine planes; window[kRadius] is the current one. The first is filled when the window first moves on.
  float window[2 * kRadius + 1];
#pragma unroll
  for (u32 i = 1; i <= 2 * kRadius; ++i) {
    window[i] = in[next];
    next += plane;
  }
  u32 current = next - (kRadius + 1) * plane;

#pragma unroll 1
  for (u32 z = 0; z < depth - 16; ++z) {
#pragma unroll
    for (u32 i = 0; i < 2 * kRadius; ++i) window[i] = window[i + 1];
    window[2 * kRadius] = in[next];
    next += plane;
    current += plane;
    __syncthreads();

    tile[ty - kHalo][tx] = in[current - kHalo * width];
    tile[ty + kRows][tx] = in[current + kHalo * width];
    if (threadIdx.x < kHalo) {
      tile[ty][tx - kHalo] = in[current - kHalo];
      tile[ty][tx + kColumns] = in[current + kColumns];
    }
    tile[ty][tx] = window[kRadius];
    __syncthreads();

    float sum = coefficients[0] * window[kRadius];
#pragma unroll
    for (u32 r = 1; r <= kRadius; ++r) {
      sum += coefficients[r] * (window[kRadius - r] + window[kRadius + r] + tile[ty - r][tx] + tile[ty + r][tx] +
                                tile[ty][tx - r] + tile[ty][tx + r]);
    }
    out[current] = sum;
  }
}
