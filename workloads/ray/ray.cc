// RAY: a ray tracer with mirrors and shadows. Divergent branches over hardly any memory: three accesses a pixel, and a
// small stack in local memory. Variants: mask and dws (256 x 256).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>

#include "frontend/workload.h"
#include "support/inputs.h"

namespace terrace {
namespace {

// As ray.cu has them.
constexpr u32 kWidth = 16, kHeight = 8;
constexpr u32 kSpheres = 3, kBounces = 5;
constexpr double kMirror = 0.8, kAmbient = 0.05, kDiffuse = 0.3;
constexpr double kNear = 1e-3, kFar = 1000;
constexpr i32 kNothing = -2, kPlane = -1;

constexpr i32 kTolerance = 2;  // grey levels
constexpr u64 kOneWrongIn = 100;

struct Sphere {
  float x, y, z, radius;
  float red, green, blue, unused;
};
struct Scene {
  Sphere spheres[kSpheres];
  float height, red, green, blue;
};

struct Vector {
  double x, y, z;
  friend Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend Vector operator*(double f, Vector a) { return {f * a.x, f * a.y, f * a.z}; }
};
double dot(Vector a, Vector b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
Vector unit(Vector a) {
  return 1 / std::sqrt(dot(a, a)) * a;
}

/// x to the power of 50.
double shine_of(double x) {
  const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4, x16 = x8 * x8;
  return x16 * x16 * x16 * x2;
}

class Tracer {
 public:
  Tracer(const Scene& scene, u32 width, u32 height) : scene_(scene), width_(width), height_(height) {}

  /// Red, green and blue of a pixel, from 0 to 255.
  std::array<i32, 3> pixel(u32 x, u32 y) const {
    Vector from{0, 1, 8};
    Vector along =
        unit({2 * (x + 0.5) / height_ - static_cast<double>(width_) / height_, 1 - 2 * (y + 0.5) / height_, -2});
    Vector sum{0, 0, 0};
    double weight = 1;
    for (u32 bounce = 0; bounce < kBounces; ++bounce, weight *= kMirror) {
      double distance;
      const i32 hit = first_hit(from, along, distance);
      if (hit == kNothing) {
        const double sky = 0.1 + 0.1 * std::max(0.0, along.y);
        sum = sum + weight * Vector{0.5 * sky, 0.7 * sky, sky};
        break;
      }
      const Vector point = from + distance * along;
      Vector normal{0, 1, 0}, colour{scene_.red, scene_.green, scene_.blue};
      if (hit != kPlane) {
        const Sphere& sphere = scene_.spheres[hit];
        normal = 1 / double{sphere.radius} * (point - Vector{sphere.x, sphere.y, sphere.z});
        colour = {sphere.red, sphere.green, sphere.blue};
      }
      sum = sum + weight * shade(point, normal, along, colour);
      from = point;
      along = along - 2 * dot(normal, along) * normal;
    }
    const auto level = [](double value) { return static_cast<i32>(255 * std::clamp(value, 0.0, 1.0)); };
    return {level(sum.x), level(sum.y), level(sum.z)};
  }

 private:
  i32 first_hit(Vector from, Vector along, double& distance) const {
    i32 hit = kNothing;
    distance = kFar;
    const double down = (double{scene_.height} - from.y) / along.y;
    if (down > kNear && down < kFar) distance = down, hit = kPlane;
    for (u32 i = 0; i < kSpheres; ++i) {
      const Sphere& sphere = scene_.spheres[i];
      const Vector offset = from - Vector{sphere.x, sphere.y, sphere.z};
      const double half = dot(offset, along);
      const double square = half * half - dot(offset, offset) + double{sphere.radius} * double{sphere.radius};
      if (square <= 0) continue;
      const double there = -half - std::sqrt(square);
      if (there > kNear && there < distance) distance = there, hit = static_cast<i32>(i);
    }
    return hit;
  }

  Vector shade(Vector point, Vector normal, Vector seen, Vector colour) const {
    const Vector light = unit(Vector{10, 10, 10} - point);
    double factor = kAmbient, gloss = 0, distance;
    const double facing = dot(normal, light);
    if (facing > 0 && first_hit(point, light, distance) == kNothing) {
      factor += kDiffuse * facing;
      gloss = shine_of(std::max(0.0, dot(light - 2 * facing * normal, seen)));
    }
    return factor * colour + gloss * Vector{1, 1, 1};
  }

  const Scene& scene_;
  u32 width_, height_;
};

class RayTracer final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 width = 256, height = 256;

    void describe(Fields& v) override {
      v("width", width, in(1, 1 << 14), "pixels in a row");
      v("height", height, in(1, 1 << 14), "rows of the picture");
      WorkloadParams::describe(v);
    }
    u64 pixels() const { return u64{width} * height; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    if (size == InputSize::kMini) p.width = p.height = 16;
    if (size == InputSize::kTiny) p.width = p.height = 96;
    if (size == InputSize::kSmall) p.iters = 8;
  }
  static u64 footprint_bytes(const Params& p) { return p.pixels() * sizeof(u32); }

  explicit RayTracer(const Params& params) : p_(params) {}

  void allocate(GuestMemory& memory) override { pixels_ = Buffer<u32>(memory, "pixels", p_.pixels()); }

  void fill(GuestMemory& memory) override {
    fill_with(memory, pixels_, 0u);
    draw_scene();
  }

  u64 launches() const override { return p_.iters; }

  Launch launch(GuestMemory& memory, u64) override {
    write_module_variable(memory, "ray_scene", std::as_bytes(std::span(&scene_, 1)));
    Launch trace = sliced_launch("trace", {blocks_of(p_.width, kWidth), blocks_of(p_.height, kHeight)},
                                 {kWidth, kHeight}, p_.slice);
    trace.argument(pixels_).argument(p_.width).argument(p_.height);
    launched_blocks_ = trace.blocks();
    return trace;
  }
  void archive_host(Archive& a) override { a(launched_blocks_); }

  /// At the edges of things a ray may go either way, so that one pixel in a hundred may be wrong.
  CheckResult check(const GuestMemory& memory) const override {
    const Tracer tracer(scene_, p_.width, p_.height);
    const auto got = pixels_.read(memory);
    u64 compared = 0, wrong = 0, lit = 0;
    for (u32 y = 0; y < p_.height; ++y) {
      for (u32 x = 0; x < p_.width; ++x) {
        const u64 block = u64{y / kHeight} * blocks_of(p_.width, kWidth) + x / kWidth;
        const u32 pixel = got[u64{y} * p_.width + x];
        if (block >= launched_blocks_) {
          wrong += pixel != 0;
          continue;
        }
        const auto want = tracer.pixel(x, y);
        bool close = pixel >> 24 == 0xff;
        for (u32 channel = 0; channel < 3; ++channel)
          close &= std::abs(static_cast<i32>(pixel >> (8 * channel) & 0xff) - want[channel]) <= kTolerance;
        ++compared;
        wrong += !close;
        lit += (pixel & 0xffffff) != 0;
      }
    }
    const bool passed = compared > 0 && lit > 0 && wrong * kOneWrongIn <= compared;
    return {passed, fmt::format("pixels: {} of {} differ by more than {} levels (allowed 1 %), {} are lit", wrong,
                                compared, kTolerance, lit)};
  }

 private:
  /// The spheres' places are drawn a little; colours are fixed.
  void draw_scene() {
    Rng rng(p_.seed, "ray.scene");
    const auto near = [&](double value) { return static_cast<float>(value + rng.uniform(-0.25, 0.25)); };
    scene_ = {{{near(-2.2), near(0.3), near(-0.5), 1.3f, 0.9f, 0.3f, 0.3f, 0},
               {near(0.4), near(0.1), near(1.5), 0.9f, 0.3f, 0.9f, 0.4f, 0},
               {near(2.3), near(0.8), near(-1.2), 1.6f, 0.4f, 0.4f, 0.9f, 0}},
              -1.0f,
              0.7f,
              0.7f,
              0.6f};
  }

  Params p_;
  Buffer<u32> pixels_;
  Scene scene_{};
  u64 launched_blocks_ = 0;
};

const RegisterWorkload<RayTracer> kRegistered{{
    .name = "ray",
    .purpose = "ray tracer with mirrors and shadows: divergent branches, a stack in local memory, little else",
    .origin = "GPGPU-Sim RAY",
    .papers = "MASK, DWS",
    .module = "ray",
    .variants = {"mask", "dws"},
}};

}  // namespace
}  // namespace terrace
