// Random read-modify-write: each thread follows its part of one 64-bit shift-register stream and xors every value into
// the table word that the value itself names.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

static __device__ __forceinline__ u64 advance(u64 r) {
  return (r << 1) ^ (static_cast<long long>(r) < 0 ? 7u : 0u);
}

// Races are part of this one: two threads that meet on a word may lose an update.
extern "C" __global__ void gups_plain(u64* table, const u64* starts, u64 index_mask, u32 updates) {
  u64 r = starts[global_thread()];
#pragma unroll 1
  for (u32 i = 0; i < updates; ++i) {
    r = advance(r);
    table[r & index_mask] ^= r;
  }
}

extern "C" __global__ void gups_atomic64(u64* table, const u64* starts, u64 index_mask, u32 updates) {
  u64 r = starts[global_thread()];
#pragma unroll 1
  for (u32 i = 0; i < updates; ++i) {
    r = advance(r);
    atomicXor(&table[r & index_mask], r);
  }
}

extern "C" __global__ void gups_atomic32x2(u64* table, const u64* starts, u64 index_mask, u32 updates) {
  u64 r = starts[global_thread()];
#pragma unroll 1
  for (u32 i = 0; i < updates; ++i) {
    r = advance(r);
    u32* halves = reinterpret_cast<u32*>(&table[r & index_mask]);
    atomicXor(&halves[0], static_cast<u32>(r));
    atomicXor(&halves[1], static_cast<u32>(r >> 32));
  }
}
