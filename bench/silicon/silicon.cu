// The device side of `silicon`: a kernel that keeps SMs from others by sleeping on them, and one that keeps a GPU busy with
// a little of everything. Compiles with clang (cmake/silicon.cmake) and with nvcc (docs/silicon.md).
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

__device__ __forceinline__ u32 sm_number() {
  u32 number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}
__device__ __forceinline__ u64 nanoseconds() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
__device__ __forceinline__ void doze(u32 length) {
  asm volatile("nanosleep.u32 %0;" ::"r"(length));
}

// The shadow kernel of CD-search's Listing 1: so many blocks of 1,024 threads that they just fill the GPU. Those on SMs
// below `first` leave, the others sleep on theirs until the host says stop. A block leaves only when all have started: a
// place that is given up early would take a block that should sleep elsewhere. counts: blocks that have started, blocks
// that have gone to sleep. present: by SM, how many blocks began there. Ends by itself at `limit` nanoseconds. The word
// `stop` lies in the GPU's memory and is read about a thousand times a second by each block: reads of the host's memory
// would cross the bus and hold up the memory system on which the program is measured.
extern "C" __global__ void shadow(volatile u32* stop, u32* counts, u32* present, u32 first, u64 limit) {
  if (threadIdx.x == 0) {
    const u64 end = nanoseconds() + limit;
    const u32 sm = sm_number();
    atomicAdd(&present[sm], 1u);
    atomicAdd(&counts[0], 1u);
    volatile u32* const started = &counts[0];
    while (*started < gridDim.x && nanoseconds() < end) doze(2000);
    if (sm >= first) {
      atomicAdd(&counts[1], 1u);
      while (*stop == 0 && nanoseconds() < end) doze(1000000);
    }
  }
  __syncthreads();
}

// Arithmetic between loads and stores of shared and global memory, as the process of MASK's Figure 1. Every block has 32 KB
// of shared memory, which a GPU that changes to another process must save.
extern "C" __global__ void mixed(float* data, u32 words, u32 rounds) {
  constexpr u32 kPlaces = 8192, kThreads = 256;
  __shared__ float places[kPlaces];
  for (u32 i = threadIdx.x; i < kPlaces; i += kThreads) places[i] = static_cast<float>(i) * 1e-4f;
  __syncthreads();
  u32 at = (blockIdx.x * kThreads + threadIdx.x) % words;
  float sum = 0;
  for (u32 round = 0; round < rounds; ++round) {
    float value = data[at];
    for (u32 k = 0; k < 16; ++k) value = value * 0.999f + 0.001f;
    const u32 place = (threadIdx.x + round * kThreads) % kPlaces;
    places[place] = value;
    __syncthreads();
    sum += places[(place + 97) % kPlaces];
    __syncthreads();
    data[at] = value + sum * 1e-6f;
    at = (at + gridDim.x * kThreads) % words;
  }
}

// What a launch costs by itself.
extern "C" __global__ void nothing() {}
