// Shuffles, votes, barriers, fences and clocks. Part of terrace_device.h, for clang.
// SPDX-License-Identifier: MIT
#pragma once

#include "integers.h"

constexpr int warpSize = 32;  // what shuffles and votes span, whatever the warp width of the machine

TERRACE_DEVICE_INLINE void __syncwarp(unsigned int members = 0xffffffffu) {
  __nvvm_bar_warp_sync(members);
}
TERRACE_DEVICE_INLINE int __syncthreads_count(int predicate) {
  return __nvvm_bar0_popc(predicate);
}
TERRACE_DEVICE_INLINE int __syncthreads_and(int predicate) {
  return __nvvm_bar0_and(predicate);
}
TERRACE_DEVICE_INLINE int __syncthreads_or(int predicate) {
  return __nvvm_bar0_or(predicate);
}

TERRACE_DEVICE_INLINE void __threadfence_block() {
  __nvvm_membar_cta();
}
TERRACE_DEVICE_INLINE void __threadfence() {
  __nvvm_membar_gl();
}
TERRACE_DEVICE_INLINE void __threadfence_system() {
  __nvvm_membar_sys();
}

TERRACE_DEVICE_INLINE unsigned int __activemask() {
  unsigned int mask;
  asm volatile("activemask.b32 %0;" : "=r"(mask));
  return mask;
}
TERRACE_DEVICE_INLINE unsigned int __ballot_sync(unsigned int members, int predicate) {
  return __nvvm_vote_ballot_sync(members, predicate != 0);
}
TERRACE_DEVICE_INLINE int __any_sync(unsigned int members, int predicate) {
  return __nvvm_vote_any_sync(members, predicate != 0);
}
TERRACE_DEVICE_INLINE int __all_sync(unsigned int members, int predicate) {
  return __nvvm_vote_all_sync(members, predicate != 0);
}
TERRACE_DEVICE_INLINE int __uni_sync(unsigned int members, int predicate) {
  return __nvvm_vote_uni_sync(members, predicate != 0);
}

// The last operand of shfl: the highest lane a segment may read from, and above it the bits that lanes of a segment share.
#define TERRACE_DEVICE_SHUFFLE(name, builtin, third, clamp)                                                         \
  TERRACE_DEVICE_INLINE int name(unsigned int members, int value, third lane, int width = 32) {                     \
    return __nvvm_shfl_sync_##builtin##_i32(members, value, static_cast<int>(lane), ((32 - width) << 8) | clamp);   \
  }                                                                                                                 \
  TERRACE_DEVICE_INLINE unsigned int name(unsigned int members, unsigned int value, third lane, int width = 32) {   \
    return static_cast<unsigned int>(name(members, static_cast<int>(value), lane, width));                          \
  }                                                                                                                 \
  TERRACE_DEVICE_INLINE float name(unsigned int members, float value, third lane, int width = 32) {                 \
    return __nvvm_shfl_sync_##builtin##_f32(members, value, static_cast<int>(lane), ((32 - width) << 8) | clamp);   \
  }                                                                                                                 \
  TERRACE_DEVICE_INLINE unsigned long long name(unsigned int members, unsigned long long value, third lane,         \
                                                int width = 32) {                                                   \
    const unsigned long long high = name(members, static_cast<unsigned int>(value >> 32), lane, width);             \
    return high << 32 | name(members, static_cast<unsigned int>(value), lane, width);                               \
  }                                                                                                                 \
  TERRACE_DEVICE_INLINE long long name(unsigned int members, long long value, third lane, int width = 32) {         \
    return static_cast<long long>(name(members, static_cast<unsigned long long>(value), lane, width));              \
  }                                                                                                                 \
  TERRACE_DEVICE_INLINE long name(unsigned int members, long value, third lane, int width = 32) {                   \
    return static_cast<long>(name(members, static_cast<unsigned long long>(value), lane, width));                   \
  }                                                                                                                 \
  TERRACE_DEVICE_INLINE unsigned long name(unsigned int members, unsigned long value, third lane, int width = 32) { \
    return static_cast<unsigned long>(name(members, static_cast<unsigned long long>(value), lane, width));          \
  }                                                                                                                 \
  TERRACE_DEVICE_INLINE double name(unsigned int members, double value, third lane, int width = 32) {               \
    return __longlong_as_double(name(members, __double_as_longlong(value), lane, width));                           \
  }
TERRACE_DEVICE_SHUFFLE(__shfl_sync, idx, int, 0x1f)
TERRACE_DEVICE_SHUFFLE(__shfl_up_sync, up, unsigned int, 0)
TERRACE_DEVICE_SHUFFLE(__shfl_down_sync, down, unsigned int, 0x1f)
TERRACE_DEVICE_SHUFFLE(__shfl_xor_sync, bfly, int, 0x1f)
#undef TERRACE_DEVICE_SHUFFLE

#define TERRACE_DEVICE_MATCH(type, like, builtin)                                                    \
  TERRACE_DEVICE_INLINE unsigned int __match_any_sync(unsigned int members, type value) {            \
    return __nvvm_match_any_sync_##builtin(members, __builtin_bit_cast(like, value));                \
  }                                                                                                  \
  TERRACE_DEVICE_INLINE unsigned int __match_all_sync(unsigned int members, type value, int* same) { \
    return __nvvm_match_all_sync_##builtin##p(members, __builtin_bit_cast(like, value), same);       \
  }
TERRACE_DEVICE_MATCH(int, unsigned int, i32)
TERRACE_DEVICE_MATCH(unsigned int, unsigned int, i32)
TERRACE_DEVICE_MATCH(float, unsigned int, i32)
TERRACE_DEVICE_MATCH(long, unsigned long long, i64)
TERRACE_DEVICE_MATCH(unsigned long, unsigned long long, i64)
TERRACE_DEVICE_MATCH(long long, unsigned long long, i64)
TERRACE_DEVICE_MATCH(unsigned long long, unsigned long long, i64)
TERRACE_DEVICE_MATCH(double, unsigned long long, i64)
#undef TERRACE_DEVICE_MATCH

TERRACE_DEVICE_INLINE int clock() {
  return __nvvm_read_ptx_sreg_clock();
}
TERRACE_DEVICE_INLINE long long clock64() {
  return __nvvm_read_ptx_sreg_clock64();
}
TERRACE_DEVICE_INLINE void __nanosleep(unsigned int nanoseconds) {
  asm volatile("nanosleep.u32 %0;" : : "r"(nanoseconds));
}
TERRACE_DEVICE_INLINE void __trap() {
  asm volatile("trap;");
}

// Loads that may go through a read-only cache.
#define TERRACE_DEVICE_LDG(type, builtin)              \
  TERRACE_DEVICE_INLINE type __ldg(const type* from) { \
    return __nvvm_ldg_##builtin(from);                 \
  }
TERRACE_DEVICE_LDG(signed char, sc)
TERRACE_DEVICE_LDG(unsigned char, uc)
TERRACE_DEVICE_LDG(short, s)
TERRACE_DEVICE_LDG(unsigned short, us)
TERRACE_DEVICE_LDG(int, i)
TERRACE_DEVICE_LDG(unsigned int, ui)
TERRACE_DEVICE_LDG(long, l)
TERRACE_DEVICE_LDG(unsigned long, ul)
TERRACE_DEVICE_LDG(long long, ll)
TERRACE_DEVICE_LDG(unsigned long long, ull)
TERRACE_DEVICE_LDG(float, f)
TERRACE_DEVICE_LDG(double, d)
#undef TERRACE_DEVICE_LDG
#define TERRACE_DEVICE_LDG2(type, element, builtin)                           \
  TERRACE_DEVICE_INLINE type __ldg(const type* from) {                        \
    typedef element Two __attribute__((ext_vector_type(2)));                  \
    const Two two = __nvvm_ldg_##builtin(reinterpret_cast<const Two*>(from)); \
    return {two.x, two.y};                                                    \
  }
#define TERRACE_DEVICE_LDG4(type, element, builtin)                              \
  TERRACE_DEVICE_INLINE type __ldg(const type* from) {                           \
    typedef element Four __attribute__((ext_vector_type(4)));                    \
    const Four four = __nvvm_ldg_##builtin(reinterpret_cast<const Four*>(from)); \
    return {four.x, four.y, four.z, four.w};                                     \
  }
TERRACE_DEVICE_LDG2(int2, int, i2)
TERRACE_DEVICE_LDG2(uint2, unsigned int, ui2)
TERRACE_DEVICE_LDG2(float2, float, f2)
TERRACE_DEVICE_LDG2(double2, double, d2)
TERRACE_DEVICE_LDG4(int4, int, i4)
TERRACE_DEVICE_LDG4(uint4, unsigned int, ui4)
TERRACE_DEVICE_LDG4(float4, float, f4)
#undef TERRACE_DEVICE_LDG4
#undef TERRACE_DEVICE_LDG2
