// Sums of absolute differences for motion estimation: of each 4 x 4 block of a frame at 33 x 33 offsets into a
// reference frame, then of the larger blocks that these make up. Records of 1,096 sums (1,089 offsets and padding)
// lie type by type: 16x16, 8x16, 16x8, 8x8, 4x8, 8x4, 4x4 (height x width), each over all macroblocks.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {

constexpr int kRange = 16;
constexpr int kSide = 2 * kRange + 1;
constexpr int kOffsets = kSide * kSide;
constexpr int kRecord = 1096;
constexpr int kPerThread = 18;  // offsets of a thread of sad4x4: 61 threads cover them
constexpr int kGroup = 3;       // offsets done at once, all in one row of offsets
constexpr int kCopyThreads = 32;

__device__ __forceinline__ int clamped(int value, int high) {
  return value < 0 ? 0 : value > high ? high : value;
}
__device__ __forceinline__ int difference(int a, int b) {
  return a > b ? a - b : b - a;
}

/// Where the records of a type start, in packed pairs of sums, and that of one of its `per_macroblock` blocks.
__device__ __forceinline__ u32* record(u16* sads, u32 macroblocks, u32 type_first, u32 per_macroblock, u32 macroblock,
                                       u32 block) {
  const u64 number = u64{type_first} * macroblocks + macroblock * per_macroblock + block;
  return reinterpret_cast<u32*>(sads + number * kRecord);
}
constexpr int kPairs = kRecord / 2;  // from one record to the next, as packed pairs
constexpr int kUsedPairs = (kOffsets + 1) / 2;

/// The sums of four blocks into those of the two wide, two high and one whole blocks they make up. The blocks of the
/// lower row come `across` records after those of the upper, the lower wide one `wide_across`. Two sums fit a word and
/// never carry: even 16 x 16 pixels differ by at most 65,280.
template <int across, int wide_across>
__device__ __forceinline__ void sum_quarters(const u32* in, u32* wide, u32* high, u32* whole) {
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < kUsedPairs; i += 32) {
    const u32 nw = in[i], ne = in[i + kPairs];
    const u32 sw = in[i + across * kPairs], se = in[i + (across + 1) * kPairs];
    wide[i] = nw + ne;
    wide[i + wide_across * kPairs] = sw + se;
    high[i] = nw + sw;
    high[i + kPairs] = ne + se;
    whole[i] = nw + ne + sw + se;
  }
}

}  // namespace

extern "C" __global__ void sad4x4(u16* sads, const u16* current, const u16* reference, u32 width, u32 height) {
  __shared__ u16 pixel[16];
  __shared__ u64 result_words[kRecord / 4];
  u16* result = reinterpret_cast<u16*>(result_words);
  const int t = static_cast<int>(threadIdx.x);
  const int x0 = static_cast<int>(blockIdx.x) * 4, y0 = static_cast<int>(blockIdx.y) * 4;
  const int last_x = static_cast<int>(width) - 1, last_y = static_cast<int>(height) - 1;

  if (t < 16) pixel[t] = current[(y0 + t / 4) * static_cast<int>(width) + x0 + t % 4];
  if (t < kRecord - kOffsets) result[kOffsets + t] = 0;
  __syncthreads();

#pragma unroll 1
  for (int offset = t * kPerThread; offset < (t + 1) * kPerThread && offset < kOffsets; offset += kGroup) {
    const int x = x0 - kRange + offset % kSide, y = y0 - kRange + offset / kSide;
    int sum[kGroup] = {0, 0, 0};
#pragma unroll
    for (int row = 0; row < 4; ++row) {
      const u16* line = reference + clamped(y + row, last_y) * static_cast<int>(width);
#pragma unroll
      for (int column = 0; column < 4 + kGroup - 1; ++column) {
        const int seen = line[clamped(x + column, last_x)];
#pragma unroll
        for (int i = 0; i < kGroup; ++i) {
          if (column >= i && column - i < 4) sum[i] += difference(seen, pixel[row * 4 + column - i]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kGroup; ++i) result[offset + i] = static_cast<u16>(sum[i]);
  }
  __syncthreads();

  if (t < kCopyThreads) {
    const u32 macroblocks = width / 16 * (height / 16);
    const u32 macroblock = blockIdx.y / 4 * (width / 16) + blockIdx.x / 4;
    const u32 block = blockIdx.y % 4 * 4 + blockIdx.x % 4;
    u64* out = reinterpret_cast<u64*>(record(sads, macroblocks, 25, 16, macroblock, block));
#pragma unroll 1
    for (int i = t; i < kRecord / 4; i += kCopyThreads) out[i] = result_words[i];
  }
}

extern "C" __global__ void sad_8(u16* sads) {
  const u32 macroblocks = gridDim.x * gridDim.y, macroblock = blockIdx.y * gridDim.x + blockIdx.x;
  const u32 qx = threadIdx.y % 2, qy = threadIdx.y / 2;
  const u32* in = record(sads, macroblocks, 25, 16, macroblock, 8 * qy + 2 * qx);
  u32* wide = record(sads, macroblocks, 9, 8, macroblock, 4 * qy + qx);       // 4x8, two in a row
  u32* high = record(sads, macroblocks, 17, 8, macroblock, 4 * qy + 2 * qx);  // 8x4, four in a row
  sum_quarters<4, 2>(in, wide, high, record(sads, macroblocks, 5, 4, macroblock, 2 * qy + qx));
}

extern "C" __global__ void sad_16(u16* sads) {
  const u32 macroblocks = gridDim.x * gridDim.y, macroblock = blockIdx.y * gridDim.x + blockIdx.x;
  const u32* in = record(sads, macroblocks, 5, 4, macroblock, 0);
  u32* wide = record(sads, macroblocks, 1, 2, macroblock, 0);  // 8x16
  u32* high = record(sads, macroblocks, 3, 2, macroblock, 0);  // 16x8
  sum_quarters<2, 1>(in, wide, high, record(sads, macroblocks, 0, 1, macroblock, 0));
}
