// The Walsh transform in place: passes of radix 4 over global memory while a transform is longer than shared memory
// holds, then the rest of every part inside one block; and the product of two transforms.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
__device__ __forceinline__ void butterfly(float& a, float& b, float& c, float& d) {
  const float sum_even = a + c, difference_even = a - c;
  const float sum_odd = b + d, difference_odd = b - d;
  a = sum_even + sum_odd;
  b = sum_even - sum_odd;
  c = difference_even + difference_odd;
  d = difference_even - difference_odd;
}
}  // namespace

/// Four elements `stride` apart, a quarter of the length of this pass's transforms.
extern "C" __global__ void fwt_pass(float* data, u32 stride) {
  const u32 t = global_thread();
  const u32 low = t & (stride - 1);
  float* at = data + ((t - low) * 4 + low);
  float a = at[0], b = at[stride], c = at[2 * stride], d = at[3 * stride];
  butterfly(a, b, c, d);
  at[0] = a;
  at[stride] = b;
  at[2 * stride] = c;
  at[3 * stride] = d;
}

/// A transform of 2^log2 elements by a quarter as many threads.
extern "C" __global__ void fwt_block(float* data, u32 log2) {
  extern __shared__ float part[];
  const u32 t = threadIdx.x;
  const u32 length = 1u << log2;
  float* own = data + u64{blockIdx.x} * length;
#pragma unroll 1
  for (u32 i = t; i < length; i += blockDim.x) part[i] = own[i];

  u32 stride = length / 4;
#pragma unroll 1
  for (; stride > 0; stride /= 4) {
    const u32 low = t & (stride - 1);
    const u32 first = (t - low) * 4 + low;
    __syncthreads();
    float a = part[first], b = part[first + stride], c = part[first + 2 * stride], d = part[first + 3 * stride];
    butterfly(a, b, c, d);
    part[first] = a;
    part[first + stride] = b;
    part[first + 2 * stride] = c;
    part[first + 3 * stride] = d;
  }
  if (log2 & 1) {
    __syncthreads();
#pragma unroll 1
    for (u32 pair = t; pair < length / 2; pair += blockDim.x) {
      const float a = part[2 * pair], b = part[2 * pair + 1];
      part[2 * pair] = a + b;
      part[2 * pair + 1] = a - b;
    }
  }
  __syncthreads();
#pragma unroll 1
  for (u32 i = t; i < length; i += blockDim.x) own[i] = part[i];
}

extern "C" __global__ void fwt_multiply(float* data, const float* kernel, float scale, u32 count) {
  const u32 step = gridDim.x * blockDim.x;
#pragma unroll 1
  for (u32 i = global_thread(); i < count; i += step) data[i] *= kernel[i] * scale;
}
