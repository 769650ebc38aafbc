// What the files of the program `linking` know of each other (docs/real_gpu.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <cuda_runtime.h>

typedef int (*Rule)(int, int);
struct Pair {
  int first, second;
  __device__ int sum() const;
};

// linking_rules.cu
extern __device__ int shared_counter;
extern __constant__ int shared_factors[4];
extern __device__ Rule shared_rules[3];
__device__ int scaled(int value);
__device__ Rule rule_of(int number);
__global__ void rules_kernel(int* to, int count);
int host_sets_secret(int value);

// linking_deep.cu
__device__ int ackermann(int m, int n);
__device__ int fibonacci(int n);
__device__ int count_down(int n, Rule step);
__device__ void sort_range(int* values, int first, int last);
__device__ int is_even(int n);
__global__ void deep_kernel(int* to, int* values, int count);
__global__ void deepest_kernel(int* to, int depth);

// linking_main.cu
__device__ int subtract(int a, int b);
