// CFD: Euler's equations on an unstructured mesh. Each face gathers five quantities of the cell behind it: many lines on
// few pages. Variant: mask (193,474 cells, 2,000 steps).
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>

#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

// As cfd.cu has them.
constexpr double kGamma = 1.4f, kViscosity = 0.2f;
constexpr u32 kFaces = 4, kThreads = 192, kQuantities = 5, kStages = 3;
constexpr i32 kWall = -1, kFarField = -2;

constexpr double kMach = 1.2;
constexpr u64 kWallEvery = 128;                 // one cell in so many lies between walls
constexpr u64 kNearest = 50, kFarthest = 1250;  // how far in ids the cells behind two of the faces are

/// Density, momentum in three directions, energy.
using State = std::array<double, kQuantities>;

/// Density 1.4 and pressure 1 make the speed of sound 1; the gas flows along x.
State far_field() {
  const double energy = 1 / (kGamma - 1) + 0.5 * kGamma * kMach * kMach;
  return {kGamma, kGamma * kMach, 0, 0, energy};
}

struct Gas {
  double velocity[3], speed, pressure, sound;

  explicit Gas(const State& s) {
    double squared = 0;
    for (u32 i = 0; i < 3; ++i) {
      velocity[i] = s[i + 1] / s[0];
      squared += velocity[i] * velocity[i];
    }
    speed = std::sqrt(squared);
    pressure = (kGamma - 1) * (s[4] - 0.5 * s[0] * squared);
    sound = std::sqrt(kGamma * pressure / s[0]);
  }
};

void add_half_flux(State& flux, const State& s, const Gas& gas, const double* normal) {
  double through = 0, mass = 0;
  for (u32 i = 0; i < 3; ++i) {
    through += 0.5 * normal[i] * gas.velocity[i];
    mass += 0.5 * normal[i] * s[i + 1];
  }
  flux[0] += mass;
  for (u32 i = 0; i < 3; ++i) flux[i + 1] += through * s[i + 1] + 0.5 * normal[i] * gas.pressure;
  flux[4] += through * (s[4] + gas.pressure);
}

class Euler final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 cells = 193'474;

    void describe(Fields& v) override {
      v("cells", cells, in(2, 1 << 24), "cells; arrays are padded to whole blocks of 192");
      WorkloadParams::describe(v);
    }
    u32 padded() const { return round_up(cells, kThreads); }

   protected:
    std::string_view iters_doc() const override { return "time steps"; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.cells = 190;
        break;
      case InputSize::kTiny:
        p.cells = 16'000;
        break;
      case InputSize::kSmall:
        break;
      case InputSize::kPaper:
        p.iters = 2000;
        break;
    }
  }
  /// Three sets of quantities, three components of four normals, four ids, an area and a step factor.
  static u64 footprint_bytes(const Params& p) {
    return u64{p.padded()} * (3 * kQuantities + 3 * kFaces + kFaces + 2) * sizeof(float);
  }

  explicit Euler(const Params& params) : p_(params), padded_(params.padded()) {}

  void allocate(GuestMemory& memory) override {
    variables_ = Buffer<float>(memory, "variables", u64{kQuantities} * padded_);
    old_ = Buffer<float>(memory, "old", u64{kQuantities} * padded_);
    fluxes_ = Buffer<float>(memory, "fluxes", u64{kQuantities} * padded_);
    normals_ = Buffer<float>(memory, "normals", u64{3} * kFaces * padded_);
    neighbours_ = Buffer<i32>(memory, "neighbours", u64{kFaces} * padded_);
    areas_ = Buffer<float>(memory, "areas", padded_);
    factors_ = Buffer<float>(memory, "factors", padded_);
  }

  void fill(GuestMemory& memory) override {
    make_mesh(memory);
    Rng rng(p_.seed, "cfd.noise");
    const State far = far_field();
    const auto variables = variables_.write(memory);
    for (u64 i = 0; i < variables.size(); ++i)
      variables[i] = static_cast<float>(far[i / padded_] * (1 + rng.uniform(-0.01, 0.01)));
    first_.assign(variables.begin(), variables.end());
    fill_with(memory, old_, 0.0f);
    fill_with(memory, fluxes_, 0.0f);
    fill_with(memory, factors_, 0.0f);
    fill_with(memory, areas_, 1.0f);
  }

  u64 launches() const override { return u64{kLaunches} * p_.iters; }

  Launch launch(GuestMemory& memory, u64 number) override {
    const u64 kernel = number % kLaunches;
    if (kernel == 0) start_step(memory);
    const bool is_flux = kernel % 2 == 1;
    const char* name = kernel == 0 ? "cfd_step_factor" : is_flux ? "cfd_flux" : "cfd_time_step";
    Launch call = sliced_launch(name, {padded_ / kThreads}, {kThreads}, p_.slice);
    launched_cells_ = call.blocks() * kThreads;
    if (kernel == 0) {
      call.argument(variables_).argument(areas_).argument(factors_);
    } else if (is_flux) {
      call.argument(neighbours_).argument(normals_).argument(variables_).argument(fluxes_);
    } else {
      call.argument(old_).argument(variables_).argument(factors_).argument(fluxes_);
      call.argument(part_of_stage(static_cast<u32>(kernel - 1) / 2));
    }
    call.argument(padded_);
    return call;
  }
  void archive_host(Archive& a) override { a(launched_cells_); }

  /// The steps again, in double. Momenta across the flow are around zero: errors are relative to the greatest value.
  CheckResult check(const GuestMemory& memory) const override {
    std::vector<State> cells(padded_);
    for (u64 i = 0; i < padded_; ++i) {
      for (u64 q = 0; q < kQuantities; ++q) cells[i][q] = double{first_[q * padded_ + i]};
    }
    std::vector<State> fluxes(padded_, State{});
    for (u32 step = 0; step < p_.iters; ++step) take_step(memory, cells, fluxes);
    return both(compare("variables", variables_.read(memory), cells), compare("fluxes", fluxes_.read(memory), fluxes));
  }

 private:
  static constexpr u32 kLaunches = 1 + 2 * kStages;
  /// The variables are kept for the stages by a copy on the device (cudaMemcpy in the original, no kernel).
  void start_step(GuestMemory& memory) const {
    const auto now = variables_.read(memory);
    std::copy(now.begin(), now.end(), old_.write(memory).begin());
    float far[kQuantities];
    std::copy_n(far_field().begin(), kQuantities, far);
    write_module_variable(memory, "cfd_far_field", std::as_bytes(std::span(far)));
  }
  static float part_of_stage(u32 stage) { return 1.0f / static_cast<float>(kStages - stage); }

  /// Behind the faces are the next cell, the last one, and one on either side at a drawn distance. Beyond the ends of the
  /// mesh is the far field. Some cells lie between two walls. Opposite normals make every cell closed, and walls in pairs
  /// let it keep its mass: otherwise densities become negative after a few steps. Padding repeats the last cell.
  void make_mesh(GuestMemory& memory) const {
    Rng rng(p_.seed, "cfd.mesh");
    const auto neighbours = neighbours_.write(memory);
    const auto normals = normals_.write(memory);
    for (u64 i = 0; i < padded_; ++i) {
      if (i >= p_.cells) {
        for (u64 face = 0; face < kFaces; ++face)
          neighbours[face * padded_ + i] = neighbours[face * padded_ + p_.cells - 1];
        for (u64 k = 0; k < 3 * kFaces; ++k) normals[k * padded_ + i] = normals[k * padded_ + p_.cells - 1];
        continue;
      }
      const i64 own = static_cast<i64>(i);
      const i64 ahead = static_cast<i64>(kNearest + rng.below(kFarthest - kNearest + 1));
      const i64 behind = static_cast<i64>(kNearest + rng.below(kFarthest - kNearest + 1));
      const i64 ids[kFaces] = {own + 1, own - 1, own + ahead, own - behind};
      for (u64 face = 0; face < kFaces; ++face) {
        const bool is_cell = ids[face] >= 0 && ids[face] < i64{p_.cells}, is_wall = face >= 2 && i % kWallEvery == 0;
        neighbours[face * padded_ + i] = is_wall ? kWall : is_cell ? static_cast<i32>(ids[face]) : kFarField;
      }
      for (u64 face = 0; face < kFaces; face += 2) {
        const auto normal = unit_vector(rng);
        for (u64 axis = 0; axis < 3; ++axis) {
          normals[(axis * kFaces + face) * padded_ + i] = static_cast<float>(normal[axis]);
          normals[(axis * kFaces + face + 1) * padded_ + i] = static_cast<float>(-normal[axis]);
        }
      }
    }
  }
  static std::array<double, 3> unit_vector(Rng& rng) {
    for (;;) {
      std::array<double, 3> v;
      double squared = 0;
      for (double& component : v) {
        component = rng.uniform(-1, 1);
        squared += component * component;
      }
      if (squared > 1 || squared < 0.01) continue;
      for (double& component : v) component /= std::sqrt(squared);
      return v;
    }
  }

  void take_step(const GuestMemory& memory, std::vector<State>& cells, std::vector<State>& fluxes) const {
    const auto areas = areas_.read(memory);
    const std::vector<State> before = cells;
    std::vector<double> factors(launched_cells_);
    for (u64 i = 0; i < launched_cells_; ++i) {
      const Gas gas(cells[i]);
      factors[i] = 0.5 / (std::sqrt(double{areas[i]}) * (gas.speed + gas.sound));
    }
    for (u32 stage = 0; stage < kStages; ++stage) {
      for (u64 i = 0; i < launched_cells_; ++i) fluxes[i] = flux_of(memory, cells, i);
      for (u64 i = 0; i < launched_cells_; ++i) {
        for (u64 q = 0; q < kQuantities; ++q)
          cells[i][q] = before[i][q] - factors[i] * double{part_of_stage(stage)} * fluxes[i][q];
      }
    }
  }
  State flux_of(const GuestMemory& memory, const std::vector<State>& cells, u64 i) const {
    const auto neighbours = neighbours_.read(memory);
    const auto normals = normals_.read(memory);
    const State& own = cells[i];
    const Gas gas(own);
    State flux{};
    for (u64 face = 0; face < kFaces; ++face) {
      double normal[3], squared = 0;
      for (u64 axis = 0; axis < 3; ++axis) {
        normal[axis] = double{normals[(axis * kFaces + face) * padded_ + i]};
        squared += normal[axis] * normal[axis];
      }
      const i32 behind = neighbours[face * padded_ + i];
      if (behind == kWall) {
        for (u32 axis = 0; axis < 3; ++axis) flux[axis + 1] += normal[axis] * gas.pressure;
        continue;
      }
      const State other = behind == kFarField ? far_field() : cells[static_cast<u64>(behind)];
      const Gas there(other);
      add_half_flux(flux, own, gas, normal);
      add_half_flux(flux, other, there, normal);
      if (behind == kFarField) continue;
      const double damping =
          std::sqrt(squared) * kViscosity * 0.5 * (gas.speed + there.speed + gas.sound + there.sound);
      for (u64 q = 0; q < kQuantities; ++q) flux[q] += damping * (own[q] - other[q]);
    }
    return flux;
  }
  CheckResult compare(std::string_view what, std::span<const float> got, const std::vector<State>& want) const {
    double greatest = 0;
    for (const State& state : want) {
      for (const double value : state) greatest = std::max(greatest, std::fabs(value));
    }
    RelativeCheck comparison(what, 1e-3, greatest);
    for (u64 i = 0; i < got.size(); ++i) comparison.compare(i, got[i], want[i % padded_][i / padded_]);
    return comparison.result();
  }

  Params p_;
  u32 padded_;
  Buffer<float> variables_, old_, fluxes_, normals_, areas_, factors_;
  Buffer<i32> neighbours_;
  std::vector<float> first_;  // the variables at the start
  u64 launched_cells_ = 0;
};

const RegisterWorkload<Euler> kRegistered{{
    .name = "cfd",
    .purpose = "unstructured Euler solver: gathers of five quantities over many lines of few pages",
    .origin = "Rodinia cfd (euler3d)",
    .papers = "MASK",
    .module = "cfd",
    .variants = {"mask"},
}};

}  // namespace
}  // namespace terrace
