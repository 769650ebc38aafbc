// A program of several files whose device code is linked (nvcc -rdc=true), to be run on a real GPU and in Terrace (docs/real_gpu.md). It prints a
// line for each part: a name, a hash of the results, and the first of them.
// SPDX-License-Identifier: MIT
#include "compared.h"
#include "linking.h"

constexpr int kLanes = 96, kValues = 40, kDepth = 300;
static __device__ int secret = 5;  // another file has one, too

__device__ int subtract(int a, int b) {
  return a - b + secret;
}
static __global__ void own_kernel(int* to, const Rule* rules) {
  const int i = (int)threadIdx.x;
  to[i] = secret + shared_counter + shared_factors[i & 3] + rules[i % 3](i, i + 1) + rule_of(i)(3, i);
}
static __global__ void set_counter(int value) {
  shared_counter = value;
}
static __global__ void take_rules(Rule* to) {
  for (int i = 0; i < 3; ++i) to[i] = shared_rules[i];
}

static int results[kLanes * kValues];
static void print(const char* name, const int* device, int count) {
  if (!WORKED(cudaGetLastError()) ||
      !WORKED(cudaMemcpy(results, device, (size_t)count * sizeof(int), cudaMemcpyDeviceToHost)))
    return;
  printf("%s %016llx", name, hash_of(results, (size_t)count * sizeof(int)));
  for (int i = 0; i < 16; ++i) printf(" %d", results[i]);
  printf("\n");
}
static void print_variables(const char* name) {
  int own = 0, counter = 0, factors[4] = {};
  if (!WORKED(cudaMemcpyFromSymbol(&own, secret, sizeof own)) ||
      !WORKED(cudaMemcpyFromSymbol(&counter, shared_counter, sizeof counter)) ||
      !WORKED(cudaMemcpyFromSymbol(factors, shared_factors, sizeof factors)))
    return;
  printf("%s %d %d %d %d %d %d\n", name, own, counter, factors[0], factors[1], factors[2], factors[3]);
}

int main() {
  const char* name = "begin";
  int *to = nullptr, *values = nullptr, host[kLanes * kValues];
  Rule* rules = nullptr;
  if (!WORKED(cudaMalloc((void**)&to, sizeof host)) || !WORKED(cudaMalloc((void**)&values, sizeof host)) ||
      !WORKED(cudaMalloc((void**)&rules, 3 * sizeof(Rule))) || !WORKED(cudaMemset(to, 0, sizeof host)))
    return 1;
  print_variables("variables-at-first");
  rules_kernel<<<1, kLanes>>>(to, kLanes);
  print("rules", to, kLanes);
  take_rules<<<1, 1>>>(rules);
  own_kernel<<<1, kLanes>>>(to, rules);
  print("pointers-across-files", to, kLanes);
  set_counter<<<1, 1>>>(1000);
  const int factors[4] = {-1, 4, 9, 16}, mine = 77;
  name = "variables-changed";
  (void)(WORKED(cudaMemcpyToSymbol(shared_factors, factors, sizeof factors)) &&
         WORKED(cudaMemcpyToSymbol(secret, &mine, sizeof mine)) && WORKED(host_sets_secret(-13)));
  print_variables(name);
  rules_kernel<<<2, kLanes / 2>>>(to, kLanes);
  print("rules-again", to, kLanes);

  Numbers numbers{1};
  for (int& value : host) value = numbers.below(1000) - 500;
  name = "deep";
  if (!WORKED(cudaDeviceSetLimit(cudaLimitStackSize, 32 << 10)) ||
      !WORKED(cudaMemcpy(values, host, sizeof host, cudaMemcpyHostToDevice)))
    return 1;
  deep_kernel<<<3, kLanes / 3>>>(to, values, kValues);
  print("recursion", to, kLanes * 8);
  print("sorted", values, kLanes * kValues);
  name = "deepest";
  if (!WORKED(cudaDeviceSetLimit(cudaLimitStackSize, 64 << 10))) return 1;
  size_t stack = 0;
  (void)WORKED(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
  printf("stack %zu\n", stack);
  deepest_kernel<<<1, 64>>>(to, kDepth);
  print("calls-in-calls", to, 64);
  return failures == 0 ? 0 : 1;
}
