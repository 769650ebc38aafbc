// LBM: lid-driven cavity by lattice Boltzmann, D3Q19. Streams through two grids of 20 planes each; nothing is reused,
// so DRAM bounds it. Cells have a row pitch of a multiple of 32; a plane has two guard slices before and six after the
// cells, which take what leaves them. Variant: cd (120 x 120 x 150).
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>

#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

// As lbm.cu has them.
constexpr u32 kDirections = 19, kPlanes = kDirections + 1;
constexpr u32 kObstacle = 1, kAccelerated = 2;
constexpr double kOmega = 1.95;

constexpr u32 kGuardBefore = 2, kGuardAfter = 6;

/// Where each direction goes, and which is its opposite. Written out beside the device's own list: the check shall not
/// repeat a slip in it.
struct Direction {
  i32 x, y, z;
  u32 opposite;
  double weight() const {
    return x == 0 && y == 0 && z == 0 ? 1.0 / 3 : x * x + y * y + z * z == 1 ? 1.0 / 18 : 1.0 / 36;
  }
};
constexpr Direction kTowards[kDirections] = {
    {0, 0, 0, 0},   {1, 0, 0, 2},   {-1, 0, 0, 1},   {0, 1, 0, 4},   {0, -1, 0, 3},  {0, 0, 1, 6},    {0, 0, -1, 5},
    {1, 1, 0, 8},   {-1, -1, 0, 7}, {1, -1, 0, 10},  {-1, 1, 0, 9},  {1, 0, 1, 12},  {-1, 0, -1, 11}, {1, 0, -1, 14},
    {-1, 0, 1, 13}, {0, 1, 1, 16},  {0, -1, -1, 15}, {0, 1, -1, 18}, {0, -1, 1, 17},
};

class LatticeBoltzmann final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 x = 120, y = 120, z = 150;
    Fraction noise{0};

    void describe(Fields& v) override {
      v("x", x, in(3, 1024), "cells along x, the threads of a block");
      v("y", y, in(3, 4096), "cells along y");
      v("z", z, in(3, 4096), "cells along z");
      v("noise", noise, in(0, Fraction::kOne / 2), "random part of the first distributions; 0: a fluid at rest");
      WorkloadParams::describe(v);
    }
    u64 row() const { return round_up(x, 32u); }
    u64 layer() const { return row() * y; }
    u64 plane() const { return layer() * (z + kGuardBefore + kGuardAfter); }

   protected:
    std::string_view iters_doc() const override { return "time steps"; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    if (size == InputSize::kMini) p.x = 24, p.y = 8, p.z = 6;
    if (size == InputSize::kTiny) p.z = 6;
    if (size == InputSize::kSmall) p.z = 64;
  }
  static u64 footprint_bytes(const Params& p) { return 2 * kPlanes * p.plane() * sizeof(float); }

  explicit LatticeBoltzmann(const Params& params) : p_(params) {
    if (kPlanes * p_.plane() > ~u32{0}) {
      input_error("lbm: {} x {} x {} cells are more than the kernel can number; choose fewer", p_.x, p_.y, p_.z);
    }
  }

  void allocate(GuestMemory& memory) override {
    for (u32 i = 0; i < 2; ++i) grid_[i] = Buffer<float>(memory, i ? "pong" : "ping", kPlanes * p_.plane());
  }

  void fill(GuestMemory& memory) override {
    first_grid(grid_[0].write(memory));
    first_grid(grid_[1].write(memory));
  }

  u64 launches() const override { return p_.iters; }

  Launch launch(GuestMemory&, u64 number) override {
    Launch step = sliced_launch("lbm_step", {p_.y, p_.z}, {p_.x}, p_.slice);
    const u64 first_byte = first_cell() * sizeof(float);
    step.argument(grid_[number % 2].address().raw + first_byte);
    step.argument(grid_[(number + 1) % 2].address().raw + first_byte);
    for (const u64 distance : {p_.plane(), p_.layer(), p_.row()}) step.argument(static_cast<u32>(distance));
    launched_blocks_ = step.blocks();
    return step;
  }
  void archive_host(Archive& a) override { a(launched_blocks_); }

  /// Every number of the last grid within 1e-6, and the mass of the cells as it was.
  CheckResult check(const GuestMemory& memory) const override {
    std::vector<float> from(kPlanes * p_.plane());
    first_grid(from);
    std::vector<float> to = from;
    const double mass = mass_of(from);
    for (u32 step = 0; step < p_.iters; ++step) {
      move_on(from, to);
      std::swap(from, to);
    }
    const auto got = grid_[p_.iters % 2].read(memory);
    RelativeCheck cells("distributions", 1e-6, 1);
    for (u64 i = 0; i < kDirections * p_.plane(); ++i) cells.compare(i, got[i], from[i]);
    if (p_.slice.millionths < Fraction::kOne) return cells.result();
    RelativeCheck conserved("mass", 1e-4);
    conserved.compare(0, mass_of(got), mass);
    return both(cells.result(), conserved.result());
  }

 private:
  u64 first_cell() const { return kGuardBefore * p_.layer(); }
  template <class Visit>
  void each_cell(Visit visit) const {
    for (u32 z = 0; z < p_.z; ++z) {
      for (u32 y = 0; y < p_.y; ++y) {
        for (u32 x = 0; x < p_.x; ++x) visit(x, y, z, first_cell() + z * p_.layer() + y * p_.row() + x);
      }
    }
  }

  /// Equilibrium at rest everywhere, guards included; walls on the six faces, the lid below the last of them, and one
  /// cell in a hundred an obstacle.
  void first_grid(std::span<float> grid) const {
    Rng noise(p_.seed, "lbm.noise"), obstacles(p_.seed, "lbm.obstacles");
    const double amplitude = static_cast<double>(p_.noise.millionths) / Fraction::kOne;
    for (u64 q = 0; q < kDirections; ++q) {
      for (float& value : grid.subspan(q * p_.plane(), p_.plane())) {
        const double factor = amplitude > 0 ? 1 + noise.uniform(-amplitude, amplitude) : 1;
        value = static_cast<float>(kTowards[q].weight() * factor);
      }
    }
    const auto flags = grid.subspan(kDirections * p_.plane(), p_.plane());
    std::fill(flags.begin(), flags.end(), 0.0f);
    each_cell([&](u32 x, u32 y, u32 z, u64 cell) {
      const auto face = [](u32 at, u32 cells) { return at == 0 || at == cells - 1; };
      const bool drawn = obstacles.below(100) == 0;
      const bool wall = face(x, p_.x) || face(y, p_.y) || face(z, p_.z);
      flags[cell] = std::bit_cast<float>(wall || drawn ? kObstacle : z == p_.z - 2 ? kAccelerated : 0u);
    });
  }

  double mass_of(std::span<const float> grid) const {
    double mass = 0;
    each_cell([&](u32, u32, u32, u64 cell) {
      for (u64 q = 0; q < kDirections; ++q) mass += double{grid[q * p_.plane() + cell]};
    });
    return mass;
  }

  void move_on(std::span<const float> from, std::span<float> to) const {
    each_cell([&](u32, u32 y, u32 z, u64 cell) {
      if (u64{z} * p_.y + y >= launched_blocks_) return;
      const auto after = collide(from, cell);
      for (u64 q = 0; q < kDirections; ++q) {
        const i64 shift =
            kTowards[q].x + kTowards[q].y * static_cast<i64>(p_.row()) + kTowards[q].z * static_cast<i64>(p_.layer());
        to[q * p_.plane() + cell + static_cast<u64>(shift)] = static_cast<float>(after[q]);
      }
    });
  }

  std::array<double, kDirections> collide(std::span<const float> from, u64 cell) const {
    std::array<double, kDirections> f, after;
    double density = 0, u[3] = {};
    for (u64 q = 0; q < kDirections; ++q) {
      f[q] = from[q * p_.plane() + cell];
      density += f[q];
      u[0] += kTowards[q].x * f[q], u[1] += kTowards[q].y * f[q], u[2] += kTowards[q].z * f[q];
    }
    const u32 flags = std::bit_cast<u32>(from[kDirections * p_.plane() + cell]);
    for (double& component : u) component /= density;
    if (flags & kAccelerated) u[0] = 0.005, u[1] = 0.002, u[2] = 0;
    const double u2 = 1.5 * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]) - 1;
    for (u64 q = 0; q < kDirections; ++q) {
      const double along = kTowards[q].x * u[0] + kTowards[q].y * u[1] + kTowards[q].z * u[2];
      after[q] = flags & kObstacle
                     ? f[kTowards[q].opposite]
                     : (1 - kOmega) * f[q] + kOmega * kTowards[q].weight() * density * (along * (4.5 * along + 3) - u2);
    }
    return after;
  }

  Params p_;
  Buffer<float> grid_[2];
  u64 launched_blocks_ = 0;
};

const RegisterWorkload<LatticeBoltzmann> kRegistered{{
    .name = "lbm",
    .purpose = "lattice-Boltzmann fluid: streams through 40 planes without reuse, bound by DRAM",
    .origin = "Parboil lbm",
    .papers = "CD",
    .module = "lbm",
    .variants = {"cd"},
}};

}  // namespace
}  // namespace terrace
