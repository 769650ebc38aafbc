// Direct Coulomb potential on a plane of points: V(x, y) += sum over atoms of q / distance. Atoms sit in constant
// memory; each thread owns two points, 16 columns apart.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

// x, y, dz squared, charge. 4,000 atoms of 16 B fill the 64 KB of constant memory.
__constant__ float4 cp_atoms[4000];

extern "C" __global__ void cenergy(float* potential, u32 width, u32 atoms, float spacing) {
  const u32 column = blockIdx.x * 32 + threadIdx.x;
  const u32 row = blockIdx.y * blockDim.y + threadIdx.y;
  const float x = spacing * static_cast<float>(column);
  const float y = spacing * static_cast<float>(row);
  float left = 0.0f;
  float right = 0.0f;
#pragma unroll 1
  for (u32 i = 0; i < atoms; ++i) {
    const float4 atom = cp_atoms[i];
    const float dy = y - atom.y;
    const float plane = dy * dy + atom.z;
    const float dx_left = x - atom.x;
    const float dx_right = dx_left + 16.0f * spacing;
    left += atom.w * fast_rsqrt(dx_left * dx_left + plane);
    right += atom.w * fast_rsqrt(dx_right * dx_right + plane);
  }
  float* point = potential + u64{row} * width + column;
  point[0] += left;
  point[16] += right;
}
