// Register-tiled sgemm: C = alpha A B + beta C, column-major, B passed transposed. A block owns a 128 x 16 tile of C, a
// thread one row of it in 16 registers; B goes through shared memory in tiles of 8 x 16.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kTileColumns = 16;
constexpr u32 kTileDepth = 8;
}  // namespace

extern "C" __global__ void sgemm_nt(const float* a, u32 lda, const float* b, u32 ldb, float* c, u32 ldc, u32 depth,
                                    float alpha, float beta) {
  __shared__ float tile[kTileDepth][kTileColumns];
  const u32 thread = threadIdx.y * kTileColumns + threadIdx.x;
  const u32 row = blockIdx.x * (kTileDepth * kTileColumns) + thread;
  const u32 column = blockIdx.y * kTileColumns;

  float sum[kTileColumns];
#pragma unroll
  for (u32 n = 0; n < kTileColumns; ++n) sum[n] = 0.0f;

  const float* a_element = a + row;
  const float* b_element = b + column + threadIdx.x + u64{threadIdx.y} * ldb;
#pragma unroll 1
  for (u32 k = 0; k < depth; k += kTileDepth) {
    tile[threadIdx.y][threadIdx.x] = *b_element;
    b_element += u64{kTileDepth} * ldb;
    __syncthreads();
#pragma unroll
    for (u32 j = 0; j < kTileDepth; ++j) {
      const float value = *a_element;
      a_element += lda;
#pragma unroll
      for (u32 n = 0; n < kTileColumns; ++n) sum[n] += value * tile[j][n];
    }
    __syncthreads();
  }

  float* c_element = c + row + u64{column} * ldc;
#pragma unroll
  for (u32 n = 0; n < kTileColumns; ++n) {
    *c_element = *c_element * beta + alpha * sum[n];
    c_element += ldc;
  }
}
