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

/// A word that depends on everything that a thread computed or loaded is compared with this one, so that no compiler can
/// leave anything out. It fits into 32 bits: otherwise it could not equal a shorter word, and compilers know that.
constexpr u64 kNever = 0x5bd1e995;

/// Six words for each block: clock and time at begin and end, the SM, and what its warps counted.
constexpr u32 kSpanWords = 6, kCounted = 5;

__device__ __forceinline__ Begin begin_span(u64* out) {
  if (threadIdx.x == 0) out[u64{kSpanWords} * blockIdx.x + kCounted] = 0;
  barrier();
  return {cycle_now(), nanosecond_now()};
}

__device__ __forceinline__ void end_span(u64* out, const Begin& begin, u64 sink) {
  u64* const mine = out + u64{kSpanWords} * blockIdx.x;
  if (sink == kNever) mine[kCounted] = sink;
  barrier();
  if (threadIdx.x != 0) return;
  mine[0] = begin.cycle;
  mine[1] = cycle_now();
  mine[2] = begin.nanosecond;
  mine[3] = nanosecond_now();
  mine[4] = sm_number();
}

/// The same for a warp that went round so often.
__device__ __forceinline__ void end_span(u64* out, const Begin& begin, u64 sink, u64 counted) {
  if (threadIdx.x % 32 == 0)
    asm volatile("red.global.add.u64 [%0], %1;" ::"l"(out + u64{kSpanWords} * blockIdx.x + kCounted), "l"(counted)
                 : "memory");
  end_span(out, begin, sink);
}
