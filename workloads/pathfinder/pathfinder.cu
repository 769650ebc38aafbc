// The cheapest way through a grid, row by row. A block of 256 threads takes a stretch of the result so far and adds
// several rows of the wall in shared memory, in each of which the stretch that it knows shrinks by one at both ends.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr int kThreads = 256;
}

/// Adds `rows` rows of the wall, `from_row` the first; blocks write kThreads - 2 x border columns each.
extern "C" __global__ void pathfinder_rows(const int* wall, const int* from, int* to, int columns, int from_row,
                                           int rows, int border) {
  __shared__ int before[kThreads];
  __shared__ int after[kThreads];
  const int t = static_cast<int>(threadIdx.x);
  const int first = static_cast<int>(blockIdx.x) * (kThreads - 2 * border) - border;
  const int column = first + t;
  const bool on_grid = column >= 0 && column < columns;
  // The part of the block that lies on the grid; beyond it there is no way.
  const int first_valid = first < 0 ? -first : 0;
  const int last_valid = first + kThreads > columns ? columns - 1 - first : kThreads - 1;
  const int west = t - 1 < first_valid ? first_valid : t - 1;
  const int east = t + 1 > last_valid ? last_valid : t + 1;

  if (on_grid) before[t] = from[column];
  __syncthreads();
  bool computed = false;
#pragma unroll 1
  for (int i = 0; i < rows; ++i) {
    computed = on_grid && t > i && t < kThreads - 1 - i;
    if (computed) {
      const int left = before[west], up = before[t], right = before[east];
      const int side = left < right ? left : right;
      after[t] = (side < up ? side : up) + wall[(from_row + i) * columns + column];
    }
    __syncthreads();
    if (i == rows - 1) break;
    if (computed) before[t] = after[t];
    __syncthreads();
  }
  const bool written = t >= border && t < kThreads - border;
  if (computed && written) to[column] = after[t];
}
