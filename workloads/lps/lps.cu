// A Jacobi sweep of Laplace's equation in three dimensions. A block of 32 x 4 threads owns a tile of x and y and marches
// along z; three planes of the tile, each with a ring of neighbours, are in shared memory.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr int kWidth = 32, kHeight = 4;
constexpr int kHalo = 2 * (kWidth + kHeight + 2);  // threads that also load one element of the ring
constexpr int kPitch = kWidth + 2, kPlane = kPitch * (kHeight + 2);
}  // namespace

/// `pitch` floats lie between rows. Points on the six faces keep their value.
extern "C" __global__ void laplace_sweep(const float* from, float* to, int nx, int ny, int nz, int pitch) {
  __shared__ float planes[3 * kPlane];
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  const int x = static_cast<int>(blockIdx.x) * kWidth + tx, y = static_cast<int>(blockIdx.y) * kHeight + ty;
  const int own = tx + 1 + (ty + 1) * kPitch;
  const bool active = x < nx && y < ny;

  // Two warps take the rows above and below the tile, twelve threads more the columns beside it, corners included.
  const int number = tx + ty * kWidth;
  const bool in_rows = ty < 2;
  const int ring_x = in_rows ? tx : number % 2 * (kWidth + 1) - 1;
  const int ring_y = in_rows ? ty * (kHeight + 1) - 1 : number / 2 - kWidth - 1;
  const int halo_x = static_cast<int>(blockIdx.x) * kWidth + ring_x;
  const int halo_y = static_cast<int>(blockIdx.y) * kHeight + ring_y;
  const bool halo = number < kHalo && halo_x >= 0 && halo_x < nx && halo_y >= 0 && halo_y < ny;
  const int ring = ring_x + 1 + (ring_y + 1) * kPitch;

  const int plane = ny * pitch;
  const float* load = from + (x + y * pitch);
  const float* halo_load = from + (halo_x + halo_y * pitch);
  float* store = to + (x + y * pitch);
  float* below = planes + own;
  float* middle = below + kPlane;
  float* above = middle + kPlane;
  const int ring_offset = ring - own;
  if (active) *middle = *load;
  if (halo) middle[ring_offset] = *halo_load;
  const bool off_edge = x > 0 && x < nx - 1 && y > 0 && y < ny - 1;

#pragma unroll 1
  for (int z = 0; z < nz; ++z) {
    load += plane;
    halo_load += plane;
    if (z + 1 < nz) {
      if (active) *above = *load;
      if (halo) above[ring_offset] = *halo_load;
    }
    __syncthreads();
    if (active) {
      float value = *middle;
      if (off_edge && z > 0 && z < nz - 1)
        value = (middle[-1] + middle[1] + middle[-kPitch] + middle[kPitch] + *below + *above) * (1.0f / 6.0f);
      *store = value;
    }
    __syncthreads();
    store += plane;
    float* const lowest = below;
    below = middle;
    middle = above;
    above = lowest;
  }
}
