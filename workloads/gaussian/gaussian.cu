// Gaussian elimination, one step: fan1 computes the factors of the rows below row t, a column of the matrix; fan2
// subtracts row t from them. In fan2 threadIdx.x counts rows, so that a block of 4 x 4 threads, half a warp, touches four
// rows: that is the benchmark. The whole grid is launched in every step, although fewer and fewer threads have work.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

extern "C" __global__ void fan1(float* m, const float* a, u32 size, u32 t) {
  const u32 i = global_thread();
  if (i >= size - 1 - t) return;
  m[size * (i + t + 1) + t] = a[size * (i + t + 1) + t] / a[size * t + t];
}

extern "C" __global__ void fan2(const float* m, float* a, float* b, u32 size, u32 t) {
  const u32 row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= size - 1 - t || column >= size - t) return;
  const u32 i = row + 1 + t, j = column + t;
  a[size * i + j] -= m[size * i + t] * a[size * t + j];
  if (column == 0) b[i] -= m[size * i + t] * b[t];
}
