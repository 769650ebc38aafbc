// DXT1 compression of 4 x 4 pixels a block of 64 threads. The colours are sorted along their principal axis; then every
// way to cut the sorted list into groups of one palette entry each is tried: the best end points by least squares,
// rounded to 5, 6 and 5 bits, and the error that is left. The best of all threads is written.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr u32 kThreads = 64;
constexpr u32 kPixels = 16;
constexpr float kWorst = 3.0e38f;

/// Of a palette entry: the weight of the first end point; and squares and product of both weights, in ninths (with three
/// colours in quarters), as whole numbers in three bytes: first squared, second squared, product.
struct alignas(8) Entry {
  float weight;
  u32 products;
};
__constant__ const Entry kFour[4] = {
    {1.0f, 0x090000}, {0.0f, 0x000900}, {2.0f / 3.0f, 0x040102}, {1.0f / 3.0f, 0x010402}};
__constant__ const Entry kThree[4] = {{1.0f, 0x040000}, {0.0f, 0x000400}, {0.5f, 0x010101}, {0.0f, 0}};

struct Colour {
  float r, g, b;
};

__device__ __forceinline__ float clamp(float x) {
  return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x;
}

/// The nearest of so many steps, and which it is.
__device__ __forceinline__ float to_step(float x, float steps, u32& number) {
  number = static_cast<u32>(clamp(x) * steps + 0.5f);
  return static_cast<float>(number) / steps;
}

/// The error, less what all choices have in common, of one component between its rounded end points.
__device__ __forceinline__ float error_of(float a, float b, float aa, float bb, float ab, float ax, float bx) {
  return a * a * aa + b * b * bb + 2.0f * (a * b * ab - a * ax - b * bx);
}

struct Choice {
  float error;
  u32 first, second, cut, three;
};

/// Tries one cut with a palette of four colours, or of three; `sum` is that of all colours.
__device__ __forceinline__ void try_cut(Choice& best, u32 cut, u32 three, const Colour* sorted, const Colour& sum) {
  const Entry* palette = three ? kThree : kFour;
  Colour ax = {0.0f, 0.0f, 0.0f};
  u32 products = 0, left = cut;
#pragma unroll 1
  for (const Colour *at = sorted, *end = sorted + kPixels; at != end; ++at) {
    const Entry entry = palette[left & 3];
    left >>= 2;
    ax.r += entry.weight * at->r;
    ax.g += entry.weight * at->g;
    ax.b += entry.weight * at->b;
    products += entry.products;
  }
  const float unit = three ? 1.0f / 4.0f : 1.0f / 9.0f;
  const float aa = static_cast<float>(products >> 16) * unit;
  const float bb = static_cast<float>(products >> 8 & 255) * unit;
  const float ab = static_cast<float>(products & 255) * unit;
  const float determinant = aa * bb - ab * ab;
  if (determinant < 1.0e-3f) return;  // all in one group: no end points to find
  const float factor = 1.0f / determinant;
  const Colour bx = {sum.r - ax.r, sum.g - ax.g, sum.b - ax.b};
  u32 r0, g0, b0, r1, g1, b1;
  const Colour a = {to_step((ax.r * bb - bx.r * ab) * factor, 31.0f, r0),
                    to_step((ax.g * bb - bx.g * ab) * factor, 63.0f, g0),
                    to_step((ax.b * bb - bx.b * ab) * factor, 31.0f, b0)};
  const Colour b = {to_step((bx.r * aa - ax.r * ab) * factor, 31.0f, r1),
                    to_step((bx.g * aa - ax.g * ab) * factor, 63.0f, g1),
                    to_step((bx.b * aa - ax.b * ab) * factor, 31.0f, b1)};
  const float error = error_of(a.r, b.r, aa, bb, ab, ax.r, bx.r) + error_of(a.g, b.g, aa, bb, ab, ax.g, bx.g) +
                      error_of(a.b, b.b, aa, bb, ab, ax.b, bx.b);
  if (error < best.error) best = {error, r0 << 11 | g0 << 5 | b0, r1 << 11 | g1 << 5 | b1, cut, three};
}

/// The direction in which the colours differ most, by power iteration on their covariance.
__device__ __forceinline__ Colour principal_axis(const Colour* colours, const Colour& sum) {
  float rr = 0.0f, rg = 0.0f, rb = 0.0f, gg = 0.0f, gb = 0.0f, bb = 0.0f;
#pragma unroll 1
  for (u32 i = 0; i < kPixels; ++i) {
    const float r = colours[i].r - sum.r / 16.0f, g = colours[i].g - sum.g / 16.0f, b = colours[i].b - sum.b / 16.0f;
    rr += r * r;
    rg += r * g;
    rb += r * b;
    gg += g * g;
    gb += g * b;
    bb += b * b;
  }
  Colour axis = {1.0f, 1.0f, 1.0f};
#pragma unroll 1
  for (u32 i = 0; i < 8; ++i) {
    const float r = axis.r * rr + axis.g * rg + axis.b * rb;
    const float g = axis.r * rg + axis.g * gg + axis.b * gb;
    const float b = axis.r * rb + axis.g * gb + axis.b * bb;
    float most = absolute(r) > absolute(g) ? absolute(r) : absolute(g);
    most = absolute(b) > most ? absolute(b) : most;
    if (most == 0.0f) break;  // one colour everywhere
    axis = {r / most, g / most, b / most};
  }
  return axis;
}

/// What the decoder expects: with four colours the first end point is the greater one, with three it is not.
__device__ __forceinline__ u64 encoded(Choice choice, const u32* places) {
  u32 cut = choice.cut;
  if (choice.three ? choice.first > choice.second : choice.first < choice.second) {
    const u32 other = choice.first;
    choice.first = choice.second;
    choice.second = other;
    cut ^= choice.three ? ~cut >> 1 & 0x55555555u : 0x55555555u;
  }
  if (choice.first == choice.second) cut = 0;
  u32 entries = 0;
#pragma unroll 1
  for (u32 i = 0; i < kPixels; ++i) entries |= (cut >> (2 * i) & 3) << (2 * places[i]);
  return static_cast<u64>(entries) << 32 | choice.second << 16 | choice.first;
}
}  // namespace

extern "C" __global__ void dxtc_compress(const u32* image, const u32* cuts, u64* blocks, u32 width, u32 four_cuts,
                                         u32 three_cuts) {
  __shared__ Colour colours[kPixels], sorted[kPixels];
  __shared__ float positions[kPixels], errors[kThreads];
  __shared__ u32 places[kPixels], winners[kThreads];
  const u32 t = threadIdx.x;
  const u32 row = width / 4;
  if (t < kPixels) {
    const u32 pixel = image[(blockIdx.x / row * 4 + t / 4) * width + blockIdx.x % row * 4 + t % 4];
    colours[t] = {static_cast<float>(pixel & 255) / 255.0f, static_cast<float>(pixel >> 8 & 255) / 255.0f,
                  static_cast<float>(pixel >> 16 & 255) / 255.0f};
  }
  __syncthreads();

  Colour sum = {0.0f, 0.0f, 0.0f};
#pragma unroll 1
  for (u32 i = 0; i < kPixels; ++i) {
    sum.r += colours[i].r;
    sum.g += colours[i].g;
    sum.b += colours[i].b;
  }
  const Colour axis = principal_axis(colours, sum);
  if (t < kPixels) positions[t] = colours[t].r * axis.r + colours[t].g * axis.g + colours[t].b * axis.b;
  __syncthreads();
  if (t < kPixels) {
    const float own = positions[t];
    u32 rank = 0;
#pragma unroll 1
    for (u32 i = 0; i < kPixels; ++i) rank += positions[i] < own || (positions[i] == own && i < t) ? 1 : 0;
    sorted[rank] = colours[t];
    places[rank] = t;
  }
  __syncthreads();

  Choice best = {kWorst, 0, 0, 0, 0};
#pragma unroll 1
  for (u32 i = t; i < four_cuts; i += kThreads) try_cut(best, cuts[i], 0, sorted, sum);
#pragma unroll 1
  for (u32 i = t; i < three_cuts; i += kThreads) try_cut(best, cuts[i], 1, sorted, sum);
  errors[t] = best.error;
  winners[t] = t;
#pragma unroll 1
  for (u32 span = kThreads / 2; span > 0; span /= 2) {
    __syncthreads();
    if (t < span && errors[t + span] < errors[t]) {
      errors[t] = errors[t + span];
      winners[t] = winners[t + span];
    }
  }
  __syncthreads();
  if (t == winners[0]) blocks[blockIdx.x] = encoded(best, places);
}
