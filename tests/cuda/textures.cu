// A CUDA program that makes arrays and texture objects, copies to and from arrays in every way, and reads textures in kernels.
// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_mini.h"
#include "expect.h"

enum { kInvalidValue = 1, kInvalidChannels = 20, kInvalidFilter = 26, kInvalidNorm = 27, kInvalidHandle = 400 };
enum { kNotSupported = 801 };
enum { kOfArray = 0, kOfMipmaps = 1, kOfLinearMemory = 2, kOfPitchedMemory = 3 };
enum { kSigned, kUnsigned, kFloat };
enum { kWrap, kClamp };

constexpr int kWidth = 8, kHeight = 4;

/// Thread (x, y) of a block reads at scale times the middle of its texel, plus a shift.
__global__ void read_floats(float* to, unsigned long long texture, float scale_x, float scale_y, float shift) {
  const int x = threadIdx.x % kWidth, y = threadIdx.x / kWidth;
  float a, b, c, d;
  asm volatile("tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
               : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
               : "l"(texture), "f"((x + 0.5f + shift) * scale_x), "f"((y + 0.5f) * scale_y));
  to[threadIdx.x] = a;
}
__global__ void fetch_words(unsigned* to, unsigned long long texture, int first) {
  unsigned a, b, c, d;
  asm volatile("tex.1d.v4.u32.s32 {%0, %1, %2, %3}, [%4, {%5}];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "l"(texture), "r"((int)threadIdx.x + first));
  to[threadIdx.x] = a + b;
}

static cudaTextureDesc reading(int outside, int filter, int normalized) {
  cudaTextureDesc how{};
  how.addressMode[0] = how.addressMode[1] = outside;
  how.filterMode = filter;
  how.normalizedCoords = normalized;
  return how;
}

static float value(int x, int y) {
  return 100.0f * y + x;
}

static void check_rows(unsigned long long texture, float scale_x, float scale_y, float shift, int by) {
  float *device = nullptr, host[kWidth * kHeight];
  OK(cudaMalloc((void**)&device, sizeof host));
  read_floats<<<1, kWidth * kHeight>>>(device, texture, scale_x, scale_y, shift);
  OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < kWidth * kHeight; ++i) EXPECT(host[i] == value((i % kWidth + by) % kWidth, i / kWidth));
  OK(cudaFree(device));
}

/// The copies that exist twice, as in calls.cu.
struct Calls {
  decltype(&cudaMemcpy2DToArrayAsync) rows_in;
  decltype(&cudaMemcpy2DFromArrayAsync) rows_out;
  decltype(&cudaMemcpyToArrayAsync) bytes_in;
  decltype(&cudaMemcpyFromArrayAsync) bytes_out;
  decltype(&cudaMemcpy2DToArray) rows_in_now;
  decltype(&cudaMemcpy2DFromArray) rows_out_now;
  decltype(&cudaMemcpyToArray) bytes_in_now;
  decltype(&cudaMemcpyFromArray) bytes_out_now;
  decltype(&cudaMemcpy2DArrayToArray) between;
};
#define CALLS(async, now)                                                                             \
  {cudaMemcpy2DToArrayAsync##async, cudaMemcpy2DFromArrayAsync##async, cudaMemcpyToArrayAsync##async, \
   cudaMemcpyFromArrayAsync##async, cudaMemcpy2DToArray##now,          cudaMemcpy2DFromArray##now,    \
   cudaMemcpyToArray##now,          cudaMemcpyFromArray##now,          cudaMemcpy2DArrayToArray##now}
static const Calls kOneDefault = CALLS(, ), kOnePerThread = CALLS(_ptsz, _ptds);

static void copies(const Calls& calls) {
  const size_t row = kWidth * sizeof(float), all = kHeight * row;
  float host[kHeight][kWidth], back[kHeight][kWidth];
  for (int i = 0; i < kWidth * kHeight; ++i) host[i / kWidth][i % kWidth] = value(i % kWidth, i / kWidth);
  const cudaChannelFormatDesc floats = cudaCreateChannelDesc(32, 0, 0, 0, kFloat);
  void *one = nullptr, *two = nullptr;
  OK(cudaMallocArray(&one, &floats, kWidth, kHeight, 0));
  OK(cudaMalloc3DArray(&two, &floats, {kWidth, kHeight, 0}, 0));
  OK(calls.rows_in_now(one, 0, 0, host, row, row, kHeight, cudaMemcpyHostToDevice));
  OK(calls.rows_out_now(back, row, one, 0, 0, row, kHeight, cudaMemcpyDeviceToHost));
  EXPECT(memcmp(host, back, all) == 0);
  OK(calls.between(two, 0, 0, one, 0, 0, row, kHeight, cudaMemcpyDeviceToDevice));
  memset(back, 0, sizeof back);
  OK(calls.bytes_out_now(back, two, 0, 0, all, cudaMemcpyDeviceToHost));
  EXPECT(memcmp(host, back, all) == 0);
  // A part that begins inside a row and goes on in the next.
  float part[6] = {1, 2, 3, 4, 5, 6}, got[6] = {};
  OK(calls.bytes_in_now(two, 5 * sizeof(float), 1, part, sizeof part, cudaMemcpyHostToDevice));
  OK(calls.bytes_out(got, two, 5 * sizeof(float), 1, sizeof got, cudaMemcpyDeviceToHost, 0));
  OK(cudaDeviceSynchronize());
  EXPECT(memcmp(part, got, sizeof got) == 0);
  OK(calls.bytes_in(two, 0, 0, host, all, cudaMemcpyHostToDevice, 0));
  OK(calls.rows_in(two, sizeof(float), 1, part, 2 * sizeof(float), 2 * sizeof(float), 3, cudaMemcpyHostToDevice, 0));
  OK(calls.rows_out(back, row, two, 0, 0, row, kHeight, cudaMemcpyDeviceToHost, 0));
  OK(cudaDeviceSynchronize());
  EXPECT(back[0][1] == 1 && back[1][0] == 100 && back[1][1] == 1 && back[1][2] == 2 && back[3][2] == 6);
  cudaMemcpy3DParms box{};
  box.srcArray = one;
  box.dstArray = two;
  box.extent = {kWidth, kHeight, 1};
  box.kind = cudaMemcpyDeviceToDevice;
  OK(cudaMemcpy3D(&box));
  box.srcArray = two;
  box.dstArray = nullptr;
  box.srcPos = {2, 1, 0};
  box.extent = {3, 2, 1};
  box.dstPtr = {got, 3 * sizeof(float), 3, 2};
  box.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&box));
  EXPECT(got[0] == value(2, 1) && got[2] == value(4, 1) && got[5] == value(4, 2));
  box = {};
  box.srcPtr = {part, 3 * sizeof(float), 3, 2};
  box.dstArray = two;
  box.extent = {3, 2, 1};
  box.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&box));
  OK(calls.bytes_out_now(got, two, 0, 1, 12, cudaMemcpyDeviceToHost));
  EXPECT(got[0] == 4 && got[2] == 6);
  REFUSED(calls.rows_in_now(one, 4, 0, host, row, row, 1, cudaMemcpyHostToDevice), kInvalidValue);
  REFUSED(calls.rows_in_now(host, 0, 0, host, row, row, 1, cudaMemcpyHostToDevice), kInvalidHandle);
  REFUSED(calls.bytes_in_now(one, 0, 0, host, all + 4, cudaMemcpyHostToDevice), kInvalidValue);
  OK(cudaFreeArray(one));
  OK(cudaFreeArray(two));
  REFUSED(cudaFreeArray(one), kInvalidHandle);
}

static void array_textures() {
  float host[kHeight][kWidth];
  for (int i = 0; i < kWidth * kHeight; ++i) host[i / kWidth][i % kWidth] = value(i % kWidth, i / kWidth);
  const cudaChannelFormatDesc floats = cudaCreateChannelDesc(32, 0, 0, 0, kFloat);
  void* array = nullptr;
  OK(cudaMallocArray(&array, &floats, kWidth, kHeight, 0));
  OK(cudaMemcpy2DToArray(array, 0, 0, host, sizeof host[0], sizeof host[0], kHeight, cudaMemcpyHostToDevice));
  cudaChannelFormatDesc channels{};
  cudaExtent extent{};
  unsigned flags = 9;
  OK(cudaArrayGetInfo(&channels, &extent, &flags, array));
  EXPECT(channels.x == 32 && channels.f == kFloat && extent.width == kWidth && extent.height == kHeight && flags == 0);
  OK(cudaGetChannelDesc(&channels, array));
  EXPECT(channels.x == 32 && channels.y == 0);
  cudaResourceDesc what{};
  what.resType = kOfArray;
  what.res.array.array = array;
  unsigned long long texture = 0;
  cudaTextureDesc how = reading(kClamp, 0, 0);
  OK(cudaCreateTextureObject(&texture, &what, &how, nullptr));
  check_rows(texture, 1, 1, 0, 0);
  cudaResourceDesc what_back{};
  cudaTextureDesc how_back{};
  OK(cudaGetTextureObjectResourceDesc(&what_back, texture));
  OK(cudaGetTextureObjectTextureDesc(&how_back, texture));
  EXPECT(what_back.res.array.array == array && how_back.addressMode[1] == kClamp);
  OK(cudaDestroyTextureObject(texture));
  REFUSED(cudaDestroyTextureObject(texture), kInvalidHandle);
  REFUSED(cudaGetTextureObjectTextureDesc(&how_back, texture), kInvalidHandle);
  // Normalized and filtered: the middles of texels are the texels, and three widths to the right are they again.
  how = reading(kWrap, 1, 1);
  OK(cudaCreateTextureObject(&texture, &what, &how, nullptr));
  check_rows(texture, 1.0f / kWidth, 1.0f / kHeight, 0, 0);
  check_rows(texture, 1.0f / kWidth, 1.0f / kHeight, 3, 3);
  check_rows(texture, 1.0f / kWidth, 1.0f / kHeight, 3 * kWidth, 0);
  OK(cudaDestroyTextureObject(texture));
  how.sRGB = 1;
  REFUSED(cudaCreateTextureObject(&texture, &what, &how, nullptr), kNotSupported);
  what.res.array.array = host;
  how = reading(kClamp, 0, 0);
  REFUSED(cudaCreateTextureObject(&texture, &what, &how, nullptr), kInvalidHandle);
  what.resType = kOfMipmaps;
  REFUSED(cudaCreateTextureObject(&texture, &what, &how, nullptr), kNotSupported);
  OK(cudaFreeArray(array));
  const cudaChannelFormatDesc uneven = cudaCreateChannelDesc(8, 16, 0, 0, kUnsigned);
  REFUSED(cudaMallocArray(&array, &uneven, 4, 4, 0), kInvalidChannels);
  REFUSED(cudaMallocArray(&array, &floats, 131073, 0, 0), kInvalidValue);
  REFUSED(cudaMallocArray(&array, &floats, 1, 65537, 0), kInvalidValue);
  REFUSED(cudaMallocArray(&array, &floats, 32769, 0, 2), kInvalidValue);
  OK(cudaMallocArray(&array, &floats, 131072, 0, 0));
  OK(cudaFreeArray(array));
  size_t most = 0;
  OK(cudaDeviceGetTexture1DLinearMaxWidth(&most, &floats, 0));
  EXPECT(most >= 1 << 20);
}

static void memory_textures() {
  // Pitched memory.
  float host[kHeight][kWidth];
  for (int i = 0; i < kWidth * kHeight; ++i) host[i / kWidth][i % kWidth] = value(i % kWidth, i / kWidth);
  void* device = nullptr;
  size_t pitch = 0;
  OK(cudaMallocPitch(&device, &pitch, sizeof host[0], kHeight));
  OK(cudaMemcpy2D(device, pitch, host, sizeof host[0], sizeof host[0], kHeight, cudaMemcpyHostToDevice));
  cudaResourceDesc what{};
  what.resType = kOfPitchedMemory;
  what.res.pitch2D = {device, cudaCreateChannelDesc(32, 0, 0, 0, kFloat), kWidth, kHeight, pitch};
  unsigned long long texture = 0;
  cudaTextureDesc how = reading(kClamp, 0, 0);
  OK(cudaCreateTextureObject(&texture, &what, &how, nullptr));
  check_rows(texture, 1, 1, 0, 0);
  OK(cudaDestroyTextureObject(texture));
  what.res.pitch2D.height = 1000;  // beyond the allocation
  REFUSED(cudaCreateTextureObject(&texture, &what, &how, nullptr), kInvalidValue);
  OK(cudaFree(device));
  // Linear memory of pairs of 16 bits, by index; outside is zero.
  unsigned short pairs[32][2];
  for (int i = 0; i < 32; ++i) pairs[i][0] = (unsigned short)(i + 1), pairs[i][1] = (unsigned short)(1000 * (i + 1));
  unsigned *sums = nullptr, got[32];
  OK(cudaMalloc(&device, sizeof pairs));
  OK(cudaMalloc((void**)&sums, sizeof got));
  OK(cudaMemcpy(device, pairs, sizeof pairs, cudaMemcpyHostToDevice));
  what = {};
  what.resType = kOfLinearMemory;
  what.res.linear = {device, cudaCreateChannelDesc(16, 16, 0, 0, kUnsigned), sizeof pairs};
  OK(cudaCreateTextureObject(&texture, &what, &how, nullptr));
  fetch_words<<<1, 32>>>(sums, texture, -1);
  OK(cudaMemcpy(got, sums, sizeof got, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) EXPECT(got[i] == 1001u * i);
  OK(cudaDestroyTextureObject(texture));
  how.filterMode = 1;
  REFUSED(cudaCreateTextureObject(&texture, &what, &how, nullptr), kInvalidFilter);
  how = reading(kClamp, 0, 0);
  how.readMode = 1;
  what.res.linear.desc = cudaCreateChannelDesc(32, 0, 0, 0, kSigned);
  REFUSED(cudaCreateTextureObject(&texture, &what, &how, nullptr), kInvalidNorm);
  OK(cudaFree(device));
  OK(cudaFree(sums));
}

int main() {
  copies(kOneDefault);
  copies(kOnePerThread);
  array_textures();
  memory_textures();
  OK(cudaDeviceReset());
  array_textures();
  printf("textures passed\n");
  return 0;
}
