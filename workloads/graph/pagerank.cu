// PageRank in the push formulation: every vertex adds its share to the targets of its edges, atomically. One thread per
// vertex; an iteration is pr_push, pr_update.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

extern "C" __global__ void pr_push(const int* row, const int* col, const float* rank, float* next_rank, u32 vertices) {
  const u32 v = global_thread();
  if (v >= vertices) return;
  const int first = row[v], end = row[v + 1];
  const float share = rank[v] / static_cast<float>(end - first);  // infinite without an edge, and then unused
#pragma unroll 1
  for (int e = first; e < end; ++e) atomicAdd(&next_rank[col[e]], share);
}

extern "C" __global__ void pr_update(float* rank, float* next_rank, u32 vertices) {
  const u32 v = global_thread();
  if (v >= vertices) return;
  rank[v] = 0.15f / static_cast<float>(vertices) + 0.85f * next_rank[v];
  next_rank[v] = 0.0f;
}
