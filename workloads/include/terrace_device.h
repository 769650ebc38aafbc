// The device side of CUDA as far as the workloads need it, for clang without a CUDA toolkit; nvcc brings its own.
// A kernel that includes this compiles unchanged with both:
//   clang-19 -x cuda --cuda-device-only --cuda-path=/nonexistent -nocudainc -nocudalib ... (see cmake/workloads.cmake)
//   nvcc -arch=sm_75 -ptx -O2 -I workloads/include NAME.cu
// The fast_ functions are one approximate PTX instruction each (two for exp and log), with both compilers: the precise
// ones of a toolkit expand differently from release to release, and without one they do not exist.
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

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

namespace terrace_device {

// threadIdx.x and its kin are special registers that are read where they are named: properties, as -fms-extensions
// allows them, cost no storage.
#define TERRACE_DEVICE_DIMENSION(type, builtin)     \
  struct type {                                     \
    __declspec(property(get = read_x)) u32 x;       \
    __declspec(property(get = read_y)) u32 y;       \
    __declspec(property(get = read_z)) u32 z;       \
    __device__ __forceinline__ u32 read_x() const { \
      return __nvvm_read_ptx_sreg_##builtin##_x();  \
    }                                               \
    __device__ __forceinline__ u32 read_y() const { \
      return __nvvm_read_ptx_sreg_##builtin##_y();  \
    }                                               \
    __device__ __forceinline__ u32 read_z() const { \
      return __nvvm_read_ptx_sreg_##builtin##_z();  \
    }                                               \
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
extern "C" __device__ __attribute__((noreturn)) void __assertfail(const char* message, const char* file, u32 line,
                                                                  const char* function, unsigned long char_bytes);
#define assert(condition) \
  ((condition) ? void() : __assertfail(#condition, __FILE__, __LINE__, __PRETTY_FUNCTION__, sizeof(char)))

struct __attribute__((aligned(8))) float2 {
  float x, y;
};
struct __attribute__((aligned(16))) float4 {
  float x, y, z, w;
};
struct __attribute__((aligned(8))) int2 {
  int x, y;
};
struct __attribute__((aligned(16))) int4 {
  int x, y, z, w;
};

// The _gen_ builtins take generic pointers; the compiler finds out whether they are global or shared.
__device__ __forceinline__ float atomicAdd(float* at, float value) {
  return __nvvm_atom_add_gen_f(at, value);
}
__device__ __forceinline__ u32 atomicAdd(u32* at, u32 value) {
  return static_cast<u32>(__nvvm_atom_add_gen_i(reinterpret_cast<int*>(at), static_cast<int>(value)));
}
__device__ __forceinline__ u32 atomicXor(u32* at, u32 value) {
  return __nvvm_atom_xor_gen_i(reinterpret_cast<int*>(at), static_cast<int>(value));
}
__device__ __forceinline__ u64 atomicXor(u64* at, u64 value) {
  return __nvvm_atom_xor_gen_ll(reinterpret_cast<long long*>(at), static_cast<long long>(value));
}

__device__ __forceinline__ void __syncwarp(u32 members = 0xffffffffu) {
  __nvvm_bar_warp_sync(members);
}

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
