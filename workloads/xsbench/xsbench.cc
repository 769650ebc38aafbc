// XSBench: Monte Carlo neutron cross-section lookup. A binary search that fans out from one page to a page per lane,
// then gathers whose trip count differs per lane (4 to 34 nuclides): divergent in control and in memory.
// The result of a lookup is the number (1 to 5) of its largest reaction channel, so that 0 stands for no lookup.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/check.h"
#include "engine/rng.h"
#include "frontend/workload.h"
#include "support/checks.h"

namespace terrace {
namespace {

constexpr u32 kMaterials = 12;
constexpr u32 kChannels = 5;
constexpr u32 kMostNuclides = 34;
// The Hoogenboom-Martin reactor in its small form: nuclides of each material, and how often a lookup hits it.
constexpr std::array<u32, kMaterials> kNuclideCounts{34, 5, 4, 4, 27, 21, 21, 21, 21, 21, 9, 9};
constexpr std::array<double, kMaterials> kShares{0.140, 0.052, 0.275, 0.134, 0.154, 0.064,
                                                 0.066, 0.055, 0.008, 0.015, 0.025, 0.013};
constexpr std::array<double, kMaterials> kCumulative = [] {
  std::array<double, kMaterials> cumulative = kShares;
  for (u32 material = 1; material < kMaterials; ++material) cumulative[material] += cumulative[material - 1];
  return cumulative;
}();

struct GridPoint {
  double energy;
  std::array<double, kChannels> channel;
};

/// The kernel's generator of random numbers: x -> a x + 1 (mod 2^63).
class LookupRng {
 public:
  explicit LookupRng(u64 state) : state_(state) {}
  double draw() {
    state_ = (2806196910506780709u * state_ + 1) & ((u64{1} << 63) - 1);
    return static_cast<double>(state_) * 0x1p-63;
  }

 private:
  u64 state_;
};

class CrossSections final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 nuclides = 68;
    u32 points = 10'000;
    u32 lookups = 102'400;
    u32 threads = 256;

    void describe(Fields& v) override {
      v("nuclides", nuclides, in(kMostNuclides, 1024), "nuclides with a grid of their own");
      v("points", points, in(2, 1 << 20), "energies in the grid of a nuclide");
      v("lookups", lookups, in(1, 1 << 30), "lookups, one per thread");
      v("threads", threads, in(1, 1024), "threads in a block");
      WorkloadParams::describe(v);
    }
    u64 union_points() const { return u64{nuclides} * points; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    switch (size) {
      case InputSize::kMini:  // smaller blocks, so that there are several
        p.points = 40, p.lookups = 192, p.threads = 64;
        break;
      case InputSize::kTiny:
        p.points = 1500, p.lookups = 8192;
        break;
      case InputSize::kSmall:
        p.lookups = 102'400;
        break;
      case InputSize::kPaper:
        p.lookups = 1 << 20;
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) {
    return p.union_points() * (sizeof(GridPoint) + sizeof(double) + sizeof(i32) * p.nuclides) +
           kMaterials * sizeof(i32) + kMaterials * kMostNuclides * (sizeof(i32) + sizeof(double)) +
           p.lookups * sizeof(u64);
  }

  explicit CrossSections(const Params& params) : p_(params) {
    if (p_.union_points() >= u64{1} << 31) {
      input_error("{} nuclides with {} points each are more energies than 32-bit indexes can name; choose fewer points",
                  p_.nuclides, p_.points);
    }
  }

  void allocate(GuestMemory& memory) override {
    grid_ = Buffer<GridPoint>(memory, "nuclide_grid", p_.union_points());
    energies_ = Buffer<double>(memory, "union_energies", p_.union_points());
    indexes_ = Buffer<i32>(memory, "index_grid", p_.union_points() * p_.nuclides);
    counts_ = Buffer<i32>(memory, "nuclide_counts", kMaterials);
    materials_ = Buffer<i32>(memory, "materials", kMaterials * kMostNuclides);
    concentrations_ = Buffer<double>(memory, "concentrations", kMaterials * kMostNuclides);
    verification_ = Buffer<u64>(memory, "verification", p_.lookups);
  }

  void fill(GuestMemory& memory) override {
    if (points_.empty()) draw_grid();  // sorting takes longer than all the rest: once is enough
    std::copy(points_.begin(), points_.end(), grid_.write(memory).begin());
    fill_union(memory);
    fill_materials(memory);
    for (u64& value : verification_.write(memory)) value = 0;
  }

  u64 launches() const override { return p_.iters; }

  Launch launch(GuestMemory& memory, u64) override {
    write_module_variable(memory, "xs_cumulative", std::as_bytes(std::span(kCumulative)));
    Launch lookups = sliced_launch("xs_lookup", {(p_.lookups + p_.threads - 1) / p_.threads}, {p_.threads}, p_.slice);
    lookups.argument(energies_).argument(indexes_).argument(grid_).argument(counts_).argument(materials_);
    lookups.argument(concentrations_).argument(verification_);
    lookups.argument(p_.lookups).argument(p_.nuclides).argument(p_.points).argument(lookup_seed());
    launched_ = std::min<u64>(lookups.blocks() * p_.threads, p_.lookups);
    return lookups;
  }
  void archive_host(Archive& a) override { a(launched_); }

  /// Every launched lookup again. The kernel may fuse multiplications with additions, so that channels within 1e-12 of
  /// the largest are as good.
  CheckResult check(const GuestMemory& memory) const override {
    const auto got = verification_.read(memory);
    ExactCheck largest("verification");
    u64 sum = 0;
    LookupRng rng(lookup_seed());  // the threads' draws follow one another: no jump needed
    for (u64 lookup = 0; lookup < launched_; ++lookup) {
      const double energy = rng.draw();
      const auto channels = cross_sections(memory, energy, material_of(rng.draw()));
      const double most = *std::max_element(channels.begin(), channels.end());
      const u64 want = static_cast<u64>(std::max_element(channels.begin(), channels.end()) - channels.begin()) + 1;
      const bool tie = got[lookup] - 1 < kChannels && channels[got[lookup] - 1] >= most * (1 - 1e-12);
      largest.compare(lookup, static_cast<i64>(got[lookup]), static_cast<i64>(tie ? got[lookup] : want));
      sum += got[lookup];
    }
    CheckResult result = largest.result();
    result.message += fmt::format(", their sum is {}", sum);
    return result;
  }

 private:
  u64 lookup_seed() const { return Rng(p_.seed, "xsbench.lookups").next() >> 1; }
  static u32 material_of(double roll) {
    return static_cast<u32>(std::upper_bound(kCumulative.begin(), kCumulative.end() - 1, roll) - kCumulative.begin());
  }

  void draw_grid() {
    Rng energies(p_.seed, "xsbench.energies"), channels(p_.seed, "xsbench.channels");
    std::vector<double> sorted(p_.points);
    for (u32 nuclide = 0; nuclide < p_.nuclides; ++nuclide) {
      for (double& energy : sorted) energy = energies.unit();
      std::sort(sorted.begin(), sorted.end());
      for (const double energy : sorted) {
        points_.push_back({energy, {}});
        for (double& channel : points_.back().channel) channel = channels.unit();
        union_.emplace_back(energy, nuclide);
      }
    }
    std::sort(union_.begin(), union_.end());  // the nuclide breaks ties; equal pairs are alike
  }

  /// Beside each energy of the union: per nuclide the last of its points not above it, with another to follow.
  void fill_union(GuestMemory& memory) {
    const auto energies = energies_.write(memory);
    const auto indexes = indexes_.write(memory);
    std::vector<u32> passed(p_.nuclides, 0);  // points of each nuclide at or below the energy
    std::vector<i32> row(p_.nuclides, 0);
    auto next = indexes.begin();
    for (u64 at = 0; at < union_.size(); ++at) {
      const auto [energy, nuclide] = union_[at];
      energies[at] = energy;
      row[nuclide] = static_cast<i32>(std::min(passed[nuclide]++, p_.points - 2));
      next = std::copy(row.begin(), row.end(), next);
    }
  }

  /// Each material has nuclides of its own choice, none twice, in random concentrations.
  void fill_materials(GuestMemory& memory) {
    Rng rng(p_.seed, "xsbench.materials");
    const auto counts = counts_.write(memory), materials = materials_.write(memory);
    const auto concentrations = concentrations_.write(memory);
    std::vector<i32> pool(p_.nuclides);
    for (u32 nuclide = 0; nuclide < p_.nuclides; ++nuclide) pool[nuclide] = static_cast<i32>(nuclide);
    for (u32 material = 0; material < kMaterials; ++material) {
      counts[material] = static_cast<i32>(kNuclideCounts[material]);
      for (u32 k = 0; k < kMostNuclides; ++k) {
        const bool used = k < kNuclideCounts[material];
        if (used) std::swap(pool[k], pool[k + rng.below(p_.nuclides - k)]);
        materials[material * kMostNuclides + k] = used ? pool[k] : 0;
        concentrations[material * kMostNuclides + k] = used ? rng.unit() : 0;
      }
    }
  }

  /// The five sums, found without the union and its index: each nuclide's own grid is searched.
  std::array<double, kChannels> cross_sections(const GuestMemory& memory, double energy, u32 material) const {
    const auto materials = materials_.read(memory);
    const auto concentrations = concentrations_.read(memory);
    std::array<double, kChannels> sums{};
    for (u32 k = material * kMostNuclides; k < material * kMostNuclides + kNuclideCounts[material]; ++k) {
      const auto grid = std::span(points_).subspan(u64(materials[k]) * p_.points, p_.points);
      const auto above = std::upper_bound(grid.begin() + 1, grid.end() - 1, energy,
                                          [](double e, const GridPoint& point) { return e < point.energy; });
      const GridPoint &low = above[-1], &high = above[0];
      const double share = (high.energy - energy) / (high.energy - low.energy);
      for (u32 channel = 0; channel < kChannels; ++channel) {
        const double top = high.channel[channel];
        sums[channel] += concentrations[k] * (top - share * (top - low.channel[channel]));
      }
    }
    return sums;
  }

  Params p_;
  std::vector<GridPoint> points_;
  std::vector<std::pair<double, u32>> union_;  // energy and whose it is
  Buffer<GridPoint> grid_;
  Buffer<double> energies_, concentrations_;
  Buffer<i32> indexes_, counts_, materials_;
  Buffer<u64> verification_;
  u64 launched_ = 0;
};

const RegisterWorkload<CrossSections> kRegistered{{
    .name = "xsbench",
    .purpose = "neutron cross-section lookup: binary search and gathers with a page per lane, diverging trip counts",
    .origin = "DOE proxy application XSBench",
    .papers = "SIMT",
    .module = "xsbench",
    .variants = {"simt"},
}};

}  // namespace
}  // namespace terrace
