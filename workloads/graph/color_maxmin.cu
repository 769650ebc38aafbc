// Greedy colouring by local maxima and minima of random priorities, two colours a round. One thread per vertex;
// maxmin_start once, then a round is maxmin1, maxmin2. color: -1 none yet.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr int kBelowAll = -1, kAboveAll = 0x7fffffff;
}

extern "C" __global__ void maxmin_start(int* color, int* max, int* min, u32 vertices) {
  const u32 v = global_thread();
  if (v >= vertices) return;
  color[v] = -1;
  max[v] = kBelowAll;
  min[v] = kAboveAll;
}

// The greatest and the smallest priority among the uncoloured neighbours of each uncoloured vertex. A vertex with one
// neighbour does not look at it, as in color_max.
extern "C" __global__ void maxmin1(const int* row, const int* col, const int* value, const int* color, int* max,
                                   int* min, int* flag, u32 vertices) {
  const u32 v = global_thread();
  if (v >= vertices || color[v] != -1) return;
  *flag = 1;
  int most = kBelowAll, least = kAboveAll;
  const int first = row[v], end = row[v + 1];
  if (end - first != 1) {
#pragma unroll 1
    for (int e = first; e < end; ++e) {
      const int u = col[e];
      const int other = value[u];  // both arrays are gathered for every edge
      if (color[u] != -1) continue;
      if (other > most) most = other;
      if (other < least) least = other;
    }
  }
  max[v] = most;
  min[v] = least;
}

extern "C" __global__ void maxmin2(const int* value, int* color, const int* max, const int* min, int first_colour,
                                   u32 vertices) {
  const u32 v = global_thread();
  if (v >= vertices || color[v] != -1) return;
  const int own = value[v];
  if (own >= max[v])
    color[v] = first_colour;
  else if (own <= min[v])
    color[v] = first_colour + 1;
}
