// HS: Rodinia's Hotspot, a thermal stencil with a pyramid of time steps in shared memory. Blocks overlap, rows of a
// patch start unaligned: two to three lines per access.
// Variants: mask, dws and vc (512 x 512), simt (1024 x 1024).
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "frontend/workload.h"
#include "frontend/workload_alias.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

constexpr u32 kSide = 16;    // threads of a block in each direction, as in hs.cu
constexpr u32 kPyramid = 2;  // time steps of a whole launch
constexpr double kAmbient = 80;

/// The chip: 16 mm square, 0.5 mm thick, of silicon.
struct Thermal {
  double step_by_capacity, rx, ry, rz;

  Thermal(u32 rows, u32 columns) {
    constexpr double kChip = 0.016, kThickness = 5e-4, kHeat = 1.75e6, kConductivity = 100, kFactor = 0.5;
    const double height = kChip / rows, width = kChip / columns;
    const double capacity = kFactor * kHeat * kThickness * width * height;
    rx = width / (2 * kConductivity * kThickness * height);
    ry = height / (2 * kConductivity * kThickness * width);
    rz = kThickness / (kConductivity * height * width);
    // A step in which the greatest power density, 3e6 W/m2, heats a cell by 0.001 K.
    step_by_capacity = 0.001 / (3e6 / (kFactor * kThickness * kHeat)) / capacity;
  }
};

class Hotspot final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 rows = 512, columns = 512;
    u32 steps = 3;

    void describe(Fields& v) override {
      v("rows", rows, in(1, 1 << 14), "cells of the chip from north to south");
      v("columns", columns, in(1, 1 << 14), "cells of the chip from west to east");
      v("steps", steps, in(1, 1'000'000), "time steps, two a launch");
      WorkloadParams::describe(v);
    }
    u64 cells() const { return u64{rows} * columns; }
  };

  static void preset(InputSize size, std::string_view variant, Params& p) {
    const auto shape = [&p](u32 side, u32 steps) { p.rows = p.columns = side, p.steps = steps; };
    switch (size) {
      case InputSize::kMini:
        return shape(32, 2);
      case InputSize::kTiny:
        return shape(240, 2);
      case InputSize::kSmall:
        return shape(512, 8);
      case InputSize::kPaper:
        return shape(variant == "simt" ? 1024 : 512, 3);
    }
  }
  static u64 footprint_bytes(const Params& p) { return 3 * p.cells() * sizeof(float); }

  explicit Hotspot(const Params& params) : p_(params), thermal_(params.rows, params.columns) {}

  void allocate(GuestMemory& memory) override {
    power_ = Buffer<float>(memory, "power", p_.cells());
    for (u32 i = 0; i < 2; ++i) temperature_[i] = Buffer<float>(memory, i ? "pong" : "ping", p_.cells());
  }

  void fill(GuestMemory& memory) override {
    draw_uniform(memory, power_, p_.seed, "hs.power", 0, 1e-2);
    draw_uniform(memory, temperature_[0], p_.seed, "hs.temperature", 320, 340);
    fill_with(memory, temperature_[1], 0.0f);
    const auto first = temperature_[0].read(memory);
    first_.assign(first.begin(), first.end());
  }

  u64 launches() const override { return u64{blocks_of(p_.steps, kPyramid)} * p_.iters; }

  Launch launch(GuestMemory&, u64 number) override {
    const Dim3 grid{blocks_of(p_.columns, kSide - 2 * kPyramid), blocks_of(p_.rows, kSide - 2 * kPyramid)};
    Launch pyramid = sliced_launch("hotspot_pyramid", grid, {kSide, kSide}, p_.slice);
    pyramid.argument(steps_of(number)).argument(power_).argument(temperature_[number % 2]);
    pyramid.argument(temperature_[(number + 1) % 2]).argument(p_.columns).argument(p_.rows).argument(kPyramid);
    for (const double value : {thermal_.step_by_capacity, thermal_.rx, thermal_.ry, thermal_.rz, kAmbient})
      pyramid.argument(static_cast<float>(value));
    launched_blocks_ = pyramid.blocks();
    grid_columns_ = grid.x;
    return pyramid;
  }
  void archive_host(Archive& a) override { a(launched_blocks_, grid_columns_); }

  /// The launches again, each as so many steps of the whole chip of which the launched blocks keep their cells.
  CheckResult check(const GuestMemory& memory) const override {
    const auto power = power_.read(memory);
    std::vector<double> from(first_.begin(), first_.end()), to(p_.cells(), 0.0);
    for (u64 number = 0; number < launches(); ++number) {
      std::vector<double> after = from;
      for (u32 step = 0; step < steps_of(number); ++step) after = stepped(after, power);
      for (u64 i = 0; i < p_.cells(); ++i) {
        if (block_of(i, steps_of(number)) < launched_blocks_) to[i] = after[i];
      }
      std::swap(from, to);
    }
    RelativeCheck comparison("temperature", 1e-4);
    const auto got = temperature_[launches() % 2].read(memory);
    for (u64 i = 0; i < p_.cells(); ++i) comparison.compare(i, got[i], from[i]);
    return comparison.result();
  }

 private:
  /// Two, except for what is left over at the end of a repetition.
  u32 steps_of(u64 number) const {
    const u64 in_repetition = number % blocks_of(p_.steps, kPyramid);
    return std::min(kPyramid, p_.steps - static_cast<u32>(in_repetition) * kPyramid);
  }
  /// Which block writes a cell. The patches start `kPyramid` cells to the north-west whatever the number of steps, as
  /// in the original; with fewer steps the blocks' inner parts are larger and the last blocks of the grid lie outside.
  u64 block_of(u64 cell, u32 steps) const {
    const u64 inner = kSide - 2 * steps, shift = kPyramid - steps;
    return (cell / p_.columns + shift) / inner * grid_columns_ + (cell % p_.columns + shift) / inner;
  }
  std::vector<double> stepped(const std::vector<double>& t, std::span<const float> power) const {
    std::vector<double> next(t.size());
    for (u64 row = 0; row < p_.rows; ++row) {
      for (u64 column = 0; column < p_.columns; ++column) {
        const u64 i = row * p_.columns + column;
        const double north = t[row > 0 ? i - p_.columns : i], south = t[row + 1 < p_.rows ? i + p_.columns : i];
        const double west = t[column > 0 ? i - 1 : i], east = t[column + 1 < p_.columns ? i + 1 : i];
        next[i] = t[i] + thermal_.step_by_capacity *
                             (double{power[i]} + (south + north - 2 * t[i]) / thermal_.ry +
                              (east + west - 2 * t[i]) / thermal_.rx + (kAmbient - t[i]) / thermal_.rz);
      }
    }
    return next;
  }

  Params p_;
  Thermal thermal_;
  Buffer<float> power_, temperature_[2];
  std::vector<float> first_;  // the temperatures at the start
  u64 launched_blocks_ = 0, grid_columns_ = 0;
};

const RegisterWorkload<Hotspot> kRegistered{{
    .name = "hs",
    .purpose = "thermal stencil with time steps in shared memory: unaligned overlapping patches",
    .origin = "Rodinia hotspot",
    .papers = "MASK, SIMT, DWS, VC",
    .module = "hs",
    .variants = {"mask", "simt", "dws", "vc"},
    .paper_needs_variant = true,
}};
const RegisterAlias kAlias{"hotspot", "hs"};

}  // namespace
}  // namespace terrace
