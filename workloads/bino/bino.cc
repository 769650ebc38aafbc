// BINO: European options on binomial trees, one a block. Shared memory and barriers; global memory is rare and
// coalesced. Variant: cd (512 options, 2,048 steps).
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "engine/check.h"
#include "frontend/workload.h"
#include "support/black_scholes.h"
#include "support/checks.h"
#include "support/inputs.h"
#include "support/series.h"

namespace terrace {
namespace {

// As bino.cu has them.
constexpr u32 kThreads = 256, kDelta = 32, kMostOptions = 1024, kSlack = 16;

constexpr double kRate = 0.06, kVolatility = 0.10;

/// What the device reads.
struct TreeOption {
  float spot, strike, move, up, down;
};

class BinomialOptions final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 options = 16;
    u32 steps = 512;

    void describe(Fields& v) override {
      v("options", options, in(1, kMostOptions), "options to price, a block each");
      v("steps", steps, in(kDelta, 1 << 16), "steps of the trees, a multiple of 32");
      WorkloadParams::describe(v);
    }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    const auto shape = [&p](u32 options, u32 steps) { p.options = options, p.steps = steps; };
    switch (size) {
      case InputSize::kMini:
        return shape(3, 64);
      case InputSize::kTiny:
        return shape(192, 64);
      case InputSize::kSmall:
        return shape(192, 512);
      case InputSize::kPaper:
        return shape(512, 2048);
    }
  }
  static u64 footprint_bytes(const Params& p) { return u64{p.options} * (p.steps + kSlack + 1) * sizeof(float); }

  explicit BinomialOptions(const Params& params) : p_(params) {
    if (p_.steps % kDelta) input_error("bino: steps ({}) must be a multiple of {}", p_.steps, kDelta);
    Rng rng(p_.seed, "bino.options");
    for (u32 i = 0; i < p_.options; ++i) {
      const double spot = rng.uniform(5, 30);
      const double strike = rng.uniform(1, 100);
      years_.push_back(rng.uniform(0.25, 10));
      const double step = years_.back() / p_.steps;
      const double move = kVolatility * std::sqrt(step);
      const double growth = series_exp(kRate * step), rise = series_exp(move), fall = series_exp(-move);
      const double up = (growth - fall) / (rise - fall);
      options_.push_back({static_cast<float>(spot), static_cast<float>(strike), static_cast<float>(move),
                          static_cast<float>(up / growth), static_cast<float>((1 - up) / growth)});
    }
  }

  void allocate(GuestMemory& memory) override {
    buffers_ = Buffer<float>(memory, "buffers", u64{p_.options} * (p_.steps + kSlack));
    prices_ = Buffer<float>(memory, "prices", p_.options);
  }

  void fill(GuestMemory& memory) override {
    fill_with(memory, buffers_, 0.0f);
    fill_with(memory, prices_, 0.0f);
  }

  u64 launches() const override { return p_.iters; }

  Launch launch(GuestMemory& memory, u64) override {
    write_module_variable(memory, "bino_options", std::as_bytes(std::span(options_)));
    Launch trees = sliced_launch("binomial", {p_.options}, {kThreads}, p_.slice);
    trees.argument(buffers_).argument(prices_).argument(p_.steps);
    launched_blocks_ = trees.blocks();
    return trees;
  }
  void archive_host(Archive& a) override { a(launched_blocks_); }

  /// Against the same tree in double, and against the formula that trees converge to. A price below a cent is compared
  /// in cents; the tree's own error falls with the number of steps and is far below the spot price over it.
  CheckResult check(const GuestMemory& memory) const override {
    RelativeCheck tree("prices", 1e-4, 0.01), formula("prices over spot, by Black-Scholes", 1.0 / p_.steps, 1);
    const auto prices = prices_.read(memory);
    for (u64 i = 0; i < launched_blocks_; ++i) {
      const double spot = options_[i].spot;
      tree.compare(i, prices[i], reference(options_[i]));
      formula.compare(i, prices[i] / spot,
                      black_scholes(spot, options_[i].strike, years_[i], kRate, kVolatility).call / spot);
    }
    return both(tree.result(), formula.result());
  }

 private:
  double reference(const TreeOption& option) const {
    std::vector<double> values(p_.steps + 1);
    const double n = p_.steps;
    for (u64 i = 0; i <= p_.steps; ++i) {
      const double price = double{option.spot} * series_exp(double{option.move} * (2 * static_cast<double>(i) - n));
      values[i] = std::max(price - double{option.strike}, 0.0);
    }
    for (u64 left = p_.steps; left > 0; --left) {
      for (u64 i = 0; i < left; ++i) values[i] = double{option.up} * values[i + 1] + double{option.down} * values[i];
    }
    return values[0];
  }

  Params p_;
  std::vector<TreeOption> options_;
  std::vector<double> years_;
  Buffer<float> buffers_, prices_;
  u64 launched_blocks_ = 0;
};

const RegisterWorkload<BinomialOptions> kRegistered{{
    .name = "bino",
    .purpose = "option pricing on binomial trees: shared memory and barriers, almost no global memory",
    .origin = "CUDA SDK binomialOptions",
    .papers = "CD",
    .module = "bino",
    .variants = {"cd"},
}};

}  // namespace
}  // namespace terrace
