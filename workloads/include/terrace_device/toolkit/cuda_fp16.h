// Half precision: the compiler's own type, whose arithmetic is the machine's.
// SPDX-License-Identifier: MIT
#pragma once

#include "cuda_runtime.h"

using __half = _Float16;
using half = __half;
typedef _Float16 __half2 __attribute__((ext_vector_type(2)));
using half2 = __half2;

TERRACE_DEVICE_INLINE __half __float2half(float x) {
  return static_cast<__half>(x);
}
TERRACE_DEVICE_INLINE __half __float2half_rn(float x) {
  return static_cast<__half>(x);
}
TERRACE_DEVICE_INLINE float __half2float(__half x) {
  return static_cast<float>(x);
}
TERRACE_DEVICE_INLINE __half __int2half_rn(int x) {
  return static_cast<__half>(x);
}
TERRACE_DEVICE_INLINE int __half2int_rz(__half x) {
  return static_cast<int>(x);
}
TERRACE_DEVICE_INLINE __half2 __float2half2_rn(float x) {
  return __half2(static_cast<__half>(x));
}
TERRACE_DEVICE_INLINE __half2 __floats2half2_rn(float x, float y) {
  return {static_cast<__half>(x), static_cast<__half>(y)};
}
TERRACE_DEVICE_INLINE __half2 __halves2half2(__half x, __half y) {
  return {x, y};
}
TERRACE_DEVICE_INLINE __half2 __half2half2(__half x) {
  return __half2(x);
}
TERRACE_DEVICE_INLINE __half __low2half(__half2 x) {
  return x.x;
}
TERRACE_DEVICE_INLINE __half __high2half(__half2 x) {
  return x.y;
}
TERRACE_DEVICE_INLINE float __low2float(__half2 x) {
  return static_cast<float>(x.x);
}
TERRACE_DEVICE_INLINE float __high2float(__half2 x) {
  return static_cast<float>(x.y);
}
TERRACE_DEVICE_INLINE float2 __half22float2(__half2 x) {
  return {static_cast<float>(x.x), static_cast<float>(x.y)};
}

#define TERRACE_DEVICE_HALF(name, operation)                    \
  TERRACE_DEVICE_INLINE __half name(__half x, __half y) {       \
    return x operation y;                                       \
  }                                                             \
  TERRACE_DEVICE_INLINE __half2 name##2(__half2 x, __half2 y) { \
    return x operation y;                                       \
  }
TERRACE_DEVICE_HALF(__hadd, +)
TERRACE_DEVICE_HALF(__hsub, -)
TERRACE_DEVICE_HALF(__hmul, *)
#undef TERRACE_DEVICE_HALF
TERRACE_DEVICE_INLINE __half __hdiv(__half x, __half y) {
  return x / y;
}
TERRACE_DEVICE_INLINE __half __hfma(__half x, __half y, __half z) {
  return x * y + z;  // contracted
}
TERRACE_DEVICE_INLINE __half2 __hfma2(__half2 x, __half2 y, __half2 z) {
  return x * y + z;
}
TERRACE_DEVICE_INLINE __half __hneg(__half x) {
  return -x;
}
TERRACE_DEVICE_INLINE bool __hlt(__half x, __half y) {
  return x < y;
}
TERRACE_DEVICE_INLINE bool __hgt(__half x, __half y) {
  return x > y;
}
TERRACE_DEVICE_INLINE bool __heq(__half x, __half y) {
  return x == y;
}
TERRACE_DEVICE_INLINE __half __hmax(__half x, __half y) {
  return x < y ? y : x;
}
TERRACE_DEVICE_INLINE __half __hmin(__half x, __half y) {
  return y < x ? y : x;
}
