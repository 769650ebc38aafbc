// LAVAMD: forces between the particles of neighbouring boxes. The accumulators stay in global memory, so the shared
// cache serves eight accesses of eight lines per pair while DRAM rests. Variant: cd (10 x 10 x 10 boxes of 100). Sizes
// below have enough boxes for 24 SMs, and make up for them by fewer neighbours of each box.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"
#include "support/series.h"

namespace terrace {
namespace {

// As lavamd.cu has them.
constexpr u32 kMostParticles = 100, kMostNeighbours = 26;
struct Neighbour {
  i32 x, y, z, number;
  i64 offset;
};
struct Box {
  i32 x, y, z, number;
  i64 offset;
  i32 neighbours;
  Neighbour neighbour[kMostNeighbours];
};
static_assert(sizeof(Box) == 656);

constexpr double kA2 = 2 * 0.5 * 0.5;

enum class Element : u8 { kF64, kF32 };

/// A particle or a force: v, x, y and z.
constexpr u64 kComponents = 4;

class LavaMd final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 boxes = 10;
    u32 particles = 100;
    u32 threads = 128;
    u32 neighbours = kMostNeighbours;
    Element element = Element::kF64;

    void describe(Fields& v) override {
      v("boxes", boxes, in(1, 64), "boxes along each of the three dimensions");
      v("particles", particles, in(1, kMostParticles), "particles in a box");
      v("threads", threads, in(1, 1024), "threads in a block, which works on a box");
      v("neighbours", neighbours, in(0, kMostNeighbours),
        "other boxes, at most, whose particles act on those of a box");
      v("element", element, {"f64", "f32"}, "type of coordinates, charges and forces");
      WorkloadParams::describe(v);
    }
    u64 all_boxes() const { return u64{boxes} * boxes * boxes; }
    u64 all_particles() const { return all_boxes() * particles; }
    u64 element_bytes() const { return element == Element::kF64 ? 8 : 4; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    const auto shape = [&p](u32 boxes, u32 particles, u32 threads) {
      p.boxes = boxes, p.particles = particles, p.threads = threads;
    };
    switch (size) {
      case InputSize::kMini:
        return shape(2, 3, 32);
      case InputSize::kTiny:
        p.neighbours = 1;
        return shape(8, 18, 32);
      case InputSize::kSmall:
        p.neighbours = 4;
        return shape(6, 48, 64);
      case InputSize::kPaper:
        return shape(10, 100, 128);
    }
  }
  static u64 footprint_bytes(const Params& p) {
    return p.all_boxes() * sizeof(Box) + p.all_particles() * (2 * kComponents + 1) * p.element_bytes();
  }

  explicit LavaMd(const Params& params) : p_(params) {
    const i32 side = static_cast<i32>(p_.boxes);
    for (i32 z = 0; z < side; ++z) {
      for (i32 y = 0; y < side; ++y) {
        for (i32 x = 0; x < side; ++x) boxes_.push_back(box_at(x, y, z));
      }
    }
    Rng rng(p_.seed, "lavamd.particles");
    const auto tenths = [&rng] { return static_cast<double>(rng.below(10) + 1) / 10; };
    for (u64 i = 0; i < kComponents * p_.all_particles(); ++i) particles_.push_back(tenths());
    for (u64 i = 0; i < p_.all_particles(); ++i) charges_.push_back(tenths());
  }

  void allocate(GuestMemory& memory) override {
    box_records_ = Buffer<Box>(memory, "boxes", boxes_.size());
    particle_ = Buffer<u8>(memory, "particles", particles_.size() * p_.element_bytes());
    charge_ = Buffer<u8>(memory, "charges", charges_.size() * p_.element_bytes());
    force_ = Buffer<u8>(memory, "force", particles_.size() * p_.element_bytes());
  }

  void fill(GuestMemory& memory) override {
    std::copy(boxes_.begin(), boxes_.end(), box_records_.write(memory).begin());
    p_.element == Element::kF64 ? fill_typed<double>(memory) : fill_typed<float>(memory);
    fill_with(memory, force_, u8{0});
  }

  u64 launches() const override { return p_.iters; }

  Launch launch(GuestMemory&, u64) override {
    const bool f64 = p_.element == Element::kF64;
    Launch pairs =
        sliced_launch(f64 ? "lavamd_f64" : "lavamd_f32", {static_cast<u32>(p_.all_boxes())}, {p_.threads}, p_.slice);
    pairs.argument(box_records_).argument(particle_).argument(charge_).argument(force_).argument(p_.particles);
    f64 ? pairs.argument(kA2) : pairs.argument(static_cast<float>(kA2));
    launched_blocks_ = pairs.blocks();
    return pairs;
  }
  void archive_host(Archive& a) override { a(launched_blocks_); }

  CheckResult check(const GuestMemory& memory) const override {
    return p_.element == Element::kF64 ? compare<double>(memory, 1e-6) : compare<float>(memory, 1e-3);
  }

 private:
  i32 number_of(i32 x, i32 y, i32 z) const {
    return (z * static_cast<i32>(p_.boxes) + y) * static_cast<i32>(p_.boxes) + x;
  }
  Box box_at(i32 x, i32 y, i32 z) const {
    const i32 side = static_cast<i32>(p_.boxes), number = number_of(x, y, z);
    Box box{x, y, z, number, i64{number} * p_.particles, 0, {}};
    for (i32 nz = std::max(z - 1, 0); nz <= std::min(z + 1, side - 1); ++nz) {
      for (i32 ny = std::max(y - 1, 0); ny <= std::min(y + 1, side - 1); ++ny) {
        for (i32 nx = std::max(x - 1, 0); nx <= std::min(x + 1, side - 1); ++nx) {
          const i32 neighbour = number_of(nx, ny, nz);
          if (neighbour == number || box.neighbours == static_cast<i32>(p_.neighbours)) continue;
          box.neighbour[box.neighbours++] = {nx, ny, nz, neighbour, i64{neighbour} * p_.particles};
        }
      }
    }
    return box;
  }

  template <class T>
  static std::span<T> typed(std::span<u8> bytes) {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <class T>
  void fill_typed(GuestMemory& memory) const {
    std::copy(particles_.begin(), particles_.end(), typed<T>(particle_.write(memory)).begin());
    std::copy(charges_.begin(), charges_.end(), typed<T>(charge_.write(memory)).begin());
  }

  /// Components cancel: what is small is compared relative to the mean magnitude.
  template <class T>
  CheckResult compare(const GuestMemory& memory, double tolerance) const {
    const auto bytes = force_.read(memory);
    const auto* got = reinterpret_cast<const T*>(bytes.data());
    std::vector<double> want;
    double sum = 0;
    for (u64 box = 0; box < launched_blocks_; ++box) add_forces(boxes_[box], want);
    for (double& value : want) sum += std::fabs(value *= p_.iters);
    RelativeCheck comparison("force", tolerance, sum / static_cast<double>(want.size()));
    for (u64 i = 0; i < particles_.size(); ++i) comparison.compare(i, got[i], i < want.size() ? want[i] : 0);
    return comparison.result();
  }

  void add_forces(const Box& home, std::vector<double>& forces) const {
    for (u64 i = 0; i < p_.particles; ++i) {
      const double* a = &particles_[(static_cast<u64>(home.offset) + i) * kComponents];
      double force[kComponents] = {};
      add_box(a, home.offset, force);
      for (i32 k = 0; k < home.neighbours; ++k) add_box(a, home.neighbour[k].offset, force);
      forces.insert(forces.end(), force, force + kComponents);
    }
  }
  void add_box(const double* a, i64 offset, double* force) const {
    for (u64 j = static_cast<u64>(offset); j < static_cast<u64>(offset) + p_.particles; ++j) {
      const double* b = &particles_[j * kComponents];
      const double r2 = a[0] + b[0] - (a[1] * b[1] + a[2] * b[2] + a[3] * b[3]);
      const double vij = series_exp(-kA2 * r2);
      force[0] += charges_[j] * vij;
      for (u64 c = 1; c < kComponents; ++c) force[c] += charges_[j] * 2 * vij * (a[c] - b[c]);
    }
  }

  Params p_;
  std::vector<Box> boxes_;
  std::vector<double> particles_, charges_;
  Buffer<Box> box_records_;
  Buffer<u8> particle_, charge_, force_;
  u64 launched_blocks_ = 0;
};

const RegisterWorkload<LavaMd> kRegistered{{
    .name = "lavamd",
    .purpose = "particle forces between boxes, accumulated in memory: bound by the shared cache",
    .origin = "Rodinia lavaMD",
    .papers = "CD",
    .module = "lavamd",
    .variants = {"cd"},
}};

}  // namespace
}  // namespace terrace
