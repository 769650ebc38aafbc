// PageRank in the pull formulation, as a product of a sparse matrix and a vector: every vertex adds up what its
// neighbours give it. One thread per vertex; spmv_start once, then an iteration is spmv_scalar, spmv_update.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

/// The matrix: what a neighbour gives goes to all its neighbours alike.
extern "C" __global__ void spmv_start(const int* row, const int* col, float* data, u32 vertices) {
  const u32 v = global_thread();
  if (v >= vertices) return;
  const int end = row[v + 1];
#pragma unroll 1
  for (int e = row[v]; e < end; ++e) {
    const int u = col[e];
    data[e] = 1.0f / static_cast<float>(row[u + 1] - row[u]);
  }
}

extern "C" __global__ void spmv_scalar(const int* row, const int* col, const float* data, const float* x, float* y,
                                       u32 vertices) {
  const u32 v = global_thread();
  if (v >= vertices) return;
  const int end = row[v + 1];
  float sum = 0.0f;
#pragma unroll 1
  for (int e = row[v]; e < end; ++e) sum += data[e] * x[col[e]];
  y[v] += sum;
}

extern "C" __global__ void spmv_update(float* x, float* y, u32 vertices) {
  const u32 v = global_thread();
  if (v >= vertices) return;
  x[v] = 0.15f / static_cast<float>(vertices) + 0.85f * y[v];
  y[v] = 0.0f;
}
