// Recursion of every kind: through itself, through another function, through a pointer, with an array in each call.
// SPDX-License-Identifier: MIT
#include "linking.h"

__device__ __noinline__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__device__ __noinline__ int count_down(int n, Rule step) {
  return n <= 0 ? shared_counter : step(count_down(n - 1, step), n & 3);
}
static __device__ int is_odd(int n) {
  return n == 0 ? 0 : is_even(n - 1);
}
__device__ __noinline__ int is_even(int n) {
  return n == 0 ? 1 : is_odd(n - 1);
}
__device__ __noinline__ void sort_range(int* values, int first, int last) {
  if (first >= last) return;
  const int middle = values[(first + last) / 2];
  int left = first, right = last;
  while (left <= right) {
    while (values[left] < middle) ++left;
    while (values[right] > middle) --right;
    if (left > right) break;
    const int held = values[left];
    values[left++] = values[right];
    values[right--] = held;
  }
  sort_range(values, first, right);
  sort_range(values, left, last);
}
/// Each call keeps 16 numbers of its own, which it needs after the next call has come back.
static __device__ __noinline__ unsigned layers(int depth, unsigned seed) {
  unsigned mine[16];
  for (unsigned i = 0; i < 16; ++i) mine[i] = seed * (i + 1) + (unsigned)depth;
  const unsigned below = depth == 0 ? 1 : layers(depth - 1, mine[depth & 15]);
  return below + mine[below % 16];
}

/// Lane i sorts its own `count` values.
__global__ void deep_kernel(int* to, int* values, int count) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  int* out = to + i * 8;
  out[0] = ackermann(2, i % 6);
  out[1] = fibonacci(i % 14);
  out[2] = count_down(i % 50, rule_of(i));
  out[3] = is_even(i * 3 % 71);
  out[4] = (int)layers(i % 40, (unsigned)i);
  sort_range(values + i * count, 0, count - 1);
  const Pair pair{i, out[0]};
  out[5] = pair.sum();
  out[6] = scaled(out[1]);
  out[7] = ackermann(i % 3, i % 4);
}
__global__ void deepest_kernel(int* to, int depth) {
  to[threadIdx.x] = (int)layers(depth + (int)threadIdx.x, threadIdx.x) + is_even(depth);
}
