// A CUDA program that writes and reads an array through surface objects, and reads it as a texture.
// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_mini.h"
#include "expect.h"

enum { kInvalidValue = 1, kInvalidHandle = 400, kOfArray = 0, kOfLinearMemory = 2, kUnsigned = 1, kForSurfaces = 2 };

constexpr int kWidth = 8, kHeight = 4;

/// Thread (x, y) writes its number, and doubles it later.
__global__ void number_texels(unsigned long long surface) {
  const int x = threadIdx.x % kWidth, y = threadIdx.x / kWidth;
  asm volatile("sust.b.2d.b32.trap [%0, {%1, %2}], {%3};" ::"l"(surface), "r"(x * 4), "r"(y), "r"(threadIdx.x)
               : "memory");
}
__global__ void double_texels(unsigned long long from, unsigned long long to) {
  const int x = threadIdx.x % kWidth, y = threadIdx.x / kWidth;
  unsigned value;
  asm volatile("suld.b.2d.b32.zero {%0}, [%1, {%2, %3}];" : "=r"(value) : "l"(from), "r"(x * 4), "r"(y));
  asm volatile("sust.b.2d.b32.clamp [%0, {%1, %2}], {%3};" ::"l"(to), "r"(x * 4), "r"(y), "r"(2 * value) : "memory");
}
__global__ void read_texels(unsigned* to, unsigned long long texture) {
  unsigned a, b, c, d;
  asm volatile("tex.2d.v4.u32.s32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "l"(texture), "r"((int)threadIdx.x % kWidth), "r"((int)threadIdx.x / kWidth));
  to[threadIdx.x] = a;
}

static void* make_array(unsigned flags) {
  const cudaChannelFormatDesc words = cudaCreateChannelDesc(32, 0, 0, 0, kUnsigned);
  void* array = nullptr;
  OK(cudaMallocArray(&array, &words, kWidth, kHeight, flags));
  return array;
}
static cudaResourceDesc of(void* array) {
  cudaResourceDesc what{};
  what.resType = kOfArray;
  what.res.array.array = array;
  return what;
}

static void write_and_read() {
  void *one = make_array(kForSurfaces), *two = make_array(kForSurfaces);
  cudaResourceDesc what_one = of(one), what_two = of(two), back{};
  unsigned long long first = 0, second = 0, texture = 0;
  OK(cudaCreateSurfaceObject(&first, &what_one));
  OK(cudaCreateSurfaceObject(&second, &what_two));
  OK(cudaGetSurfaceObjectResourceDesc(&back, second));
  EXPECT(back.res.array.array == two && first != second);
  unsigned flags = 0;
  OK(cudaArrayGetInfo(nullptr, nullptr, &flags, one));
  EXPECT(flags == kForSurfaces);
  number_texels<<<1, kWidth * kHeight>>>(first);
  double_texels<<<1, kWidth * kHeight>>>(first, second);
  unsigned host[kWidth * kHeight], *device = nullptr;
  OK(cudaMemcpy2DFromArray(host, kWidth * 4, two, 0, 0, kWidth * 4, kHeight, cudaMemcpyDeviceToHost));
  for (unsigned i = 0; i < kWidth * kHeight; ++i) EXPECT(host[i] == 2 * i);
  cudaTextureDesc how{};
  OK(cudaCreateTextureObject(&texture, &what_one, &how, nullptr));
  OK(cudaMalloc((void**)&device, sizeof host));
  read_texels<<<1, kWidth * kHeight>>>(device, texture);
  OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
  for (unsigned i = 0; i < kWidth * kHeight; ++i) EXPECT(host[i] == i);
  OK(cudaFree(device));
  OK(cudaDestroyTextureObject(texture));
  OK(cudaDestroySurfaceObject(first));
  OK(cudaDestroySurfaceObject(second));
  REFUSED(cudaDestroySurfaceObject(second), kInvalidHandle);
  REFUSED(cudaGetSurfaceObjectResourceDesc(&back, second), kInvalidHandle);
  OK(cudaFreeArray(one));
  OK(cudaFreeArray(two));
}

static void refusals() {
  void* array = make_array(0);
  cudaResourceDesc what = of(array);
  unsigned long long surface = 0;
  REFUSED(cudaCreateSurfaceObject(&surface, &what), kInvalidValue);  // not made for surfaces
  OK(cudaFreeArray(array));
  REFUSED(cudaCreateSurfaceObject(&surface, &what), kInvalidHandle);
  what.resType = kOfLinearMemory;
  REFUSED(cudaCreateSurfaceObject(&surface, &what), kInvalidValue);
  REFUSED(cudaCreateSurfaceObject(nullptr, &what), kInvalidValue);
}

int main() {
  write_and_read();
  refusals();
  OK(cudaDeviceReset());
  write_and_read();
  printf("surfaces passed\n");
  return 0;
}
