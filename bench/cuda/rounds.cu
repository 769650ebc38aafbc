// A program to compare `terrace cuda` with the same kernels from a TOML file (scripts/compare_cuda): it fills a buffer, launches a
// kernel that reads, computes and writes, some times over, and reads the result.
// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>

#include "../../tests/cuda/cuda_mini.h"

extern "C" __global__ void rounds(float* y, const float* x, int n, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  float value = y[i];
  for (int round = 0; round < count; ++round) value = value * 0.5f + x[(i + round * 4096) % n];
  y[i] = value;
}

/// rounds ELEMENTS LAUNCHES
int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1 << 18, launches = argc > 2 ? atoi(argv[2]) : 10;
  const size_t bytes = (size_t)n * sizeof(float);
  float *x = nullptr, *y = nullptr, *host = (float*)malloc(bytes);
  for (int i = 0; i < n; ++i) host[i] = 1.0f;
  int error = cudaMalloc((void**)&x, bytes) | cudaMalloc((void**)&y, bytes);
  error |= cudaMemcpy(x, host, bytes, cudaMemcpyHostToDevice) | cudaMemset(y, 0, bytes);
  for (int i = 0; i < launches; ++i) rounds<<<dim3((unsigned)(n + 255) / 256), dim3(256)>>>(y, x, n, 16);
  error |= cudaMemcpy(host, y, bytes, cudaMemcpyDeviceToHost);
  // 1 + 1/2 + 1/4 and so on.
  const int wrong = error != 0 || host[0] < 1.999f || host[n - 1] != host[0];
  printf("%s\n", wrong ? "wrong" : "right");
  free(host);
  return wrong;
}
