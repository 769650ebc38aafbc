// Loads and stores of the kernels of this folder, with the cache operator in sight.
// SPDX-License-Identifier: MIT
#pragma once

#include "terrace_device.h"

namespace {

constexpr u32 kWarp = 32;

__device__ __forceinline__ u64 address_of(const void* pointer) {
  return reinterpret_cast<u64>(pointer);
}
__device__ __forceinline__ u64 load_cached(u64 address) {
  u64 value;
  asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}
/// Past the L1.
__device__ __forceinline__ u64 load_from_l2(u64 address) {
  u64 value;
  asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}
__device__ __forceinline__ u32 load_word(u64 address) {
  u32 value;
  asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}
__device__ __forceinline__ void store_word(u64 address, u64 value) {
  asm volatile("st.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}
__device__ __forceinline__ void add_word(u64 address, u32 value) {
  asm volatile("red.global.add.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

struct Vector {
  u32 a, b, c, d;
};
__device__ __forceinline__ Vector load_vector(u64 address) {
  Vector v;
  asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.a), "=r"(v.b), "=r"(v.c), "=r"(v.d)
               : "l"(address)
               : "memory");
  return v;
}
__device__ __forceinline__ void store_vector(u64 address, const Vector& v) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v.a), "r"(v.b), "r"(v.c), "r"(v.d)
               : "memory");
}
__device__ __forceinline__ u32 folded(const Vector& v) {
  return v.a ^ v.b ^ v.c ^ v.d;
}
__device__ __forceinline__ u64 next_random(u64 state) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^ state << 17;
}

}  // namespace
