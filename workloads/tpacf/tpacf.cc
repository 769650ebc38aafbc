// TPACF: angular correlation of points on the sky: dot products, a search in constant memory, atomics in shared memory.
// Variant: cd (100 random sets of 10,391 points). Sizes below have enough sets for 24 SMs, and fewer points in each.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"
#include "support/series.h"

namespace terrace {
namespace {

// As tpacf.cu has them.
constexpr u32 kMostThreads = 256, kBins = 20, kEdges = 32;

constexpr double kBinsPerDecade = 5, kLn10 = 2.302585092994046;
constexpr double kArcMinute = kPi / 180 / 60;
/// Cosines so close to an edge may fall on either side of it in single precision, which has 1.2e-7 of a cosine.
constexpr double kEdgeError = 1e-6;

class Tpacf final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 points = 10'391;
    u32 sets = 100;
    u32 threads = kMostThreads;

    void describe(Fields& v) override {
      v("points", points, in(2, 1 << 20), "points of a set");
      v("sets", sets, in(1, 4000), "random sets; the data are one more");
      v("threads", threads, in(kBins, kMostThreads), "threads in a block, and points of a tile");
      WorkloadParams::describe(v);
    }
    u64 all_points() const { return u64{points} * (sets + 1); }
    u32 blocks() const { return 2 * sets + 1; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.points = 36, p.sets = 1, p.threads = 32;
        break;
      case InputSize::kTiny:
        p.points = 56, p.sets = 96, p.threads = 64;
        break;
      case InputSize::kSmall:
        p.points = 224, p.sets = 96;
        break;
      case InputSize::kPaper:
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) {
    return 3 * p.all_points() * sizeof(float) + u64{p.blocks()} * kBins * sizeof(u32);
  }

  explicit Tpacf(const Params& params) : p_(params) {
    if (p_.all_points() >= u64{1} << 32) input_error("tpacf: {} points in all are too many", p_.all_points());
    edges_.fill(-2);
    for (u64 i = 0; i < kBins; ++i) {
      const double angle = series_exp(kLn10 * static_cast<double>(i) / kBinsPerDecade) * kArcMinute;
      edges_[i] = static_cast<float>(series_sin_cos(angle).cos);
    }
  }

  void allocate(GuestMemory& memory) override {
    for (u32 i = 0; i < 3; ++i)
      points_[i] = Buffer<float>(memory, std::string_view("xyz").substr(i, 1), p_.all_points());
    histograms_ = Buffer<u32>(memory, "histograms", u64{p_.blocks()} * kBins);
  }

  /// Uniform on the sphere: what a cube has inside it, moved out to it.
  void fill(GuestMemory& memory) override {
    Rng rng(p_.seed, "tpacf.points");
    const std::array<std::span<float>, 3> points{points_[0].write(memory), points_[1].write(memory),
                                                 points_[2].write(memory)};
    for (u64 i = 0; i < p_.all_points();) {
      double v[3], squared = 0;
      for (double& component : v) {
        component = rng.uniform(-1, 1);
        squared += component * component;
      }
      if (squared > 1 || squared < 0.01) continue;
      for (u64 axis = 0; axis < 3; ++axis) points[axis][i] = static_cast<float>(v[axis] / std::sqrt(squared));
      ++i;
    }
    fill_with(memory, histograms_, 0u);
  }

  u64 launches() const override { return p_.iters; }

  Launch launch(GuestMemory& memory, u64) override {
    write_module_variable(memory, "tpacf_edges", std::as_bytes(std::span(edges_)));
    Launch pairs = sliced_launch("tpacf_pairs", {p_.blocks()}, {p_.threads}, p_.slice);
    for (const auto& axis : points_) pairs.argument(axis);
    pairs.argument(histograms_).argument(p_.points).argument(p_.sets);
    launched_blocks_ = pairs.blocks();
    return pairs;
  }
  void archive_host(Archive& a) override { a(launched_blocks_); }

  /// Counts are exact but for pairs at the edge of two bins, which may be in either.
  CheckResult check(const GuestMemory& memory) const override {
    const std::array<std::span<const float>, 3> points{points_[0].read(memory), points_[1].read(memory),
                                                       points_[2].read(memory)};
    const auto got = histograms_.read(memory);
    ExactCheck comparison("histograms"), totals("pairs of a block");
    for (u64 block = 0; block < p_.blocks(); ++block) {
      std::array<i64, kBins> sure{}, perhaps{};
      if (block < launched_blocks_) count_pairs(points, block, sure, perhaps);
      i64 got_total = 0;
      for (u64 bin = 0; bin < kBins; ++bin) {
        const i64 count = got[block * kBins + bin];
        comparison.compare(block * kBins + bin, count, std::clamp(count, sure[bin], sure[bin] + perhaps[bin]));
        got_total += count;
      }
      const i64 n = p_.points, all = block <= p_.sets ? n * (n - 1) / 2 : n * n;
      totals.compare(block, got_total, block < launched_blocks_ ? all : 0);
    }
    return both(comparison.result(), totals.result());
  }

 private:
  void count_pairs(const std::array<std::span<const float>, 3>& points, u64 block, std::array<i64, kBins>& sure,
                   std::array<i64, kBins>& perhaps) const {
    const bool self = block <= p_.sets;
    const u64 own = (self ? block : block - p_.sets) * p_.points, other = self ? own : 0;
    for (u64 i = 0; i < p_.points; ++i) {
      for (u64 j = self ? i + 1 : 0; j < p_.points; ++j) {
        double cosine = 0;
        for (const auto& axis : points) cosine += double{axis[own + i]} * double{axis[other + j]};
        const u64 low = bin_of(cosine + kEdgeError), high = bin_of(cosine - kEdgeError);
        if (low == high) ++sure[low];
        for (u64 bin = low; low != high && bin <= high; ++bin) ++perhaps[bin];
      }
    }
  }
  u64 bin_of(double cosine) const {
    u64 bin = 0;
    while (bin + 1 < kBins && cosine < double{edges_[bin + 1]}) ++bin;
    return bin;
  }

  Params p_;
  std::array<float, kEdges> edges_;
  Buffer<float> points_[3];
  Buffer<u32> histograms_;
  u64 launched_blocks_ = 0;
};

const RegisterWorkload<Tpacf> kRegistered{{
    .name = "tpacf",
    .purpose = "two-point angular correlation: dot products, searches and shared-memory atomics",
    .origin = "Parboil tpacf",
    .papers = "CD",
    .module = "tpacf",
    .variants = {"cd"},
}};

}  // namespace
}  // namespace terrace
