// Half precision, single and in pairs.
// SPDX-License-Identifier: MIT
#include <cuda_fp16.h>

__global__ void halves(const __half* x, __half* y, const half2* p, half2* q, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hfma(x[i], __float2half(2.0f), __float2half(1.0f));
  if (i < n / 2) q[i] = __hadd2(p[i], p[i]);
}
