// 3DS: 25-point stencil on a three-dimensional grid, marching along z. One stream of pages per row of a tile and plane,
// and two barriers a plane.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

// As 3ds.cu has them.
constexpr u32 kBlockColumns = 32, kBlockRows = 8, kRadius = 4;
constexpr u32 kSkippedPlanes = 16;

constexpr u64 kCoefficients = 10;  // allocated by the original; the first five are read

enum class Data : u8 { kRandom, kOnes };

class Stencil25 final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 x = 256, y = 128, z = 128;
    Data data = Data::kRandom;

    void describe(Fields& v) override {
      v("x", x, in(kBlockColumns, 1 << 14), "points along x, a multiple of 32");
      v("y", y, in(2 * kBlockRows, 1 << 14), "points along y, a multiple of 8");
      v("z", z, in(kSkippedPlanes + 1, 1 << 14), "planes; planes 4 to z - 13 are computed");
      v("data", data, {"random", "ones"}, "drawn, or all 1 as in the original (every output is 25)");
      WorkloadParams::describe(v);
    }
    u64 points() const { return u64{x} * y * z; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    if (size == InputSize::kMini) p.x = 64, p.y = 16, p.z = 20;
    if (size == InputSize::kTiny) p.z = 24;
  }
  static u64 footprint_bytes(const Params& p) { return (2 * p.points() + kCoefficients) * sizeof(float); }

  explicit Stencil25(const Params& params) : p_(params) {
    if (p_.x % kBlockColumns || p_.y % kBlockRows)
      input_error("3ds: x ({}) must be a multiple of {} and y ({}) one of {}", p_.x, kBlockColumns, p_.y, kBlockRows);
    if (p_.points() > ~u32{0}) {
      input_error("3ds: {} x {} x {} points are more than the kernel can number; choose fewer", p_.x, p_.y, p_.z);
    }
  }

  void allocate(GuestMemory& memory) override {
    in_ = Buffer<float>(memory, "in", p_.points());
    out_ = Buffer<float>(memory, "out", p_.points());
    coefficients_ = Buffer<float>(memory, "coefficients", kCoefficients);
  }

  void fill(GuestMemory& memory) override {
    fill_with(memory, out_, 0.0f);
    if (p_.data == Data::kOnes) {
      fill_with(memory, in_, 1.0f);
      fill_with(memory, coefficients_, 1.0f);
    } else {
      draw_uniform(memory, in_, p_.seed, "3ds.in", 0, 1);
      draw_uniform(memory, coefficients_, p_.seed, "3ds.coefficients", 0, 1);
    }
  }

  u64 launches() const override { return p_.iters; }

  Launch launch(GuestMemory&, u64) override {
    Launch march =
        sliced_launch("stencil25", {p_.x / kBlockColumns, p_.y / kBlockRows}, {kBlockColumns, kBlockRows}, p_.slice);
    march.argument(in_).argument(out_).argument(coefficients_).argument(p_.x).argument(p_.y).argument(p_.z);
    launched_blocks_ = march.blocks();
    return march;
  }
  void archive_host(Archive& a) override { a(launched_blocks_); }

  /// Every point: what no launched block computes must still be zero.
  CheckResult check(const GuestMemory& memory) const override {
    RelativeCheck comparison("out", 1e-5);
    const auto in = in_.read(memory), out = out_.read(memory), c = coefficients_.read(memory);
    const u64 row = p_.x, plane = u64{p_.x} * p_.y;
    const u64 first = kRadius * plane, end = (p_.z - kSkippedPlanes + kRadius) * plane;
    for (u64 i = 0; i < p_.points(); ++i) {
      const u64 block = i % plane / row / kBlockRows * (p_.x / kBlockColumns) + i % row / kBlockColumns;
      double want = 0;
      if (i >= first && i < end && block < launched_blocks_) {
        want = double{c[0]} * double{in[i]};
        for (u64 r = 1; r <= kRadius; ++r) {
          double ring = 0;
          for (const u64 step : {r, r * row, r * plane}) ring += double{in[i - step]} + double{in[i + step]};
          want += double{c[r]} * ring;
        }
      }
      comparison.compare(i, out[i], want);
    }
    return comparison.result();
  }

 private:
  Params p_;
  Buffer<float> in_, out_, coefficients_;
  u64 launched_blocks_ = 0;
};

const RegisterWorkload<Stencil25> kRegistered{{
    .name = "3ds",
    .purpose = "25-point 3-D stencil marching along z: a page stream per tile row and plane, barriers",
    .origin = "CUDA SDK 3DFD",
    .papers = "MASK, DWS",
    .module = "3ds",
    .variants = {"mask", "dws"},
}};

}  // namespace
}  // namespace terrace
