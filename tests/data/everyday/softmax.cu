// A row per warp: the largest and the sum over all lanes, expf and __expf.
// SPDX-License-Identifier: MIT

__global__ void softmax(const float* in, float* out, float* sums) {
  float v = in[blockIdx.x * 32 + threadIdx.x], most = v;
  for (int m = 16; m > 0; m >>= 1) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, m));
  float e = expf(v - most), sum = e;
  for (int m = 16; m > 0; m >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, m);
  out[blockIdx.x * 32 + threadIdx.x] = __fdividef(e, sum);
  float fast = __expf(v - most) / sum;
  for (int m = 16; m > 0; m >>= 1) fast += __shfl_xor_sync(0xffffffffu, fast, m);
  if (threadIdx.x == 0) sums[blockIdx.x] = fast;
}
