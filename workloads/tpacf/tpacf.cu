// Two-point angular correlation: how many pairs of points on the sky lie how far apart. One set of points are data, the
// others random. Block 0 takes the data with themselves, the next ones a random set each with itself, the last ones the
// data with a random set each.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kMostThreads = 256;
constexpr u32 kBins = 20;
constexpr u32 kHistograms = 128;  // private ones, that threads share in turn
}  // namespace

/// Cosines of the angles between bins, from the closest to the farthest. The places behind the last one hold numbers below
/// every cosine, so that the search never goes there.
__constant__ float tpacf_edges[32];

/// By halves, in five steps. What is closer than the first angle counts in the first bin, what is farther than the last in
/// the last.
static __device__ __forceinline__ u32 bin_of(float cosine) {
  u32 bin = 0;
#pragma unroll
  for (u32 step = 16; step > 0; step /= 2) bin += cosine < tpacf_edges[bin + step] ? step : 0;
  return bin;
}

extern "C" __global__ void tpacf_pairs(const float* x, const float* y, const float* z, u32* histograms, u32 points,
                                       u32 random_sets) {
  __shared__ float tile_x[kMostThreads], tile_y[kMostThreads], tile_z[kMostThreads];
  __shared__ u32 bins[kBins * kHistograms];
  const u32 t = threadIdx.x;
#pragma unroll 1
  for (u32 i = t; i < kBins * kHistograms; i += blockDim.x) bins[i] = 0;

  const bool self = blockIdx.x <= random_sets;
  const u32 own_set = self ? blockIdx.x : blockIdx.x - random_sets;
  const u32 own_first = own_set * points, other_first = self ? own_first : 0;
#pragma unroll 1
  for (u32 from = 0; from < points; from += blockDim.x) {
    const u32 own = from + t;
    const bool is_point = own < points;
    float px = 0.0f, py = 0.0f, pz = 0.0f;
    if (is_point) {
      px = x[own_first + own];
      py = y[own_first + own];
      pz = z[own_first + own];
    }
#pragma unroll 1
    for (u32 tile = self ? from : 0; tile < points; tile += blockDim.x) {
      __syncthreads();
      if (tile + t < points) {
        tile_x[t] = x[other_first + tile + t];
        tile_y[t] = y[other_first + tile + t];
        tile_z[t] = z[other_first + tile + t];
      }
      __syncthreads();
      const u32 end = points - tile < blockDim.x ? points - tile : blockDim.x;
      if (!is_point) continue;
#pragma unroll 1
      for (u32 i = 0; i < end; ++i) {
        if (self && tile + i <= own) continue;
        const u32 bin = bin_of(px * tile_x[i] + py * tile_y[i] + pz * tile_z[i]);
        atomicAdd(&bins[bin * kHistograms + t % kHistograms], 1u);
      }
    }
  }
  __syncthreads();
  if (t < kBins) {
    u32 sum = 0;
#pragma unroll 1
    for (u32 i = 0; i < kHistograms; ++i) sum += bins[t * kHistograms + (i + t) % kHistograms];  // no two in one bank
    histograms[blockIdx.x * kBins + t] = sum;
  }
}
