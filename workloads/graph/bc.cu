// Betweenness centrality after Brandes. For each source a breadth-first search counts the shortest ways to every vertex,
// level by level; then the shares of the ways that lead through a vertex are added up, from the last level back. One
// thread per vertex. dist: -1 not reached.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

extern "C" __global__ void bc_clean(float* rho, float* sigma, int* dist, u32 source, u32 vertices) {
  const u32 v = global_thread();
  if (v >= vertices) return;
  rho[v] = v == source ? 1.0f : 0.0f;
  sigma[v] = 0.0f;
  dist[v] = v == source ? 0 : -1;
}

/// Vertices at distance `level` reach their neighbours. Several may reach one at once: they write the same distance.
extern "C" __global__ void bc_forward(const int* row, const int* col, int* dist, float* rho, int* flag, int level,
                                      u32 vertices) {
  const u32 v = global_thread();
  if (v >= vertices || dist[v] != level) return;
  const float ways = rho[v];
  const int end = row[v + 1];
#pragma unroll 1
  for (int e = row[v]; e < end; ++e) {
    const int w = col[e];
    int there = dist[w];
    if (there < 0) {
      dist[w] = there = level + 1;
      *flag = 1;
    }
    if (there == level + 1) atomicAdd(&rho[w], ways);
  }
}

/// Vertices at distance `level` hand what they have to those before them, along the edges of the transposed graph.
extern "C" __global__ void bc_backward(const int* row, const int* col, const int* dist, const float* rho, float* sigma,
                                       float* bc, int level, u32 vertices) {
  const u32 v = global_thread();
  if (v >= vertices || dist[v] != level) return;
  const float through = sigma[v];
  const float each = (1.0f + through) / rho[v];
  const int end = row[v + 1];
#pragma unroll 1
  for (int e = row[v]; e < end; ++e) {
    const int w = col[e];
    if (dist[w] == level - 1) atomicAdd(&sigma[w], rho[w] * each);
  }
  bc[v] += through;
}
