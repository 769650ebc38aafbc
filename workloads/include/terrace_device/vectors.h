// CUDA's short vectors, their make_ functions, and dim3. Part of terrace_device.h, for clang.
// SPDX-License-Identifier: MIT
#pragma once

#define TERRACE_DEVICE_VECTOR1(name, type)               \
  struct name##1 {                                       \
    type x;                                              \
  };                                                     \
  TERRACE_DEVICE_INLINE name##1 make_##name##1(type x) { \
    return {x};                                          \
  }
// Twos and fours are aligned to their size, up to 16 bytes, so that one instruction moves them.
#define TERRACE_DEVICE_VECTOR2(name, type)                       \
  struct __attribute__((aligned(2 * sizeof(type)))) name##2 {    \
    type x, y;                                                   \
  };                                                             \
  TERRACE_DEVICE_INLINE name##2 make_##name##2(type x, type y) { \
    return {x, y};                                               \
  }
#define TERRACE_DEVICE_VECTOR3(name, type)                               \
  struct name##3 {                                                       \
    type x, y, z;                                                        \
  };                                                                     \
  TERRACE_DEVICE_INLINE name##3 make_##name##3(type x, type y, type z) { \
    return {x, y, z};                                                    \
  }
#define TERRACE_DEVICE_VECTOR4(name, type)                                                 \
  struct __attribute__((aligned(4 * sizeof(type) > 16 ? 16 : 4 * sizeof(type)))) name##4 { \
    type x, y, z, w;                                                                       \
  };                                                                                       \
  TERRACE_DEVICE_INLINE name##4 make_##name##4(type x, type y, type z, type w) {           \
    return {x, y, z, w};                                                                   \
  }
#define TERRACE_DEVICE_VECTORS(name, type) \
  TERRACE_DEVICE_VECTOR1(name, type)       \
  TERRACE_DEVICE_VECTOR2(name, type)       \
  TERRACE_DEVICE_VECTOR3(name, type)       \
  TERRACE_DEVICE_VECTOR4(name, type)

TERRACE_DEVICE_VECTORS(char, signed char)
TERRACE_DEVICE_VECTORS(uchar, unsigned char)
TERRACE_DEVICE_VECTORS(short, short)
TERRACE_DEVICE_VECTORS(ushort, unsigned short)
TERRACE_DEVICE_VECTORS(int, int)
TERRACE_DEVICE_VECTORS(uint, unsigned int)
TERRACE_DEVICE_VECTORS(long, long)
TERRACE_DEVICE_VECTORS(ulong, unsigned long)
TERRACE_DEVICE_VECTORS(longlong, long long)
TERRACE_DEVICE_VECTORS(ulonglong, unsigned long long)
TERRACE_DEVICE_VECTORS(float, float)
TERRACE_DEVICE_VECTORS(double, double)

#undef TERRACE_DEVICE_VECTORS
#undef TERRACE_DEVICE_VECTOR4
#undef TERRACE_DEVICE_VECTOR3
#undef TERRACE_DEVICE_VECTOR2
#undef TERRACE_DEVICE_VECTOR1

/// The size of a grid or a block: what is left out is 1. Host code uses it, too.
struct dim3 {
  unsigned int x, y, z;
  __host__ __device__ constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
  __host__ __device__ constexpr dim3(uint3 size) : x(size.x), y(size.y), z(size.z) {}
  __host__ __device__ constexpr operator uint3() const { return {x, y, z}; }
};
