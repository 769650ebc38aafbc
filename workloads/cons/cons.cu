// A separable filter of 17 taps on an image: rows first, then columns. A block stages its part of the image and a halo
// on both sides in shared memory; each thread has four results. Beyond the image everything is zero.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr int kRadius = 8;
constexpr int kTaps = 2 * kRadius + 1;
constexpr int kResults = 4;  // of a thread
constexpr int kHalo = 1;     // steps of the block's width or height on either side
constexpr int kRowsX = 16, kRowsY = 4;
constexpr int kColumnsX = 16, kColumnsY = 8;
}  // namespace

__constant__ float cons_taps[kTaps];

extern "C" __global__ void convolve_rows(const float* in, float* out, u32 width) {
  __shared__ float tile[kRowsY][(kResults + 2 * kHalo) * kRowsX];
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  const int w = static_cast<int>(width);
  const int x = (static_cast<int>(blockIdx.x) * kResults - kHalo) * kRowsX + tx;
  const int y = static_cast<int>(blockIdx.y) * kRowsY + ty;
  in += y * w + x;
  out += y * w + x;
#pragma unroll
  for (int i = kHalo; i < kHalo + kResults; ++i) tile[ty][tx + i * kRowsX] = in[i * kRowsX];
  tile[ty][tx] = x >= 0 ? in[0] : 0.0f;
  constexpr int kLast = kHalo + kResults;
  tile[ty][tx + kLast * kRowsX] = x + kLast * kRowsX < w ? in[kLast * kRowsX] : 0.0f;
  __syncthreads();
#pragma unroll
  for (int i = kHalo; i < kHalo + kResults; ++i) {
    float sum = 0.0f;
#pragma unroll
    for (int k = -kRadius; k <= kRadius; ++k) sum += cons_taps[kRadius - k] * tile[ty][tx + i * kRowsX + k];
    out[i * kRowsX] = sum;
  }
}

extern "C" __global__ void convolve_columns(const float* in, float* out, u32 pitch, u32 height) {
  __shared__ float tile[kColumnsX][(kResults + 2 * kHalo) * kColumnsY + 1];
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  const int p = static_cast<int>(pitch);
  const int x = static_cast<int>(blockIdx.x) * kColumnsX + tx;
  const int y = (static_cast<int>(blockIdx.y) * kResults - kHalo) * kColumnsY + ty;
  in += y * p + x;
  out += y * p + x;
#pragma unroll
  for (int i = kHalo; i < kHalo + kResults; ++i) tile[tx][ty + i * kColumnsY] = in[i * kColumnsY * p];
  tile[tx][ty] = y >= 0 ? in[0] : 0.0f;
  constexpr int kLast = kHalo + kResults;
  tile[tx][ty + kLast * kColumnsY] =
      y + kLast * kColumnsY < static_cast<int>(height) ? in[kLast * kColumnsY * p] : 0.0f;
  __syncthreads();
#pragma unroll
  for (int i = kHalo; i < kHalo + kResults; ++i) {
    float sum = 0.0f;
#pragma unroll
    for (int k = -kRadius; k <= kRadius; ++k) sum += cons_taps[kRadius - k] * tile[tx][ty + i * kColumnsY + k];
    out[i * kColumnsY * p] = sum;
  }
}
