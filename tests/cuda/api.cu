// A CUDA program that uses the runtime as programs do, and checks what comes back. Its argument says which part:
// what is tested elsewhere needs a process that behaves (`all`, `print`), or one that does not (`fault`, `killed`, `crash`, `hang`).
// SPDX-License-Identifier: MIT
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_mini.h"
#include "expect.h"
#include "grid_barrier.h"

constexpr int kCount = 1000;
constexpr int kThreads = 128;
constexpr int kBlocks = (kCount + kThreads - 1) / kThreads;

__constant__ int factor;
__device__ int total = 5;

__global__ void scale(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = data[i] * factor + total;
}
__global__ void add(int* data, int count, int by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] += by;
}
struct Pair {
  int* to;
  int values[3];
};
__global__ void store_pair(Pair pair) {
  pair.to[threadIdx.x] = pair.values[threadIdx.x];
}
__global__ void reverse(int* data) {
  extern __shared__ int kept[];
  kept[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = kept[blockDim.x - 1 - threadIdx.x];
}
__global__ void spin(int* data, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) sum = sum * 3 + data[0];
  data[1] = sum;
}

// Each block writes a word and then adds those of all blocks, three times.
__global__ void sum_of_grid(int* words) {
  int sum = 0;
  for (int round = 1; round <= 3; ++round) {
    if (threadIdx.x == 0) words[blockIdx.x] = round * (int)blockIdx.x;
    sync_grid();
    for (unsigned b = 0; b < gridDim.x; ++b) sum += ((volatile int*)words)[b];
    sync_grid();
  }
  if (threadIdx.x == 0) words[blockIdx.x] = sum;
}

// The device runtime, as CUDA's headers declare it.
extern "C" __device__ int printf(const char* format, ...);
extern "C" __device__ void* malloc(size_t bytes);
extern "C" __device__ void free(void* memory);
__global__ void print_squares(int first) {
  int* square = static_cast<int*>(malloc(sizeof(int)));
  *static_cast<volatile int*>(square) = (first + threadIdx.x) * (first + threadIdx.x);
  printf("%d squared is %d (%s, %.1f)\n", first + threadIdx.x, *square, "device", 0.5f * threadIdx.x);
  free(square);
}
__global__ void take(void** to, size_t bytes) {
  *to = malloc(bytes);
}

static void memory() {
  int host[kCount], back[kCount];
  for (int i = 0; i < kCount; ++i) host[i] = i;
  int* device = nullptr;
  size_t before = 0, after = 0, all = 0;
  OK(cudaMemGetInfo(&before, &all));
  EXPECT(before > 0 && before <= all);
  OK(cudaMalloc((void**)&device, sizeof host));
  OK(cudaMemGetInfo(&after, &all));
  EXPECT(after < before);
  OK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(back, device, sizeof host, cudaMemcpyDeviceToHost));
  EXPECT(memcmp(host, back, sizeof host) == 0);
  int* other = nullptr;
  OK(cudaMalloc((void**)&other, sizeof host));
  OK(cudaMemset(other, 0x11, sizeof host));
  OK(cudaMemcpy(other + 1, device, sizeof host - 4, cudaMemcpyDeviceToDevice));
  OK(cudaMemcpy(back, other, sizeof host, cudaMemcpyDefault));
  EXPECT(back[0] == 0x11111111 && back[1] == 0 && back[kCount - 1] == kCount - 2);
  cudaPointerAttributes what;
  OK(cudaPointerGetAttributes(&what, device + 3));
  EXPECT(what.type == 2);
  // Rows with a pitch.
  char rows[4][10], rows_back[4][20] = {};
  for (int i = 0; i < 40; ++i) rows[i / 10][i % 10] = (char)i;
  void* pitched = nullptr;
  size_t pitch = 0;
  OK(cudaMallocPitch(&pitched, &pitch, 10, 4));
  EXPECT(pitch >= 10);
  OK(cudaMemcpy2D(pitched, pitch, rows, 10, 10, 4, cudaMemcpyHostToDevice));
  OK(cudaMemset2D((char*)pitched + pitch, pitch, 7, 10, 1));
  OK(cudaMemcpy2D(rows_back, 20, pitched, pitch, 10, 4, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 40; ++i) EXPECT(rows_back[i / 10][i % 10] == (i / 10 == 1 ? 7 : i));
  // What CUDA refuses.
  EXPECT(cudaMalloc((void**)&other, ~size_t{0} / 2) == 2);
  EXPECT(cudaGetLastError() == 2 && cudaGetLastError() == 0);
  EXPECT(cudaMemcpy(back, device, sizeof host + 4, cudaMemcpyDeviceToHost) == 1);
  EXPECT(cudaFree(device + 1) == 1);
  EXPECT(strcmp(cudaGetErrorString(2), "out of memory") == 0);
  EXPECT(strcmp(cudaGetErrorName(1), "cudaErrorInvalidValue") == 0);
  OK(cudaFree(device));
  OK(cudaFree(nullptr));
  EXPECT(cudaFree(device) == 1);
  cudaGetLastError();
}

static void kernels() {
  int host[kCount], back[kCount];
  for (int i = 0; i < kCount; ++i) host[i] = i;
  int* device = nullptr;
  OK(cudaMalloc((void**)&device, sizeof host));
  OK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
  const int three = 3;
  OK(cudaMemcpyToSymbol(&factor, &three, sizeof three, 0, cudaMemcpyHostToDevice));
  scale<<<kBlocks, kThreads>>>(device, kCount);
  OK(cudaGetLastError());
  OK(cudaMemcpy(back, device, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) EXPECT(back[i] == 3 * i + 5);
  int five = 0;
  OK(cudaMemcpyFromSymbol(&five, &total, sizeof five, 0, cudaMemcpyDeviceToHost));
  EXPECT(five == 5);
  size_t bytes = 0;
  void* address = nullptr;
  OK(cudaGetSymbolSize(&bytes, &total));
  OK(cudaGetSymbolAddress(&address, &total));
  EXPECT(bytes == 4 && address != nullptr);
  // A struct by value, dynamic shared memory.
  store_pair<<<1, 3>>>({device, {7, 8, 9}});
  OK(cudaMemcpy(back, device, 12, cudaMemcpyDeviceToHost));
  EXPECT(back[0] == 7 && back[1] == 8 && back[2] == 9);
  OK(cudaMemcpy(device, host, 256, cudaMemcpyHostToDevice));
  reverse<<<1, 64, 256>>>(device);
  OK(cudaMemcpy(back, device, 256, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) EXPECT(back[i] == 63 - i);
  // What CUDA refuses.
  reverse<<<1, 2000>>>(device);
  EXPECT(cudaPeekAtLastError() == 9 && cudaGetLastError() == 9);
  reverse<<<1, 64, 1 << 24>>>(device);
  EXPECT(cudaGetLastError() == 1);
  cudaFuncAttributes facts;
  OK(cudaFuncGetAttributes(&facts, (const void*)scale));
  EXPECT(facts.numRegs > 0 && facts.maxThreadsPerBlock == 1024);
  OK(cudaFuncSetAttribute((const void*)scale, 8, 1024));
  int blocks = 0;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void*)scale, kThreads, 0));
  EXPECT(blocks > 0);
  EXPECT(cudaFuncGetAttributes(&facts, &five) == 98);
  cudaGetLastError();
  OK(cudaFree(device));
}

static void note(void* data) {
  *(int*)data = 42;
}

static void streams() {
  int* pinned = nullptr;
  OK(cudaMallocHost((void**)&pinned, 2 * kCount * sizeof(int)));
  for (int i = 0; i < 2 * kCount; ++i) pinned[i] = i;
  int *a = nullptr, *b = nullptr;
  OK(cudaMalloc((void**)&a, kCount * sizeof(int)));
  OK(cudaMalloc((void**)&b, kCount * sizeof(int)));
  cudaStream_t one, two;
  OK(cudaStreamCreate(&one));
  OK(cudaStreamCreateWithFlags(&two, 1));
  cudaEvent_t begin, end, handed;
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreate(&end));
  OK(cudaEventCreate(&handed));
  OK(cudaEventRecord(begin, one));
  OK(cudaMemcpyAsync(a, pinned, kCount * sizeof(int), cudaMemcpyHostToDevice, one));
  OK(cudaMemcpyAsync(b, pinned + kCount, kCount * sizeof(int), cudaMemcpyHostToDevice, two));
  add<<<kBlocks, kThreads, 0, one>>>(a, kCount, 1);
  add<<<kBlocks, kThreads, 0, two>>>(b, kCount, 2);
  OK(cudaEventRecord(handed, one));
  OK(cudaStreamWaitEvent(two, handed, 0));
  // Stream two goes on with what stream one wrote.
  OK(cudaMemcpyAsync(b, a, 4, cudaMemcpyDeviceToDevice, two));
  add<<<1, 1, 0, two>>>(b, 1, 100);
  OK(cudaMemcpyAsync(pinned, a, kCount * sizeof(int), cudaMemcpyDeviceToHost, one));
  OK(cudaMemcpyAsync(pinned + kCount, b, kCount * sizeof(int), cudaMemcpyDeviceToHost, two));
  OK(cudaEventRecord(end, one));
  OK(cudaStreamSynchronize(one));
  OK(cudaStreamSynchronize(two));
  for (int i = 0; i < kCount; ++i) EXPECT(pinned[i] == i + 1);
  EXPECT(pinned[kCount] == 101);
  for (int i = 1; i < kCount; ++i) EXPECT(pinned[kCount + i] == kCount + i + 2);
  float ms = -1;
  OK(cudaEventSynchronize(end));
  OK(cudaEventQuery(end));
  OK(cudaEventElapsedTime(&ms, begin, end));
  EXPECT(ms > 0);
  // The default stream waits for stream one, and stream one for it.
  OK(cudaMemsetAsync(a, 0, kCount * sizeof(int), one));
  add<<<kBlocks, kThreads, 0, one>>>(a, kCount, 1);
  add<<<kBlocks, kThreads>>>(a, kCount, 1);
  add<<<kBlocks, kThreads, 0, one>>>(a, kCount, 1);
  int called = 0, last = 0;
  OK(cudaLaunchHostFunc(one, note, &called));
  EXPECT(called == 42);
  OK(cudaMemcpy(&last, a + kCount - 1, 4, cudaMemcpyDeviceToHost));
  EXPECT(last == 3);
  OK(cudaStreamQuery(one));
  OK(cudaStreamDestroy(one));
  OK(cudaStreamDestroy(two));
  OK(cudaEventDestroy(begin));
  EXPECT(cudaEventRecord(begin, 0) == 400);
  cudaGetLastError();
  OK(cudaFreeHost(pinned));
}

static void managed() {
  int* both = nullptr;
  OK(cudaMallocManaged((void**)&both, 5000 * sizeof(int), 1));
  for (int i = 0; i < 5000; ++i) both[i] = i;
  add<<<40, 128>>>(both, 5000, 10);
  OK(cudaDeviceSynchronize());
  for (int i = 0; i < 5000; ++i) EXPECT(both[i] == i + 10);
  both[4999] = 1;
  add<<<40, 128>>>(both, 5000, 1);
  OK(cudaDeviceSynchronize());
  EXPECT(both[0] == 11 && both[4999] == 2);
  OK(cudaMemset(both, 0, 4));
  EXPECT(both[0] == 0);
  OK(cudaFree(both));
  int *mapped = nullptr, *there = nullptr;
  OK(cudaHostAlloc((void**)&mapped, 64, 2));
  OK(cudaHostGetDevicePointer((void**)&there, mapped, 0));
  mapped[0] = 4;
  add<<<1, 1>>>(there, 1, 5);
  OK(cudaDeviceSynchronize());
  EXPECT(mapped[0] == 9);
  OK(cudaFreeHost(mapped));
}

static void device() {
  int count = 0, sms = 0, which = -1;
  OK(cudaGetDeviceCount(&count));
  EXPECT(count == 1);
  OK(cudaSetDevice(0));
  EXPECT(cudaSetDevice(1) == 101 && cudaGetLastError() == 101);
  OK(cudaGetDevice(&which));
  EXPECT(which == 0);
  OK(cudaDeviceGetAttribute(&sms, 16, 0));
  EXPECT(sms > 0);
  static char properties[4096];
  OK(cudaGetDeviceProperties(properties, 0));
  EXPECT(strncmp(properties, "Terrace ", 8) == 0);
  void* graph = nullptr;
  EXPECT(cudaGraphCreate(&graph, 0) == 801 && cudaGetLastError() == 801);
}

static void print() {
  size_t bytes = 0;
  OK(cudaDeviceGetLimit(&bytes, 2));
  EXPECT(bytes == 8 << 20);
  OK(cudaDeviceSetLimit(2, 1 << 20));
  OK(cudaDeviceGetLimit(&bytes, 2));
  EXPECT(bytes == 1 << 20);
  void **place = nullptr, *got = nullptr;
  OK(cudaMalloc((void**)&place, sizeof(void*)));
  take<<<1, 1>>>(place, 1 << 20);
  OK(cudaMemcpy(&got, place, sizeof got, cudaMemcpyDeviceToHost));
  EXPECT(got != nullptr);
  take<<<1, 1>>>(place, 1);
  OK(cudaMemcpy(&got, place, sizeof got, cudaMemcpyDeviceToHost));
  EXPECT(got == nullptr);
  EXPECT(cudaDeviceSetLimit(2, 2 << 20) == 1 && cudaGetLastError() == 1);  // too late
  OK(cudaDeviceReset());
  printf("before\n");
  print_squares<<<1, 3>>>(7);
  OK(cudaDeviceSynchronize());
  printf("after\n");
  print_squares<<<1, 1>>>(1);  // shown when the process ends
}

static void cooperate() {
  constexpr int kTogether = 20;
  int* words = nullptr;
  OK(cudaMalloc((void**)&words, kTogether * sizeof(int)));
  void* arguments[] = {&words};
  for (int again = 0; again < 2; ++again)
    OK(cudaLaunchCooperativeKernel((const void*)sum_of_grid, kTogether, kThreads, arguments, 0, nullptr));
  int sums[kTogether];
  OK(cudaMemcpy(sums, words, sizeof sums, cudaMemcpyDeviceToHost));
  for (const int sum : sums) EXPECT(sum == (1 + 2 + 3) * kTogether * (kTogether - 1) / 2);
  EXPECT(cudaLaunchCooperativeKernel((const void*)sum_of_grid, 1 << 20, kThreads, arguments, 0, nullptr) == 720);
  EXPECT(cudaGetLastError() == 720 && cudaGetLastError() == 0);
  OK(cudaFree(words));
}

int main(int argc, char** argv) {
  const char* part = argc > 1 ? argv[1] : "all";
  if (strcmp(part, "all") == 0) {
    device();
    memory();
    kernels();
    streams();
    managed();
    cooperate();
    OK(cudaDeviceReset());
    kernels();
    printf("all parts passed\n");
    return 0;
  }
  if (strcmp(part, "print") == 0) return print(), 0;
  int* data = nullptr;
  OK(cudaMalloc((void**)&data, 64));
  OK(cudaMemset(data, 0, 64));
  if (strcmp(part, "add") == 0) {
    // ROUNDS launches that depend on each other.
    const int rounds = argc > 2 ? atoi(argv[2]) : 4;
    for (int i = 0; i < rounds; ++i) add<<<1, 8>>>(data, 8, i);
    int sum = 0;
    OK(cudaMemcpy(&sum, data, 4, cudaMemcpyDeviceToHost));
    EXPECT(sum == rounds * (rounds - 1) / 2);
    printf("sum %d\n", sum);
    return 0;
  }
  if (strcmp(part, "fault") == 0) {
    add<<<1, 64>>>(data + (1 << 20), 64, 1);
    EXPECT(cudaDeviceSynchronize() == 700);
    EXPECT(cudaGetLastError() == 700 && cudaGetLastError() == 700);
    EXPECT(cudaMalloc((void**)&data, 64) == 700);
    return 3;
  }
  spin<<<4, 32>>>(data, 100);
  if (strcmp(part, "unfinished") == 0) return 0;  // what was issued is done when a process ends in good order
  if (strcmp(part, "killed") == 0) raise(SIGKILL);
  if (strcmp(part, "hang") == 0)
    while (true) sleep(1);
  fprintf(stderr, "no part is called %s\n", part);
  return 2;
}
