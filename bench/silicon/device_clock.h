// What the kernels of this folder share: how a block tells when it began and ended, and where it ran.
// SPDX-License-Identifier: MIT
#pragma once

#include "terrace_device.h"

__device__ __forceinline__ u64 cycle_now() {
  u64 now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
  return now;
}
__device__ __forceinline__ u64 nanosecond_now() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}
__device__ __forceinline__ u32 sm_number() {
  u32 number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}
__device__ __forceinline__ void barrier() {
  asm volatile("bar.sync 0;" ::: "memory");
}

struct Begin {
  u64 cycle, nanosecond;
};

__device__ __forceinline__ Begin begin_span() {
  barrier();
  return {cycle_now(), nanosecond_now()};
}

/// Six words for each block: clock and time at begin and end, the SM, and a word that is never written. `sink` depends on
/// everything that the block computed or loaded, so that no compiler can leave it out.
__device__ __forceinline__ void end_span(u64* out, const Begin& begin, u64 sink) {
  u64* const mine = out + u64{6} * blockIdx.x;
  if (sink == 0x9e3779b97f4a7c15) mine[5] = sink;
  barrier();
  if (threadIdx.x != 0) return;
  mine[0] = begin.cycle;
  mine[1] = cycle_now();
  mine[2] = begin.nanosecond;
  mine[3] = nanosecond_now();
  mine[4] = sm_number();
}
