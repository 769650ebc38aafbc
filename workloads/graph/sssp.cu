// Shortest paths from one source by Bellman-Ford, as a product of the transposed graph's matrix with the vector of
// distances in which minimum and addition stand for addition and multiplication. One thread per vertex; a round is
// assign, minplus, diff.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

extern "C" __global__ void assign(int* x, const int* y, u32 vertices) {
  const u32 v = global_thread();
  if (v < vertices) x[v] = y[v];
}

extern "C" __global__ void minplus(const int* row, const int* col, const int* weight, const int* x, int* y,
                                   u32 vertices) {
  const u32 v = global_thread();
  if (v >= vertices) return;
  int least = x[v];
  const int end = row[v + 1];
#pragma unroll 1
  for (int e = row[v]; e < end; ++e) {
    const int through = weight[e] + x[col[e]];
    if (through < least) least = through;
  }
  y[v] = least;
}

extern "C" __global__ void diff(const int* x, const int* y, int* flag, u32 vertices) {
  const u32 v = global_thread();
  if (v < vertices && x[v] != y[v]) *flag = 1;
}
