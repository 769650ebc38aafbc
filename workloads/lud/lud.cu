// LU decomposition in place, without pivots, in tiles of 16 x 16. A step takes one tile of the diagonal: lud_diagonal
// decomposes it, lud_perimeter solves the tiles to its right and below it, lud_internal updates all the rest.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kTile = 16;
}

/// 16 threads. L has ones on its diagonal.
extern "C" __global__ void lud_diagonal(float* matrix, u32 size, u32 offset) {
  __shared__ float tile[kTile][kTile];
  const u32 t = threadIdx.x;
  float* const corner = matrix + offset * size + offset;
#pragma unroll 1
  for (u32 i = 0; i < kTile; ++i) tile[i][t] = corner[i * size + t];
  __syncthreads();
#pragma unroll 1
  for (u32 i = 0; i < kTile - 1; ++i) {
    if (t > i) {  // column i of L
      float sum = tile[t][i];
#pragma unroll 1
      for (u32 j = 0; j < i; ++j) sum -= tile[t][j] * tile[j][i];
      tile[t][i] = sum / tile[i][i];
    }
    __syncthreads();
    if (t > i) {  // row i + 1 of U
      float sum = tile[i + 1][t];
#pragma unroll 1
      for (u32 j = 0; j <= i; ++j) sum -= tile[i + 1][j] * tile[j][t];
      tile[i + 1][t] = sum;
    }
    __syncthreads();
  }
#pragma unroll 1
  for (u32 i = 1; i < kTile; ++i) corner[i * size + t] = tile[i][t];
}

/// 32 threads: block b has the tile b + 1 to the right, of which the first half solves a column each, and the tile b + 1
/// below, of which the second half solves a row each.
extern "C" __global__ void lud_perimeter(float* matrix, u32 size, u32 offset) {
  __shared__ float diagonal[kTile][kTile];
  __shared__ float panels[2][kTile][kTile];  // right, below
  const u32 half = threadIdx.x / kTile, t = threadIdx.x % kTile;
  float* const corner = matrix + offset * size + offset;
  const u32 away = (blockIdx.x + 1) * kTile;
  float* const mine = corner + (half == 0 ? away : away * size);
#pragma unroll 1
  for (u32 i = half; i < kTile; i += 2) diagonal[i][t] = corner[i * size + t];
#pragma unroll 1
  for (u32 i = 0; i < kTile; ++i) panels[half][i][t] = mine[i * size + t];
  __syncthreads();
  if (half == 0) {
#pragma unroll 1
    for (u32 i = 1; i < kTile; ++i) {
      float sum = panels[0][i][t];
#pragma unroll 1
      for (u32 j = 0; j < i; ++j) sum -= diagonal[i][j] * panels[0][j][t];
      panels[0][i][t] = sum;
    }
  } else {
#pragma unroll 1
    for (u32 i = 0; i < kTile; ++i) {
      float sum = panels[1][t][i];
#pragma unroll 1
      for (u32 j = 0; j < i; ++j) sum -= panels[1][t][j] * diagonal[j][i];
      panels[1][t][i] = sum / diagonal[i][i];
    }
  }
  __syncthreads();
#pragma unroll 1
  for (u32 i = 0; i < kTile; ++i) mine[i * size + t] = panels[half][i][t];
}

/// 16 x 16 threads; block (x, y) has the tile x + 1 to the right and y + 1 down.
extern "C" __global__ void lud_internal(float* matrix, u32 size, u32 offset) {
  __shared__ float above[kTile][kTile];
  __shared__ float left[kTile][kTile];
  const u32 tx = threadIdx.x, ty = threadIdx.y;
  const u32 row = offset + (blockIdx.y + 1) * kTile + ty, column = offset + (blockIdx.x + 1) * kTile + tx;
  above[ty][tx] = matrix[(offset + ty) * size + column];
  left[ty][tx] = matrix[row * size + offset + tx];
  __syncthreads();
  float sum = 0.0f;
#pragma unroll
  for (u32 k = 0; k < kTile; ++k) sum += left[ty][k] * above[k][tx];
  matrix[row * size + column] -= sum;
}
