// Running sums in a warp by shuffles upwards.
// SPDX-License-Identifier: MIT

__global__ void scan(const int* in, int* out) {
  int lane = threadIdx.x & 31, v = in[threadIdx.x];
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    int below = __shfl_up_sync(~0u, v, d);
    if (lane >= d) v += below;
  }
  __shared__ int sums[32];
  if (lane == 31) sums[threadIdx.x / 32] = v;
  __syncthreads();
  for (int w = 0; w < threadIdx.x / 32; ++w) v += sums[w];
  out[threadIdx.x] = v;
}
