// Variables that other files read and write, functions that they call by pointers, and a kernel.
// SPDX-License-Identifier: MIT
#include "linking.h"

__device__ int shared_counter = 100;
__constant__ int shared_factors[4] = {2, 3, 5, 7};
static __device__ int secret = 11;  // another file has one, too

static __device__ int add(int a, int b) {
  return a + b + secret;
}
static __device__ int multiply(int a, int b) {
  return a * b - secret;
}
// The last is another file's.
__device__ Rule shared_rules[3] = {add, multiply, subtract};

__device__ int scaled(int value) {
  return value * shared_factors[value & 3] + secret;
}
__device__ Rule rule_of(int number) {
  return number % 2 == 0 ? add : subtract;
}
__device__ int Pair::sum() const {
  return first + second + secret;
}
__global__ void rules_kernel(int* to, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) to[i] = shared_rules[i % 3](i, 4) + atomicAdd(&shared_counter, 0) + scaled(i);
}
int host_sets_secret(int value) {
  return (int)cudaMemcpyToSymbol(secret, &value, sizeof value);
}
