// K-means clustering, one thread per point. Points come point-major; `invert` turns them feature-major once, so that
// `assign` reads them coalesced.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

__constant__ float kmeans_centres[8192];  // [centre][feature]; half of the 64 KB

namespace {

// The grid is square and may have more blocks than points need.
__device__ __forceinline__ u32 point_of_thread() {
  return (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
}

}  // namespace

extern "C" __global__ void invert(const float* by_point, float* by_feature, u32 points, u32 features) {
  const u32 point = point_of_thread();
  if (point >= points) return;
  const float* from = by_point + u64{point} * features;
  float* to = by_feature + point;
#pragma unroll 1
  for (u32 feature = 0; feature < features; ++feature) {
    *to = from[feature];
    to += points;
  }
}

extern "C" __global__ void assign(const float* by_feature, int* membership, u32 points, u32 features, u32 centres) {
  const u32 point = point_of_thread();
  if (point >= points) return;
  int nearest = -1;
  float least = 3.402823466e+38f;  // the largest float
#pragma unroll 1
  for (u32 centre = 0; centre < centres; ++centre) {
    const float* value = by_feature + point;
    const float* centre_value = kmeans_centres + centre * features;
    float distance = 0.0f;
#pragma unroll 1
    for (u32 feature = 0; feature < features; ++feature) {
      const float difference = *value - centre_value[feature];
      distance += difference * difference;
      value += points;
    }
    if (distance < least) {
      least = distance;
      nearest = static_cast<int>(centre);
    }
  }
  membership[point] = nearest;
}
