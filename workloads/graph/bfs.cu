// Breadth-first search, one level per pair of launches, with byte masks (Rodinia's formulation). One thread per vertex.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

// nodes[v] = {first edge, number of edges}. Two threads may reach one vertex: both write the same values.
extern "C" __global__ void bfs1(const int2* nodes, const int* edges, u8* mask, u8* updating, const u8* visited,
                                int* cost, u32 vertices) {
  const u32 v = global_thread();
  if (v >= vertices || !mask[v]) return;
  mask[v] = 0;
  // The end is read again and again, as in the original: the compiler cannot know that no store below changes it.
#pragma unroll 1
  for (int e = nodes[v].x; e < nodes[v].x + nodes[v].y; ++e) {
    const int u = edges[e];
    if (!visited[u]) {
      cost[u] = cost[v] + 1;
      updating[u] = 1;
    }
  }
}

extern "C" __global__ void bfs2(u8* mask, u8* updating, u8* visited, int* again, u32 vertices) {
  const u32 v = global_thread();
  if (v >= vertices || !updating[v]) return;
  mask[v] = 1;
  visited[v] = 1;
  *again = 1;
  updating[v] = 0;
}
