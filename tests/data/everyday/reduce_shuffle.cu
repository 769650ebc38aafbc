// A sum by shuffles: floats, doubles and 64-bit numbers.
// SPDX-License-Identifier: MIT

template <typename T>
__device__ T warpSum(T v) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
  return v;
}

__global__ void sums(const float* in, float* f, double* d, unsigned long long* u) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = warpSum(in[i]);
  double b = warpSum((double)in[i]);
  unsigned long long c = warpSum((unsigned long long)in[i] << 33);
  if (threadIdx.x % warpSize == 0) {
    atomicAdd(f, a);
    atomicAdd(d, b);
    atomicAdd(u, c);
  }
}
