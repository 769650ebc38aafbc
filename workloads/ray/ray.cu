// A ray tracer in the manner of Whitted: a plane and three spheres, all of them mirrors to a part, one light with
// shadows. One thread per pixel; the colours along a ray are kept on a stack in local memory and added from the back.
// SPDX-License-Identifier: MIT
#include "terrace_device.h"

namespace {
constexpr int kSpheres = 3, kBounces = 5;
constexpr float kMirror = 0.8f, kAmbient = 0.05f, kDiffuse = 0.3f, kShine = 50.0f;
constexpr float kLightX = 10.0f, kLightY = 10.0f, kLightZ = 10.0f;
constexpr float kNear = 1e-3f;   // a ray does not meet what it starts from
constexpr float kFar = 1000.0f;  // where the plane ends, so that no ray along the horizon has to be decided
constexpr int kNothing = -2, kPlane = -1;

struct Vector {
  float x, y, z;
};
__device__ __forceinline__ Vector operator+(Vector a, Vector b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
__device__ __forceinline__ Vector operator-(Vector a, Vector b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
__device__ __forceinline__ Vector operator*(float f, Vector a) {
  return {f * a.x, f * a.y, f * a.z};
}
__device__ __forceinline__ float dot(Vector a, Vector b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
__device__ __forceinline__ Vector unit(Vector a) {
  return fast_rsqrt(dot(a, a)) * a;
}

}  // namespace

struct Sphere {
  float x, y, z, radius;
  float red, green, blue, unused;
};
struct Scene {
  Sphere spheres[kSpheres];
  float height, red, green, blue;  // of the plane
};
__constant__ Scene ray_scene;

namespace {

/// What the ray meets first, and how far away.
__device__ __forceinline__ int first_hit(Vector from, Vector along, float& distance) {
  int hit = kNothing;
  distance = kFar;
  const float down = fast_divide(ray_scene.height - from.y, along.y);
  if (down > kNear && down < kFar) {
    distance = down;
    hit = kPlane;
  }
#pragma unroll 1
  for (int i = 0; i < kSpheres; ++i) {
    const Sphere& sphere = ray_scene.spheres[i];
    const Vector offset = {from.x - sphere.x, from.y - sphere.y, from.z - sphere.z};
    const float half = dot(offset, along);
    const float square = half * half - dot(offset, offset) + sphere.radius * sphere.radius;
    if (square <= 0.0f) continue;
    const float there = -half - fast_sqrt(square);
    if (there > kNear && there < distance) {
      distance = there;
      hit = i;
    }
  }
  return hit;
}

__device__ __forceinline__ float4 shade(Vector point, Vector normal, Vector seen, float4 colour) {
  const Vector light = unit(Vector{kLightX, kLightY, kLightZ} - point);
  float factor = kAmbient, gloss = 0.0f, distance;
  const float facing = dot(normal, light);
  if (facing > 0.0f && first_hit(point, light, distance) == kNothing) {
    factor += kDiffuse * facing;
    const float shine = dot(light - 2.0f * facing * normal, seen);  // the light's mirror image against the view
    if (shine > 0.0f) gloss = fast_exp2(kShine * fast_log2(shine));
  }
  return {factor * colour.x + gloss, factor * colour.y + gloss, factor * colour.z + gloss, 0.0f};
}

__device__ __forceinline__ u32 level(float value) {
  return static_cast<u32>(255.0f * (value < 0.0f ? 0.0f : value > 1.0f ? 1.0f : value));
}

}  // namespace

extern "C" __global__ void trace(volatile u32* pixels, u32 width, u32 height) {
  const u32 x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const u32 at = y * width + x;
  pixels[at] = 0;

  const float per_half = fast_divide(2.0f, static_cast<float>(height));
  Vector from = {0.0f, 1.0f, 8.0f};
  Vector along =
      unit({per_half * (static_cast<float>(x) + 0.5f) - static_cast<float>(width) / static_cast<float>(height),
            1.0f - per_half * (static_cast<float>(y) + 0.5f), -2.0f});
  float4 stack[kBounces];
  int depth = 0;
#pragma unroll 1
  while (depth < kBounces) {
    float distance;
    const int hit = first_hit(from, along, distance);
    if (hit == kNothing) {
      const float sky = 0.1f + 0.1f * (along.y > 0.0f ? along.y : 0.0f);
      stack[depth++] = {0.5f * sky, 0.7f * sky, sky, 0.0f};
      break;
    }
    const Vector point = from + distance * along;
    Vector normal = {0.0f, 1.0f, 0.0f};
    float4 colour = {ray_scene.red, ray_scene.green, ray_scene.blue, 0.0f};
    if (hit != kPlane) {
      const Sphere& sphere = ray_scene.spheres[hit];
      normal = fast_divide(1.0f, sphere.radius) * (point - Vector{sphere.x, sphere.y, sphere.z});
      colour = {sphere.red, sphere.green, sphere.blue, 0.0f};
    }
    stack[depth++] = shade(point, normal, along, colour);
    from = point;
    along = along - 2.0f * dot(normal, along) * normal;
  }
  float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 1
  while (depth-- > 0) {
    const float4 own = stack[depth];
    sum = {own.x + kMirror * sum.x, own.y + kMirror * sum.y, own.z + kMirror * sum.z, 0.0f};
  }
  pixels[at] = pixels[at] + (level(sum.x) | level(sum.y) << 8 | level(sum.z) << 16 | 0xff000000u);
}
