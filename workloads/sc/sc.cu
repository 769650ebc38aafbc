// The gain of a new centre in streamcluster: every point compares the cost of going to candidate x with what it costs
// where it is. One thread per point; coordinates are dimension-major, so that each of a thread's loads is on a new page.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

struct Point {  // 32 bytes
  float weight;
  const float* coordinates;  // on the host; the device does not follow it
  long long assigned;        // its centre, a point too
  float cost;
};

namespace {
constexpr u32 kMostDimensions = 512;
}

/// work[point][0 .. centres): what the point's centre would lose if it closed; work[point][centres]: what the switch saves.
extern "C" __global__ void pgain(const Point* points, const float* coordinates, const int* centre_number, u8* switches,
                                 float* work, u32 count, u32 dimensions, u32 candidate, u32 centres) {
  __shared__ float centre[kMostDimensions];
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (u32 d = 0; d < dimensions; ++d) centre[d] = coordinates[d * count + candidate];
  }
  __syncthreads();
  const u32 p = global_thread();
  if (p >= count) return;
  const float* coordinate = coordinates + p;
  float square = 0.0f;
  const float* from = centre;
  const float* const end = centre + dimensions;
#pragma unroll 1
  do {
    const float apart = *coordinate - *from;
    square += apart * apart;
    coordinate += count;
  } while (++from != end);
  const float cost = square * points[p].weight, current = points[p].cost;
  float* const mine = work + p * (centres + 1);
  if (cost < current) {
    switches[p] = 1;
    mine[centres] += cost - current;
  } else {
    mine[centre_number[points[p].assigned]] += current - cost;
  }
}
