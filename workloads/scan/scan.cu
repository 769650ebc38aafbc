// Exclusive prefix sums in three kernels: every block adds up its contiguous part of the array, one block scans those
// sums, and every block scans its part, four elements a thread, window by window.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kThreads = 256;
constexpr u32 kRake = 16;        // so many rakers go over so many sums each
constexpr u32 kRow = kRake + 1;  // a row of sums in shared memory, padded against bank conflicts

template <class T>
struct alignas(sizeof(T) * 4 > 16 ? 16 : sizeof(T) * 4) Four {
  T x, y, z, w;
};

template <class T>
__device__ __forceinline__ void add_up(const T* in, T* sums_of_blocks, u32 part, T* sums) {
  const u32 t = threadIdx.x;
  const T* own = in + u64{blockIdx.x} * part;
  const T* end = own + part;
  T sum = 0;
#pragma unroll 1
  for (const T* at = own + t; at < end; at += kThreads) sum += *at;
  sums[t] = sum;
#pragma unroll 1
  for (u32 span = kThreads / 2; span > 0; span /= 2) {
    __syncthreads();
    if (t < span) sums[t] += sums[t + span];
  }
  if (t == 0) sums_of_blocks[blockIdx.x] = sums[0];
}

/// At most kThreads sums, in place.
template <class T>
__device__ __forceinline__ void top(T* sums_of_blocks, u32 blocks, T* sums) {
  const u32 t = threadIdx.x;
  const T own = t < blocks ? sums_of_blocks[t] : 0;
  sums[t] = own;
  __syncthreads();
#pragma unroll 1
  for (u32 span = 1; span < kThreads; span *= 2) {
    const T before = t >= span ? sums[t - span] : 0;
    __syncthreads();
    sums[t] += before;
    __syncthreads();
  }
  if (t < blocks) sums_of_blocks[t] = sums[t] - own;
}

/// Scans so many numbers in place; the sum of all.
template <class T>
__device__ __forceinline__ T rake(T* at) {
  T sum = 0;
#pragma unroll
  for (u32 i = 0; i < kRake; ++i) {
    const T own = at[i];
    at[i] = sum;
    sum += own;
  }
  return sum;
}

/// `sums` has kRake rows, `rows` one number for each and the total behind them.
template <class T>
__device__ __forceinline__ void bottom(const T* in, T* out, const T* sums_of_blocks, u32 part, T* sums, T* rows) {
  const u32 t = threadIdx.x;
  const u64 first = u64{blockIdx.x} * part / 4;
  const Four<T>* from = reinterpret_cast<const Four<T>*>(in) + first;
  Four<T>* to = reinterpret_cast<Four<T>*>(out) + first;
  T before = sums_of_blocks[blockIdx.x];
  const u32 place = t / kRake * kRow + t % kRake;
#pragma unroll 1
  for (u32 window = 0; window < part / 4; window += kThreads) {
    const Four<T> four = from[window + t];
    sums[place] = four.x + four.y + four.z + four.w;
    __syncthreads();
    if (t < kRake) rows[t] = rake(sums + t * kRow);
    __syncthreads();
    if (t == 0) rows[kRake] = rake(rows);
    __syncthreads();
    Four<T> scanned;
    scanned.x = before + rows[t / kRake] + sums[place];
    scanned.y = scanned.x + four.x;
    scanned.z = scanned.y + four.y;
    scanned.w = scanned.z + four.z;
    to[window + t] = scanned;
    before += rows[kRake];
    __syncthreads();
  }
}
}  // namespace

#define SCAN_KERNELS(T, suffix)                                                                             \
  extern "C" __global__ void scan_reduce_##suffix(const T* in, T* sums_of_blocks, u32 part) {               \
    __shared__ T sums[kThreads];                                                                            \
    add_up(in, sums_of_blocks, part, sums);                                                                 \
  }                                                                                                         \
  extern "C" __global__ void scan_top_##suffix(T* sums_of_blocks, u32 blocks) {                             \
    __shared__ T sums[kThreads];                                                                            \
    top(sums_of_blocks, blocks, sums);                                                                      \
  }                                                                                                         \
  extern "C" __global__ void scan_bottom_##suffix(const T* in, T* out, const T* sums_of_blocks, u32 part) { \
    __shared__ T sums[kRake * kRow];                                                                        \
    __shared__ T rows[kRake + 1];                                                                           \
    bottom(in, out, sums_of_blocks, part, sums, rows);                                                      \
  }

SCAN_KERNELS(float, f32)
SCAN_KERNELS(double, f64)
