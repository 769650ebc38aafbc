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

// Of the values of all members, as in every one of them.
#define TERRACE_DEVICE_REDUCE(name, type, operation)                                                \
  TERRACE_DEVICE_INLINE type name(unsigned int members, type value) {                               \
    type result;                                                                                    \
    asm volatile("redux.sync." operation " %0, %1, %2;" : "=r"(result) : "r"(value), "r"(members)); \
    return result;                                                                                  \
  }
TERRACE_DEVICE_REDUCE(__reduce_add_sync, int, "add.s32")
TERRACE_DEVICE_REDUCE(__reduce_add_sync, unsigned int, "add.u32")
TERRACE_DEVICE_REDUCE(__reduce_min_sync, int, "min.s32")
TERRACE_DEVICE_REDUCE(__reduce_min_sync, unsigned int, "min.u32")
TERRACE_DEVICE_REDUCE(__reduce_max_sync, int, "max.s32")
TERRACE_DEVICE_REDUCE(__reduce_max_sync, unsigned int, "max.u32")
TERRACE_DEVICE_REDUCE(__reduce_and_sync, unsigned int, "and.b32")
TERRACE_DEVICE_REDUCE(__reduce_or_sync, unsigned int, "or.b32")
TERRACE_DEVICE_REDUCE(__reduce_xor_sync, unsigned int, "xor.b32")
#undef TERRACE_DEVICE_REDUCE

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

// Loads and stores that say how caches should treat them. Narrow types travel in registers of 16 bits or more.
#define TERRACE_DEVICE_LOAD(name, type, held, ptx, constraint)                     \
  TERRACE_DEVICE_INLINE type name(const type* from) {                              \
    held value;                                                                    \
    asm volatile(ptx " %0, [%1];" : "=" constraint(value) : "l"(from) : "memory"); \
    return static_cast<type>(value);                                               \
  }
#define TERRACE_DEVICE_LOAD2(name, type, held, ptx, constraint)                                         \
  TERRACE_DEVICE_INLINE type name(const type* from) {                                                   \
    held x, y;                                                                                          \
    asm volatile(ptx " {%0, %1}, [%2];" : "=" constraint(x), "=" constraint(y) : "l"(from) : "memory"); \
    return {x, y};                                                                                      \
  }
#define TERRACE_DEVICE_LOAD4(name, type, held, ptx, constraint)                               \
  TERRACE_DEVICE_INLINE type name(const type* from) {                                         \
    held x, y, z, w;                                                                          \
    asm volatile(ptx " {%0, %1, %2, %3}, [%4];"                                               \
                 : "=" constraint(x), "=" constraint(y), "=" constraint(z), "=" constraint(w) \
                 : "l"(from)                                                                  \
                 : "memory");                                                                 \
    return {x, y, z, w};                                                                      \
  }
#define TERRACE_DEVICE_STORE(name, type, held, ptx, constraint)                                  \
  TERRACE_DEVICE_INLINE void name(type* to, type value) {                                        \
    asm volatile(ptx " [%0], %1;" : : "l"(to), constraint(static_cast<held>(value)) : "memory"); \
  }
#define TERRACE_DEVICE_STORE2(name, type, held, ptx, constraint)                                           \
  TERRACE_DEVICE_INLINE void name(type* to, type value) {                                                  \
    asm volatile(ptx " [%0], {%1, %2};" : : "l"(to), constraint(value.x), constraint(value.y) : "memory"); \
  }
#define TERRACE_DEVICE_STORE4(name, type, held, ptx, constraint)                                               \
  TERRACE_DEVICE_INLINE void name(type* to, type value) {                                                      \
    asm volatile(ptx " [%0], {%1, %2, %3, %4};"                                                                \
                 :                                                                                             \
                 : "l"(to), constraint(value.x), constraint(value.y), constraint(value.z), constraint(value.w) \
                 : "memory");                                                                                  \
  }
#define TERRACE_DEVICE_CACHED(DO, DO2, DO4, name, ptx)              \
  DO(name, char, short, ptx ".s8", "h")                             \
  DO(name, signed char, short, ptx ".s8", "h")                      \
  DO(name, unsigned char, unsigned short, ptx ".u8", "h")           \
  DO(name, short, short, ptx ".s16", "h")                           \
  DO(name, unsigned short, unsigned short, ptx ".u16", "h")         \
  DO(name, int, int, ptx ".s32", "r")                               \
  DO(name, unsigned int, unsigned int, ptx ".u32", "r")             \
  DO(name, long, long, ptx ".s64", "l")                             \
  DO(name, unsigned long, unsigned long, ptx ".u64", "l")           \
  DO(name, long long, long long, ptx ".s64", "l")                   \
  DO(name, unsigned long long, unsigned long long, ptx ".u64", "l") \
  DO(name, float, float, ptx ".f32", "f")                           \
  DO(name, double, double, ptx ".f64", "d")                         \
  DO2(name, int2, int, ptx ".v2.s32", "r")                          \
  DO2(name, uint2, unsigned int, ptx ".v2.u32", "r")                \
  DO2(name, float2, float, ptx ".v2.f32", "f")                      \
  DO2(name, double2, double, ptx ".v2.f64", "d")                    \
  DO4(name, int4, int, ptx ".v4.s32", "r")                          \
  DO4(name, uint4, unsigned int, ptx ".v4.u32", "r")                \
  DO4(name, float4, float, ptx ".v4.f32", "f")
#define TERRACE_DEVICE_LOADS(name, ptx) \
  TERRACE_DEVICE_CACHED(TERRACE_DEVICE_LOAD, TERRACE_DEVICE_LOAD2, TERRACE_DEVICE_LOAD4, name, ptx)
#define TERRACE_DEVICE_STORES(name, ptx) \
  TERRACE_DEVICE_CACHED(TERRACE_DEVICE_STORE, TERRACE_DEVICE_STORE2, TERRACE_DEVICE_STORE4, name, ptx)
TERRACE_DEVICE_LOADS(__ldca, "ld.ca")
TERRACE_DEVICE_LOADS(__ldcg, "ld.cg")
TERRACE_DEVICE_LOADS(__ldcs, "ld.cs")
TERRACE_DEVICE_LOADS(__ldlu, "ld.lu")
TERRACE_DEVICE_LOADS(__ldcv, "ld.cv")
TERRACE_DEVICE_STORES(__stwb, "st.wb")
TERRACE_DEVICE_STORES(__stcg, "st.cg")
TERRACE_DEVICE_STORES(__stcs, "st.cs")
TERRACE_DEVICE_STORES(__stwt, "st.wt")
#undef TERRACE_DEVICE_STORES
#undef TERRACE_DEVICE_LOADS
#undef TERRACE_DEVICE_CACHED
#undef TERRACE_DEVICE_STORE4
#undef TERRACE_DEVICE_STORE2
#undef TERRACE_DEVICE_STORE
#undef TERRACE_DEVICE_LOAD4
#undef TERRACE_DEVICE_LOAD2
#undef TERRACE_DEVICE_LOAD
