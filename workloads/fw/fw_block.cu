// Floyd-Warshall in tiles of 16 x 16. A step takes sixteen intermediate vertices at once: first the tile of the diagonal
// they own, then the tiles in its row and its column, then all the rest. Lanes run along rows.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kTile = 16;
using Tile = int[kTile][kTile];

__device__ __forceinline__ u32 element(u32 dim, u32 tile_row, u32 tile_column) {
  return (tile_row * kTile + threadIdx.y) * dim + tile_column * kTile + threadIdx.x;
}

/// Ways from tile `first` through the step's vertices to tile `second`; `own` may be one of them.
__device__ __forceinline__ void relax(Tile& own, const Tile& first, const Tile& second) {
  const int* in_first = first[threadIdx.y];
  const int* in_second = &second[0][threadIdx.x];
  int best = own[threadIdx.y][threadIdx.x];
  const int* const end = in_first + kTile;
#pragma unroll 1
  do {
    const int through = *in_first + *in_second;
    if (through < best) own[threadIdx.y][threadIdx.x] = best = through;
    __syncthreads();
    in_second += kTile;
  } while (++in_first != end);
}

/// The block's tile in the row or the column of the diagonal's tile.
template <bool InRow>
__device__ __forceinline__ void relax_strip(int* dist, u32 dim, u32 step) {
  __shared__ Tile diagonal, own;
  const u32 at = InRow ? element(dim, step, blockIdx.x) : element(dim, blockIdx.x, step);
  diagonal[threadIdx.y][threadIdx.x] = dist[element(dim, step, step)];
  own[threadIdx.y][threadIdx.x] = dist[at];
  __syncthreads();
  if (InRow)
    relax(own, diagonal, own);
  else
    relax(own, own, diagonal);
  dist[at] = own[threadIdx.y][threadIdx.x];
}
}  // namespace

/// One block.
extern "C" __global__ void fwb_diagonal(int* dist, u32 dim, u32 step) {
  __shared__ Tile own;
  const u32 at = element(dim, step, step);
  own[threadIdx.y][threadIdx.x] = dist[at];
  __syncthreads();
  relax(own, own, own);
  dist[at] = own[threadIdx.y][threadIdx.x];
}

/// Block b has tile b of the row; that of the diagonal is done.
extern "C" __global__ void fwb_row(int* dist, u32 dim, u32 step) {
  if (blockIdx.x != step) relax_strip<true>(dist, dim, step);
}

extern "C" __global__ void fwb_column(int* dist, u32 dim, u32 step) {
  if (blockIdx.x != step) relax_strip<false>(dist, dim, step);
}

/// Block (x, y) has the tile of column x and row y.
extern "C" __global__ void fwb_rest(int* dist, u32 dim, u32 step) {
  __shared__ Tile left, above, own;
  if (blockIdx.x == step || blockIdx.y == step) return;
  const u32 at = element(dim, blockIdx.y, blockIdx.x);
  left[threadIdx.y][threadIdx.x] = dist[element(dim, blockIdx.y, step)];
  above[threadIdx.y][threadIdx.x] = dist[element(dim, step, blockIdx.x)];
  own[threadIdx.y][threadIdx.x] = dist[at];
  __syncthreads();
  relax(own, left, above);
  dist[at] = own[threadIdx.y][threadIdx.x];
}
