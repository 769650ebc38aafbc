// A sum by halves in shared memory.
// SPDX-License-Identifier: MIT

__global__ void reduce(const int* in, int* sum, int n) {
  extern __shared__ int part[];
  unsigned int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  part[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (t < s) part[t] += part[t + s];
    __syncthreads();
  }
  if (t == 0) atomicAdd(sum, part[0]);
}
