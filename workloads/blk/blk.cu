// Black-Scholes prices of European calls and puts. A grid-stride loop over five arrays: between two iterations each
// warp jumps by the whole grid.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

// The polynomial of Abramowitz and Stegun 26.2.17, mirrored for positive arguments.
static __device__ __forceinline__ float cumulative_normal(float d) {
  const float k = fast_divide(1.0f, 1.0f + 0.2316419f * absolute(d));
  const float tail =
      0.39894228f * fast_exp(-0.5f * d * d) *  // 1 / sqrt(2 pi)
      (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return d > 0 ? 1.0f - tail : tail;
}

extern "C" __global__ void blackscholes(const float* spot, const float* strike, const float* years, float* call,
                                        float* put, float rate, float volatility, u32 options) {
  const u32 stride = blockDim.x * gridDim.x;
#pragma unroll 1
  for (u32 i = global_thread(); i < options; i += stride) {
    const float s = spot[i];
    const float x = strike[i];
    const float t = years[i];
    const float spread = volatility * fast_sqrt(t);
    const float d1 = fast_divide(fast_log(fast_divide(s, x)) + (rate + 0.5f * volatility * volatility) * t, spread);
    const float d2 = d1 - spread;
    const float n1 = cumulative_normal(d1);
    const float n2 = cumulative_normal(d2);
    const float discounted = x * fast_exp(-rate * t);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
  }
}
