// CUDA's own names on the device side, for clang without a toolkit: qualifiers, built-in variables and functions.
// SPDX-License-Identifier: MIT
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __host__ __attribute__((host))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __managed__ __attribute__((managed))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

// Of functions of this header. What is inlined counts as the line that calls it, so that faults are found there.
#define TERRACE_DEVICE_INLINE __device__ inline __attribute__((always_inline, nodebug))

#include "vectors.h"

namespace terrace_device {

// threadIdx.x and its kin are special registers that are read where they are named: properties, as -fms-extensions
// allows them, cost no storage.
#define TERRACE_DEVICE_DIMENSION(type, builtin)         \
  struct type {                                         \
    __declspec(property(get = read_x)) unsigned int x;  \
    __declspec(property(get = read_y)) unsigned int y;  \
    __declspec(property(get = read_z)) unsigned int z;  \
    TERRACE_DEVICE_INLINE unsigned int read_x() const { \
      return __nvvm_read_ptx_sreg_##builtin##_x();      \
    }                                                   \
    TERRACE_DEVICE_INLINE unsigned int read_y() const { \
      return __nvvm_read_ptx_sreg_##builtin##_y();      \
    }                                                   \
    TERRACE_DEVICE_INLINE unsigned int read_z() const { \
      return __nvvm_read_ptx_sreg_##builtin##_z();      \
    }                                                   \
    TERRACE_DEVICE_INLINE operator uint3() const {      \
      return {read_x(), read_y(), read_z()};            \
    }                                                   \
    TERRACE_DEVICE_INLINE operator dim3() const {       \
      return {read_x(), read_y(), read_z()};            \
    }                                                   \
  }
TERRACE_DEVICE_DIMENSION(ThreadIndex, tid);
TERRACE_DEVICE_DIMENSION(BlockIndex, ctaid);
TERRACE_DEVICE_DIMENSION(BlockDimension, ntid);
TERRACE_DEVICE_DIMENSION(GridDimension, nctaid);
#undef TERRACE_DEVICE_DIMENSION

}  // namespace terrace_device

extern const __device__ terrace_device::ThreadIndex threadIdx;
extern const __device__ terrace_device::BlockIndex blockIdx;
extern const __device__ terrace_device::BlockDimension blockDim;
extern const __device__ terrace_device::GridDimension gridDim;

// The device runtime. printf becomes a call of vprintf.
extern "C" __device__ int printf(const char* format, ...) __attribute__((format(printf, 1, 2)));
extern "C" __device__ void* malloc(unsigned long bytes);
extern "C" __device__ void free(void* memory);
extern "C" __device__ __attribute__((noreturn)) void __assertfail(const char* message, const char* file,
                                                                  unsigned int line, const char* function,
                                                                  unsigned long char_bytes);
TERRACE_DEVICE_INLINE void* memcpy(void* to, const void* from, unsigned long bytes) {
  return __builtin_memcpy(to, from, bytes);
}
TERRACE_DEVICE_INLINE void* memset(void* at, int value, unsigned long bytes) {
  return __builtin_memset(at, value, bytes);
}
#define assert(condition) \
  ((condition) ? void() : __assertfail(#condition, __FILE__, __LINE__, __PRETTY_FUNCTION__, sizeof(char)))

// assert() of C's header, where a program includes that.
extern "C" __device__ __attribute__((noreturn)) inline void __assert_fail(const char* message, const char* file,
                                                                          unsigned int line, const char* function) {
  __assertfail(message, file, line, function, sizeof(char));
}

#include "atomics.h"
#include "constants.h"
#include "error_functions.h"
#include "gamma_functions.h"
#include "integers.h"
#include "math.h"
#include "parts.h"
#include "toolkit/math_constants.h"
#include "warps.h"
