// Needleman-Wunsch alignment in tiles of 16 x 16, one launch per diagonal of tiles and 16 threads a block. The scores
// of a tile are computed in shared memory along its own diagonals. The west border is read as a column: 16 lines.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kTile = 16;

/// `row` and `column` count tiles. The matrices have a border of one row and one column; `pitch` includes it.
__device__ __forceinline__ void align_tile(const int* reference, int* scores, u32 pitch, int penalty, u32 row,
                                           u32 column) {
  __shared__ int score[kTile + 1][kTile + 1];
  __shared__ int match[kTile][kTile];
  const u32 t = threadIdx.x;
  const u32 corner = pitch * kTile * row + kTile * column;  // of the tile's north-western neighbour
  const u32 first = corner + pitch + 1 + t;

  if (t == 0) score[0][0] = scores[corner];
#pragma unroll 1
  for (u32 y = 0; y < kTile; ++y) match[y][t] = reference[first + pitch * y];
  __syncthreads();
  score[t + 1][0] = scores[corner + pitch * (t + 1)];
  __syncthreads();
  score[0][t + 1] = scores[corner + 1 + t];
  __syncthreads();

  const auto best = [&](u32 x, u32 y) {
    const int diagonal = score[y - 1][x - 1] + match[y - 1][x - 1];
    const int west = score[y][x - 1] - penalty;
    const int north = score[y - 1][x] - penalty;
    const int side = west > north ? west : north;
    score[y][x] = diagonal > side ? diagonal : side;
  };
#pragma unroll 1
  for (u32 m = 0; m < kTile; ++m) {
    if (t <= m) best(t + 1, m - t + 1);
    __syncthreads();
  }
#pragma unroll 1
  for (u32 m = kTile - 1; m-- > 0;) {
    if (t <= m) best(t + kTile - m, kTile - t);
    __syncthreads();
  }

#pragma unroll 1
  for (u32 y = 0; y < kTile; ++y) scores[first + pitch * y] = score[y + 1][t + 1];
}
}  // namespace

/// Diagonals that grow: block b has column b.
extern "C" __global__ void nw_upper(const int* reference, int* scores, u32 pitch, int penalty, u32 diagonal) {
  align_tile(reference, scores, pitch, penalty, diagonal - 1 - blockIdx.x, blockIdx.x);
}

/// Diagonals that shrink: block b is the b-th from the bottom row.
extern "C" __global__ void nw_lower(const int* reference, int* scores, u32 pitch, int penalty, u32 diagonal,
                                    u32 tiles) {
  align_tile(reference, scores, pitch, penalty, tiles - 1 - blockIdx.x, blockIdx.x + tiles - diagonal);
}
