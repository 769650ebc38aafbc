// One step of a D3Q19 lattice-Boltzmann fluid: a thread reads the 19 distributions and the flags of its cell, collides,
// and writes each result to the neighbour in its direction. A grid is 20 planes, one per direction and one of flags.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kDirections = 19;
constexpr u32 kObstacle = 1, kAccelerated = 2;
constexpr float kOmega = 1.95f;

/// The directions: at rest, along an axis, diagonal; opposite ones follow each other.
struct Direction {
  int x, y, z;
};
__device__ constexpr Direction kTowards[kDirections] = {
    {0, 0, 0},                                                                  //
    {1, 0, 0},  {-1, 0, 0},  {0, 1, 0},  {0, -1, 0},  {0, 0, 1},  {0, 0, -1},   //
    {1, 1, 0},  {-1, -1, 0}, {1, -1, 0}, {-1, 1, 0},  {1, 0, 1},  {-1, 0, -1},  //
    {1, 0, -1}, {-1, 0, 1},  {0, 1, 1},  {0, -1, -1}, {0, 1, -1}, {0, -1, 1},
};

__device__ constexpr u32 opposite(u32 q) {
  return q == 0 ? 0 : (q % 2 ? q + 1 : q - 1);
}
__device__ constexpr float weight(u32 q) {
  return q == 0 ? 1.0f / 3.0f : q < 7 ? 1.0f / 18.0f : 1.0f / 36.0f;
}
}  // namespace

/// `plane`, `slice` and `row`: cells from one direction, z and y to the next. `from` and `to` are those of the first cell.
extern "C" __global__ void lbm_step(const float* from, float* to, u32 plane, u32 slice, u32 row) {
  const u32 cell = threadIdx.x + blockIdx.x * row + blockIdx.y * slice;
  float f[kDirections];
#pragma unroll
  for (u32 q = 0; q < kDirections; ++q) f[q] = from[cell + q * plane];
  const u32 flags = reinterpret_cast<const u32*>(from)[cell + kDirections * plane];

  if (flags & kObstacle) {
#pragma unroll
    for (u32 q = 1; q < kDirections; q += 2) {
      const float kept = f[q];
      f[q] = f[opposite(q)];
      f[opposite(q)] = kept;
    }
  } else {
    float density = 0.0f, ux = 0.0f, uy = 0.0f, uz = 0.0f;
#pragma unroll
    for (u32 q = 0; q < kDirections; ++q) {
      density += f[q];
      if (kTowards[q].x) ux += kTowards[q].x > 0 ? f[q] : -f[q];
      if (kTowards[q].y) uy += kTowards[q].y > 0 ? f[q] : -f[q];
      if (kTowards[q].z) uz += kTowards[q].z > 0 ? f[q] : -f[q];
    }
    ux /= density;
    uy /= density;
    uz /= density;
    if (flags & kAccelerated) {
      ux = 0.005f;
      uy = 0.002f;
      uz = 0.0f;
    }
    const float u2 = 1.5f * (ux * ux + uy * uy + uz * uz) - 1.0f;
#pragma unroll
    for (u32 q = 0; q < kDirections; ++q) {
      float along = 0.0f;
      if (kTowards[q].x) along += kTowards[q].x > 0 ? ux : -ux;
      if (kTowards[q].y) along += kTowards[q].y > 0 ? uy : -uy;
      if (kTowards[q].z) along += kTowards[q].z > 0 ? uz : -uz;
      f[q] = (1.0f - kOmega) * f[q] + kOmega * weight(q) * density * (along * (4.5f * along + 3.0f) - u2);
    }
  }

#pragma unroll
  for (u32 q = 0; q < kDirections; ++q) {
    const int shift = kTowards[q].x + kTowards[q].y * static_cast<int>(row) + kTowards[q].z * static_cast<int>(slice);
    to[cell + static_cast<u32>(shift) + q * plane] = f[q];
  }
}
