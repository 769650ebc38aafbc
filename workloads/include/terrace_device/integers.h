// Integer functions, minimum and maximum, conversions. Part of terrace_device.h, for clang.
// SPDX-License-Identifier: MIT
#pragma once

TERRACE_DEVICE_INLINE int __float_as_int(float x) {
  return __builtin_bit_cast(int, x);
}
TERRACE_DEVICE_INLINE unsigned int __float_as_uint(float x) {
  return __builtin_bit_cast(unsigned int, x);
}
TERRACE_DEVICE_INLINE float __int_as_float(int x) {
  return __builtin_bit_cast(float, x);
}
TERRACE_DEVICE_INLINE float __uint_as_float(unsigned int x) {
  return __builtin_bit_cast(float, x);
}
TERRACE_DEVICE_INLINE long long __double_as_longlong(double x) {
  return __builtin_bit_cast(long long, x);
}
TERRACE_DEVICE_INLINE double __longlong_as_double(long long x) {
  return __builtin_bit_cast(double, x);
}
TERRACE_DEVICE_INLINE int __double2hiint(double x) {
  return static_cast<int>(__double_as_longlong(x) >> 32);
}
TERRACE_DEVICE_INLINE int __double2loint(double x) {
  return static_cast<int>(__double_as_longlong(x));
}
TERRACE_DEVICE_INLINE double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(
      static_cast<unsigned long long>(static_cast<unsigned int>(high)) << 32 | static_cast<unsigned int>(low)));
}

#define TERRACE_DEVICE_CONVERT(to, name, from, builtin) \
  TERRACE_DEVICE_INLINE to name(from x) {               \
    return static_cast<to>(__nvvm_##builtin(x));        \
  }
#define TERRACE_DEVICE_CONVERT_ROUNDED(to, name, from, builtin) \
  TERRACE_DEVICE_CONVERT(to, name##_rn, from, builtin##_rn)     \
  TERRACE_DEVICE_CONVERT(to, name##_rz, from, builtin##_rz)     \
  TERRACE_DEVICE_CONVERT(to, name##_rd, from, builtin##_rm)     \
  TERRACE_DEVICE_CONVERT(to, name##_ru, from, builtin##_rp)
TERRACE_DEVICE_CONVERT_ROUNDED(int, __float2int, float, f2i)
TERRACE_DEVICE_CONVERT_ROUNDED(unsigned int, __float2uint, float, f2ui)
TERRACE_DEVICE_CONVERT_ROUNDED(long long, __float2ll, float, f2ll)
TERRACE_DEVICE_CONVERT_ROUNDED(unsigned long long, __float2ull, float, f2ull)
TERRACE_DEVICE_CONVERT_ROUNDED(int, __double2int, double, d2i)
TERRACE_DEVICE_CONVERT_ROUNDED(unsigned int, __double2uint, double, d2ui)
TERRACE_DEVICE_CONVERT_ROUNDED(long long, __double2ll, double, d2ll)
TERRACE_DEVICE_CONVERT_ROUNDED(unsigned long long, __double2ull, double, d2ull)
TERRACE_DEVICE_CONVERT_ROUNDED(float, __double2float, double, d2f)
TERRACE_DEVICE_CONVERT_ROUNDED(float, __int2float, int, i2f)
TERRACE_DEVICE_CONVERT_ROUNDED(float, __uint2float, unsigned int, ui2f)
TERRACE_DEVICE_CONVERT_ROUNDED(float, __ll2float, long long, ll2f)
TERRACE_DEVICE_CONVERT_ROUNDED(float, __ull2float, unsigned long long, ull2f)
TERRACE_DEVICE_CONVERT_ROUNDED(double, __ll2double, long long, ll2d)
TERRACE_DEVICE_CONVERT_ROUNDED(double, __ull2double, unsigned long long, ull2d)
TERRACE_DEVICE_CONVERT(double, __int2double_rn, int, i2d_rn)
TERRACE_DEVICE_CONVERT(double, __uint2double_rn, unsigned int, ui2d_rn)
#undef TERRACE_DEVICE_CONVERT_ROUNDED
#undef TERRACE_DEVICE_CONVERT

TERRACE_DEVICE_INLINE int __popc(unsigned int x) {
  return __builtin_popcount(x);
}
TERRACE_DEVICE_INLINE int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
TERRACE_DEVICE_INLINE int __clz(int x) {
  return x == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(x));
}
TERRACE_DEVICE_INLINE int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
TERRACE_DEVICE_INLINE int __ffs(int x) {
  return __builtin_ffs(x);
}
TERRACE_DEVICE_INLINE int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
TERRACE_DEVICE_INLINE unsigned int __brev(unsigned int x) {
  return __builtin_bitreverse32(x);
}
TERRACE_DEVICE_INLINE unsigned long long __brevll(unsigned long long x) {
  return __builtin_bitreverse64(x);
}
TERRACE_DEVICE_INLINE int __mul24(int x, int y) {
  return __nvvm_mul24_i(x, y);
}
TERRACE_DEVICE_INLINE unsigned int __umul24(unsigned int x, unsigned int y) {
  return static_cast<unsigned int>(__nvvm_mul24_ui(x, y));
}
TERRACE_DEVICE_INLINE int __mulhi(int x, int y) {
  return __nvvm_mulhi_i(x, y);
}
TERRACE_DEVICE_INLINE unsigned int __umulhi(unsigned int x, unsigned int y) {
  return __nvvm_mulhi_ui(x, y);
}
TERRACE_DEVICE_INLINE long long __mul64hi(long long x, long long y) {
  return __nvvm_mulhi_ll(x, y);
}
TERRACE_DEVICE_INLINE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return __nvvm_mulhi_ull(x, y);
}
TERRACE_DEVICE_INLINE unsigned int __sad(int x, int y, unsigned int sum) {
  return (x > y ? static_cast<unsigned int>(x) - static_cast<unsigned int>(y)
                : static_cast<unsigned int>(y) - static_cast<unsigned int>(x)) +
         sum;
}
TERRACE_DEVICE_INLINE unsigned int __usad(unsigned int x, unsigned int y, unsigned int sum) {
  return (x > y ? x - y : y - x) + sum;
}
/// Averages, rounded down and up.
TERRACE_DEVICE_INLINE int __hadd(int x, int y) {
  return static_cast<int>((static_cast<long long>(x) + y) >> 1);
}
TERRACE_DEVICE_INLINE int __rhadd(int x, int y) {
  return static_cast<int>((static_cast<long long>(x) + y + 1) >> 1);
}
TERRACE_DEVICE_INLINE unsigned int __uhadd(unsigned int x, unsigned int y) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(x) + y) >> 1);
}
TERRACE_DEVICE_INLINE unsigned int __urhadd(unsigned int x, unsigned int y) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(x) + y + 1) >> 1);
}
TERRACE_DEVICE_INLINE unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) {
  return static_cast<unsigned int>(__nvvm_prmt(x, y, selector));
}
TERRACE_DEVICE_INLINE unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31) >> 32);
}
TERRACE_DEVICE_INLINE unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}

// Sums of products of four bytes, or of two halves and two bytes, and a third number.
#define TERRACE_DEVICE_DOT(type, bytes, halves, ptx)                                             \
  TERRACE_DEVICE_INLINE type __dp4a(type x, type y, type sum) {                                  \
    type result;                                                                                 \
    asm("dp4a." ptx "." ptx " %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(y), "r"(sum));       \
    return result;                                                                               \
  }                                                                                              \
  TERRACE_DEVICE_INLINE type __dp4a(bytes x, bytes y, type sum) {                                \
    return __dp4a(__builtin_bit_cast(type, x), __builtin_bit_cast(type, y), sum);                \
  }                                                                                              \
  TERRACE_DEVICE_DOT2(__dp2a_lo, type, bytes, halves, "dp2a.lo." ptx "." ptx " %0, %1, %2, %3;") \
  TERRACE_DEVICE_DOT2(__dp2a_hi, type, bytes, halves, "dp2a.hi." ptx "." ptx " %0, %1, %2, %3;")
#define TERRACE_DEVICE_DOT2(name, type, bytes, halves, instruction)             \
  TERRACE_DEVICE_INLINE type name(type x, type y, type sum) {                   \
    type result;                                                                \
    asm(instruction : "=r"(result) : "r"(x), "r"(y), "r"(sum));                 \
    return result;                                                              \
  }                                                                             \
  TERRACE_DEVICE_INLINE type name(halves x, bytes y, type sum) {                \
    return name(__builtin_bit_cast(type, x), __builtin_bit_cast(type, y), sum); \
  }
TERRACE_DEVICE_DOT(int, char4, short2, "s32")
TERRACE_DEVICE_DOT(unsigned int, uchar4, ushort2, "u32")
#undef TERRACE_DEVICE_DOT2
#undef TERRACE_DEVICE_DOT

// `min` and `max`. Mixed signs compare without one, as CUDA has it.
#define TERRACE_DEVICE_MINMAX(result, first, second)                     \
  TERRACE_DEVICE_INLINE result min(first a, second b) {                  \
    const result x = static_cast<result>(a), y = static_cast<result>(b); \
    return y < x ? y : x;                                                \
  }                                                                      \
  TERRACE_DEVICE_INLINE result max(first a, second b) {                  \
    const result x = static_cast<result>(a), y = static_cast<result>(b); \
    return x < y ? y : x;                                                \
  }
TERRACE_DEVICE_MINMAX(int, int, int)
TERRACE_DEVICE_MINMAX(unsigned int, unsigned int, unsigned int)
TERRACE_DEVICE_MINMAX(unsigned int, int, unsigned int)
TERRACE_DEVICE_MINMAX(unsigned int, unsigned int, int)
TERRACE_DEVICE_MINMAX(long, long, long)
TERRACE_DEVICE_MINMAX(unsigned long, unsigned long, unsigned long)
TERRACE_DEVICE_MINMAX(unsigned long, long, unsigned long)
TERRACE_DEVICE_MINMAX(unsigned long, unsigned long, long)
TERRACE_DEVICE_MINMAX(long long, long long, long long)
TERRACE_DEVICE_MINMAX(unsigned long long, unsigned long long, unsigned long long)
TERRACE_DEVICE_MINMAX(unsigned long long, long long, unsigned long long)
TERRACE_DEVICE_MINMAX(unsigned long long, unsigned long long, long long)
#undef TERRACE_DEVICE_MINMAX
TERRACE_DEVICE_INLINE int abs(int x) {
  return x < 0 ? -x : x;
}
TERRACE_DEVICE_INLINE long abs(long x) {
  return x < 0 ? -x : x;
}
TERRACE_DEVICE_INLINE long long abs(long long x) {
  return x < 0 ? -x : x;
}
TERRACE_DEVICE_INLINE long labs(long x) {
  return x < 0 ? -x : x;
}
TERRACE_DEVICE_INLINE long long llabs(long long x) {
  return x < 0 ? -x : x;
}
