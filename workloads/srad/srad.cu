// Speckle-reducing anisotropic diffusion, first version: the kernels of one iteration and those around it. The image is
// stored by columns: element e has row e mod rows and column e / rows. One element per thread, 512 threads a block.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kThreads = 512;
}

extern "C" __global__ void extract(float* image, u32 elements) {
  const u32 e = global_thread();
  if (e < elements) image[e] = fast_exp(image[e] / 255.0f);
}

extern "C" __global__ void prepare(const float* image, float* sums, float* squares, u32 elements) {
  const u32 e = global_thread();
  if (e >= elements) return;
  sums[e] = image[e];
  squares[e] = image[e] * image[e];
}

/// Adds up `count` elements that lie `stride` apart, each block its 512 of them into the first.
extern "C" __global__ void reduce(float* sums, float* squares, u32 count, u32 stride) {
  __shared__ float sum[kThreads];
  __shared__ float square[kThreads];
  const u32 t = threadIdx.x;
  const u32 e = global_thread();
  sum[t] = e < count ? sums[e * stride] : 0.0f;
  square[t] = e < count ? squares[e * stride] : 0.0f;
  __syncthreads();
#pragma unroll 1
  for (u32 span = 2; span <= kThreads; span *= 2) {
    if ((t + 1) % span == 0) {
      sum[t] += sum[t - span / 2];
      square[t] += square[t - span / 2];
    }
    __syncthreads();
  }
  if (t == kThreads - 1) {
    sums[blockIdx.x * kThreads * stride] = sum[t];
    squares[blockIdx.x * kThreads * stride] = square[t];
  }
}

/// The four differences of each element and its diffusion coefficient.
extern "C" __global__ void srad1(const float* image, const int* north, const int* south, const int* west,
                                 const int* east, float* dn, float* ds, float* dw, float* de, float* c, u32 rows,
                                 u32 elements, float q0_squared) {
  const u32 e = global_thread();
  if (e >= elements) return;
  const u32 row = e % rows, column = e / rows;
  const float j = image[e];
  const float to_north = image[static_cast<u32>(north[row]) + rows * column] - j;
  const float to_south = image[static_cast<u32>(south[row]) + rows * column] - j;
  const float to_west = image[row + rows * static_cast<u32>(west[column])] - j;
  const float to_east = image[row + rows * static_cast<u32>(east[column])] - j;
  const float gradient_squared =
      (to_north * to_north + to_south * to_south + to_west * to_west + to_east * to_east) / (j * j);
  const float laplacian = (to_north + to_south + to_west + to_east) / j;
  const float numerator = 0.5f * gradient_squared - (1.0f / 16.0f) * (laplacian * laplacian);
  const float denominator = 1.0f + 0.25f * laplacian;
  const float q_squared = numerator / (denominator * denominator);
  const float coefficient = 1.0f / (1.0f + (q_squared - q0_squared) / (q0_squared * (1.0f + q0_squared)));
  dn[e] = to_north;
  ds[e] = to_south;
  dw[e] = to_west;
  de[e] = to_east;
  c[e] = coefficient < 0.0f ? 0.0f : coefficient > 1.0f ? 1.0f : coefficient;
}

extern "C" __global__ void srad2(float* image, const int* south, const int* east, const float* dn, const float* ds,
                                 const float* dw, const float* de, const float* c, u32 rows, u32 elements,
                                 float lambda) {
  const u32 e = global_thread();
  if (e >= elements) return;
  const u32 row = e % rows, column = e / rows;
  const float here = c[e];
  const float c_south = c[static_cast<u32>(south[row]) + rows * column];
  const float c_east = c[row + rows * static_cast<u32>(east[column])];
  const float divergence = here * dn[e] + c_south * ds[e] + here * dw[e] + c_east * de[e];
  image[e] += 0.25f * lambda * divergence;
}

extern "C" __global__ void compress(float* image, u32 elements) {
  const u32 e = global_thread();
  if (e < elements) image[e] = fast_log(image[e]) * 255.0f;
}
