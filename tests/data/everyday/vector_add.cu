// A whole program, as a first CUDA course has it: Terrace takes the kernel and leaves out main().
// SPDX-License-Identifier: MIT
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                   \
  do {                                                                \
    cudaError_t error = (call);                                       \
    if (error != cudaSuccess) {                                       \
      fprintf(stderr, "CUDA error: %s\n", cudaGetErrorString(error)); \
      exit(1);                                                        \
    }                                                                 \
  } while (0)

__global__ void vectorAdd(const float* a, const float* b, float* c, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  const int n = 5000;
  const size_t bytes = n * sizeof(float);
  float* host = (float*)malloc(bytes);
  for (int i = 0; i < n; ++i) host[i] = i;
  float *a, *b, *c;
  CHECK(cudaMalloc(&a, bytes));
  CHECK(cudaMalloc(&b, bytes));
  CHECK(cudaMalloc((void**)&c, bytes));
  CHECK(cudaMemcpy(a, host, bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(b, host, bytes, cudaMemcpyHostToDevice));
  dim3 block(256), grid((n + 255) / 256);
  vectorAdd<<<grid, block>>>(a, b, c, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(host, c, bytes, cudaMemcpyDeviceToHost));
  printf("%f\n", host[n - 1]);
  cudaFree(a);
  free(host);
  return 0;
}
