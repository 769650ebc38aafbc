// Discrete wavelet transform 5/3 of a picture, in whole numbers. split_rgb takes the colours apart; fdwt53 transforms a
// plane: a block has a strip of columns, as many as threads, and slides down it eight rows at a time. Rows are lifted in
// shared memory, then columns in registers.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kSplitThreads = 256;
constexpr u32 kRows = 8, kMostColumns = 192;
constexpr u32 kMargin = 2;  // columns before the strip; one more is behind it
constexpr u32 kPitch = kMostColumns + kMargin + 1;

/// The picture goes on as its mirror image; what is farther out than that is not used.
__device__ __forceinline__ u32 mirrored(int at, u32 size) {
  const int last = static_cast<int>(size) - 1;
  const int inside = at < 0 ? -at : at > last ? 2 * last - at : at;
  return static_cast<u32>(inside < 0 ? 0 : inside);
}
}  // namespace

/// Of 256 threads, 192 load the block's 768 bytes as words.
extern "C" __global__ void split_rgb(const u32* rgb, int* red, int* green, int* blue, u32 pixels) {
  __shared__ u32 words[kSplitThreads * 3 / 4];
  const u32 word = blockIdx.x * (kSplitThreads * 3 / 4) + threadIdx.x;
  if (threadIdx.x < kSplitThreads * 3 / 4 && word < (3 * pixels + 3) / 4) words[threadIdx.x] = rgb[word];
  __syncthreads();
  const u32 pixel = global_thread();
  if (pixel >= pixels) return;
  const u8* const mine = reinterpret_cast<const u8*>(words) + 3 * threadIdx.x;
  red[pixel] = static_cast<int>(mine[0]) - 128;
  green[pixel] = static_cast<int>(mine[1]) - 128;
  blue[pixel] = static_cast<int>(mine[2]) - 128;
}

namespace {
struct Strip {
  const int* plane;
  u32 width, height;
  int first_column;

  /// Loads rows first_row, first_row + 1, ... and lifts them: afterwards even columns are averages and odd ones details.
  __device__ __forceinline__ void lift_rows(int (&tile)[kRows][kPitch], int first_row, u32 rows) const {
    const u32 t = threadIdx.x, columns = blockDim.x, half = columns / 2;
#pragma unroll 1
    for (u32 i = 0; i < rows; ++i) {
      const int* const row = plane + mirrored(first_row + static_cast<int>(i), height) * width;
      tile[i][t + kMargin] = row[mirrored(first_column + static_cast<int>(t), width)];
      if (t <= kMargin) {  // the margins: two before, one behind
        const u32 at = t < kMargin ? t : columns + kMargin;
        tile[i][at] = row[mirrored(first_column + static_cast<int>(at) - static_cast<int>(kMargin), width)];
      }
    }
    __syncthreads();
    const u32 first = t < half ? 0 : 1, even = kMargin + 2 * (t - first * half);
    if (t < rows) tile[t][1] -= (tile[t][0] + tile[t][2]) >> 1;  // the detail just before the strip
#pragma unroll 1
    for (u32 i = first; i < rows; i += 2) tile[i][even + 1] -= (tile[i][even] + tile[i][even + 2]) >> 1;
    __syncthreads();
#pragma unroll 1
    for (u32 i = first; i < rows; i += 2) tile[i][even] += (tile[i][even - 1] + tile[i][even + 1] + 2) >> 2;
    __syncthreads();
  }
};
}  // namespace

/// Bands one after the other: averages, details along x, along y, along both; each of half the width and height.
extern "C" __global__ void fdwt53(const int* plane, int* bands, u32 width, u32 height, u32 windows) {
  __shared__ int tile[kRows][kPitch];
  const u32 columns = blockDim.x, half = columns / 2;
  const Strip strip = {plane, width, height, static_cast<int>(blockIdx.x * columns)};
  // The first half of the threads has the averages of the rows, the second their details.
  const u32 detail = threadIdx.x < half ? 0 : 1;
  const u32 pair = threadIdx.x - detail * half;
  const u32 own = kMargin + 2 * pair + detail;
  const u32 band_column = blockIdx.x * half + pair;
  const u32 quarter = (width / 2) * (height / 2);
  const bool on_picture = band_column < width / 2;

  u32 y = blockIdx.y * windows * kRows;
  strip.lift_rows(tile, static_cast<int>(y) - 2, 3);
  int before = tile[1][own] - ((tile[0][own] + tile[2][own]) >> 1);  // the detail above
  int even = tile[2][own];
  __syncthreads();
#pragma unroll 1
  for (u32 w = 0; w < windows && y < height; ++w) {
    strip.lift_rows(tile, static_cast<int>(y) + 1, kRows);
#pragma unroll 1
    for (u32 i = 0; i < kRows; i += 2, y += 2) {
      const int next = tile[i + 1][own];
      const int now = tile[i][own] - ((even + next) >> 1);
      if (on_picture && y < height) {
        const u32 at = y / 2 * (width / 2) + band_column;
        bands[detail * quarter + at] = even + ((before + now + 2) >> 2);
        bands[(2 + detail) * quarter + at] = now;
      }
      before = now;
      even = next;
    }
    __syncthreads();
  }
}
