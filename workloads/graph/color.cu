// Greedy colouring by local maxima of random priorities, one colour a round. One thread per vertex; a round is color1,
// color2. color: -1 none yet.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

// The greatest priority among the uncoloured neighbours of each uncoloured vertex. A vertex with one neighbour does not
// look at it, as in the original.
extern "C" __global__ void color1(const int* row, const int* col, const int* value, const int* color, int* max,
                                  int* flag, u32 vertices) {
  const u32 v = global_thread();
  if (v >= vertices || color[v] != -1) return;
  *flag = 1;
  int most = -1;
  const int first = row[v], end = row[v + 1];
  if (end - first != 1) {
#pragma unroll 1
    for (int e = first; e < end; ++e) {
      const int u = col[e];
      const int other = value[u];  // both arrays are gathered for every edge
      if (color[u] == -1 && other > most) most = other;
    }
  }
  max[v] = most;
}

extern "C" __global__ void color2(const int* value, int* color, const int* max, int round, u32 vertices) {
  const u32 v = global_thread();
  if (v < vertices && color[v] == -1 && value[v] >= max[v]) color[v] = round;
}
