// One pass of batched radix-2 Stockham FFTs through global memory: a block is a transform, a thread one butterfly.
// After passes with sub-lengths 1, 2, 4, ... the transform is complete and in order.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

extern "C" __global__ void fft_pass(const float2* from, float2* to, u32 length, u32 sub_length) {
  const u64 base = u64{blockIdx.x} * length;
  const u32 j = threadIdx.x;
  const float2 even = from[base + j];
  const float2 odd = from[base + j + length / 2];

  const float angle = -3.14159265f * static_cast<float>(j % sub_length) / static_cast<float>(sub_length);
  const float cosine = fast_cos(angle), sine = fast_sin(angle);
  const float2 turned = {odd.x * cosine - odd.y * sine, odd.x * sine + odd.y * cosine};

  const u64 target = base + 2 * sub_length * (j / sub_length) + j % sub_length;
  to[target] = {even.x + turned.x, even.y + turned.y};
  to[target + sub_length] = {even.x - turned.x, even.y - turned.y};
}
