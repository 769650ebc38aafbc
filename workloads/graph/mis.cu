// A maximal independent set in Luby's manner, with random priorities. One thread per vertex; a round is mis1, mis2,
// mis3. status: -1 undecided, -2 out of the running.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

// The least priority among the undecided neighbours of each undecided vertex.
extern "C" __global__ void mis1(const int* row, const int* col, const int* value, const int* status, int* min,
                                int* flag, u32 vertices) {
  const u32 v = global_thread();
  if (v >= vertices || status[v] != -1) return;
  *flag = 1;
  int least = 0x7fffffff;
  const int end = row[v + 1];
#pragma unroll 1
  for (int e = row[v]; e < end; ++e) {
    const int u = col[e];
    const int other = value[u];  // both arrays are gathered for every edge
    if (status[u] == -1 && other < least) least = other;
  }
  min[v] = least;
}

// An undecided vertex joins that no such neighbour undercuts (equal ones join together), and marks its neighbours. That
// a neighbour joins meanwhile only spares it a mark it does not need.
extern "C" __global__ void mis2(const int* row, const int* col, const int* value, int* status, int* next_status,
                                int* in_set, const int* min, u32 vertices) {
  const u32 v = global_thread();
  if (v >= vertices || status[v] != -1 || value[v] > min[v]) return;
  in_set[v] = 2;
  status[v] = -2;
  const int end = row[v + 1];
#pragma unroll 1
  for (int e = row[v]; e < end; ++e) {
    const int u = col[e];
    if (status[u] == -1) next_status[u] = -2;
  }
}

extern "C" __global__ void mis3(int* status, const int* next_status, u32 vertices) {
  const u32 v = global_thread();
  if (v < vertices && next_status[v] == -2) status[v] = -2;
}
