// LPS: sweeps of a three-dimensional Laplace solver. Each plane lies on new pages, and 100 blocks are all there are.
// Variants: mask and dws (100 x 100 x 100, one sweep).
// SPDX-License-Identifier: MIT
#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

constexpr u32 kWidth = 32, kHeight = 4;  // threads of a block, as in lps.cu
constexpr u32 kPitchStep = 128;          // rows start at multiples of so many floats

enum class Interior : u8 { kZero, kRandom };

class Laplace final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 nx = 100, ny = 100, nz = 100;
    Interior interior = Interior::kZero;

    void describe(Fields& v) override {
      v("nx", nx, in(3, 4096), "points along x");
      v("ny", ny, in(3, 4096), "points along y");
      v("nz", nz, in(3, 4096), "points along z, along which the blocks march");
      v("interior", interior, {"zero", "random"}, "what the points inside start from; the faces are 1");
      WorkloadParams::describe(v);
    }
    u32 pitch() const { return round_up(nx, kPitchStep); }
    u64 plane() const { return u64{ny} * pitch(); }
    u64 points() const { return plane() * nz; }

   protected:
    std::string_view iters_doc() const override { return "sweeps"; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    if (size == InputSize::kMini) p.nx = 40, p.ny = 10, p.nz = 8, p.interior = Interior::kRandom;
    if (size == InputSize::kTiny) p.nz = 48;
    if (size == InputSize::kSmall) p.iters = 5;
  }
  static u64 footprint_bytes(const Params& p) { return 2 * p.points() * sizeof(float); }

  explicit Laplace(const Params& params) : p_(params) {
    if (p_.points() > 0x7fff'ffff)
      input_error("lps: {} x {} x {} points are more than the kernel can number; choose fewer", p_.nx, p_.ny, p_.nz);
  }

  void allocate(GuestMemory& memory) override {
    for (u32 i = 0; i < 2; ++i) grid_[i] = Buffer<float>(memory, i ? "u2" : "u1", p_.points());
  }

  void fill(GuestMemory& memory) override {
    const std::vector<float> first = first_values();
    std::copy(first.begin(), first.end(), grid_[0].write(memory).begin());
    fill_with(memory, grid_[1], 0.0f);
  }

  u64 launches() const override { return p_.iters; }

  Launch launch(GuestMemory&, u64 number) override {
    Launch sweep = sliced_launch("laplace_sweep", grid_of_blocks(), {kWidth, kHeight}, p_.slice);
    sweep.argument(grid_[number % 2]).argument(grid_[(number + 1) % 2]);
    sweep.argument(p_.nx).argument(p_.ny).argument(p_.nz).argument(p_.pitch());
    launched_blocks_ = sweep.blocks();
    return sweep;
  }
  void archive_host(Archive& a) override { a(launched_blocks_); }

  CheckResult check(const GuestMemory& memory) const override {
    const std::vector<float> first = first_values();
    std::vector<double> from(first.begin(), first.end()), to(p_.points(), 0.0);
    for (u32 sweep = 0; sweep < p_.iters; ++sweep) {
      sweep_once(from, to);
      std::swap(from, to);
    }
    RelativeCheck comparison("u", 1e-6, 1e-3);
    const auto got = grid_[p_.iters % 2].read(memory);
    for (u64 at = 0; at < p_.points(); ++at) comparison.compare(at, double{got[at]}, from[at]);
    return comparison.result();
  }

 private:
  Dim3 grid_of_blocks() const { return {blocks_of(p_.nx, kWidth), blocks_of(p_.ny, kHeight)}; }
  bool inside(u32 x, u32 y, u32 z) const {
    return x > 0 && x < p_.nx - 1 && y > 0 && y < p_.ny - 1 && z > 0 && z < p_.nz - 1;
  }
  template <class Visit>
  void each_point(Visit visit) const {
    for (u32 z = 0; z < p_.nz; ++z) {
      for (u32 y = 0; y < p_.ny; ++y) {
        for (u32 x = 0; x < p_.nx; ++x) visit(x, y, z, z * p_.plane() + y * u64{p_.pitch()} + x);
      }
    }
  }

  std::vector<float> first_values() const {
    Rng rng(p_.seed, "lps.interior");
    std::vector<float> values(p_.points(), 0.0f);
    each_point([&](u32 x, u32 y, u32 z, u64 at) {
      const double drawn = p_.interior == Interior::kRandom ? rng.unit() : 0;
      values[at] = inside(x, y, z) ? static_cast<float>(drawn) : 1.0f;
    });
    return values;
  }

  void sweep_once(const std::vector<double>& from, std::vector<double>& to) const {
    const u64 row = p_.pitch(), plane = p_.plane();
    each_point([&](u32 x, u32 y, u32 z, u64 at) {
      if (u64{y / kHeight} * grid_of_blocks().x + x / kWidth >= launched_blocks_) return;
      to[at] = from[at];
      if (!inside(x, y, z)) return;
      to[at] =
          (from[at - 1] + from[at + 1] + from[at - row] + from[at + row] + from[at - plane] + from[at + plane]) / 6;
    });
  }

  Params p_;
  Buffer<float> grid_[2];
  u64 launched_blocks_ = 0;
};

const RegisterWorkload<Laplace> kRegistered{{
    .name = "lps",
    .purpose = "three-dimensional Laplace solver: marches over planes, each on new pages, with few blocks",
    .origin = "GPGPU-Sim LPS (laplace3d)",
    .papers = "MASK, DWS",
    .module = "lps",
    .variants = {"mask", "dws"},
}};

}  // namespace
}  // namespace terrace
