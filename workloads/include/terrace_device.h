// The device side of CUDA as far as the workloads need it, for clang without a CUDA toolkit; nvcc brings its own.
// A kernel that includes this compiles unchanged with both:
//   clang-19 -x cuda --cuda-device-only --cuda-path=/nonexistent -nocudainc -nocudalib ... (see cmake/workloads.cmake)
//   nvcc -arch=sm_75 -ptx -O2 -I workloads/include NAME.cu
// The fast_ functions are one approximate PTX instruction each (two for exp and log), with both compilers. Workloads use
// them, since the precise ones expand differently from toolkit to toolkit, and here (terrace_device/math.h).
// SPDX-License-Identifier: MIT
#pragma once

#ifdef __clang__
#define TERRACE_DEVICE_CLANG 1
#endif

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

#ifdef TERRACE_DEVICE_CLANG

#include "terrace_device/cuda.h"

#define TERRACE_DEVICE_APPROX(name, builtin, opcode) \
  __device__ __forceinline__ float name(float x) {   \
    return builtin(x);                               \
  }

#else

#define TERRACE_DEVICE_APPROX(name, builtin, opcode) \
  __device__ __forceinline__ float name(float x) {   \
    float result;                                    \
    asm(opcode " %0, %1;" : "=f"(result) : "f"(x));  \
    return result;                                   \
  }

#endif

TERRACE_DEVICE_APPROX(fast_exp2, __nvvm_ex2_approx_f, "ex2.approx.f32")
TERRACE_DEVICE_APPROX(fast_log2, __nvvm_lg2_approx_f, "lg2.approx.f32")
TERRACE_DEVICE_APPROX(fast_sin, __nvvm_sin_approx_f, "sin.approx.f32")
TERRACE_DEVICE_APPROX(fast_cos, __nvvm_cos_approx_f, "cos.approx.f32")
TERRACE_DEVICE_APPROX(fast_rsqrt, __nvvm_rsqrt_approx_f, "rsqrt.approx.f32")
TERRACE_DEVICE_APPROX(fast_sqrt, __nvvm_sqrt_approx_f, "sqrt.approx.f32")
#undef TERRACE_DEVICE_APPROX

__device__ __forceinline__ float fast_divide(float x, float y) {
#ifdef TERRACE_DEVICE_CLANG
  return __nvvm_div_approx_f(x, y);
#else
  return __fdividef(x, y);
#endif
}

__device__ __forceinline__ float fast_exp(float x) {
  return fast_exp2(x * 1.44269504f);  // log2(e)
}

__device__ __forceinline__ float fast_log(float x) {
  return fast_log2(x) * 0.69314718f;  // ln(2)
}

/// 2 to a whole power from -1022 to 1023.
__device__ __forceinline__ double power_of_two(int exponent) {
  union {
    u64 bits;
    double value;
  } power;
  power.bits = static_cast<u64>(1023 + exponent) << 52;
  return power.value;
}

/// exp in double, to about one unit in the last place; a toolkit's would need its device library. x is reduced to
/// |rest| < 0.35 by a multiple of ln 2 (in two parts), the rest goes through Taylor's polynomial.
__device__ __forceinline__ double exp_f64(double x) {
  if (x < -745.2) return 0.0;
  if (x > 709.8) return 1.0 / 0.0;
  constexpr double kRounder = 6755399441055744.0;  // 1.5 x 2^52: adding it leaves a whole number in the low bits
  const double whole = (x * 1.4426950408889634 + kRounder) - kRounder;
  const double rest = (x - whole * 0x1.62e42fee00000p-1) - whole * 0x1.a39ef35793c76p-33;
  double sum = 1.0 / 6227020800.0;
  sum = sum * rest + 1.0 / 479001600.0;
  sum = sum * rest + 1.0 / 39916800.0;
  sum = sum * rest + 1.0 / 3628800.0;
  sum = sum * rest + 1.0 / 362880.0;
  sum = sum * rest + 1.0 / 40320.0;
  sum = sum * rest + 1.0 / 5040.0;
  sum = sum * rest + 1.0 / 720.0;
  sum = sum * rest + 1.0 / 120.0;
  sum = sum * rest + 1.0 / 24.0;
  sum = sum * rest + 1.0 / 6.0;
  sum = sum * rest + 0.5;
  sum = sum * rest + 1.0;
  sum = sum * rest + 1.0;
  // In two factors, since the results at both ends are not normal times one power.
  const int exponent = static_cast<int>(whole);
  const int half = exponent / 2;
  return sum * power_of_two(half) * power_of_two(exponent - half);
}

__device__ __forceinline__ float absolute(float x) {
#ifdef TERRACE_DEVICE_CLANG
  return __builtin_fabsf(x);
#else
  return fabsf(x);
#endif
}

__device__ __forceinline__ int absolute(int x) {
#ifdef TERRACE_DEVICE_CLANG
  return __builtin_abs(x);
#else
  return abs(x);
#endif
}

/// The thread's number in a grid of one dimension.
__device__ __forceinline__ u32 global_thread() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}
