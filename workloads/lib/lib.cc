// LIB: swaptions in the LIBOR market model by Monte Carlo, values and sensitivities. Almost all it touches is local
// memory, 14 KB a thread, which the machine interleaves by words: a warp's access is one line. Variant: dws (4,096 paths).
// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>
#include <vector>

#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"
#include "support/series.h"

namespace terrace {
namespace {

// As lib.cu has them.
constexpr u32 kForward = 40, kMostSteps = 40, kMostRates = kForward + kMostSteps, kSwaptions = 15;
constexpr double kNormal = 0.3;

constexpr u32 kThreads = 64;
constexpr double kFirstRate = 0.05, kVolatility = 0.2, kDelta = 0.25;
constexpr std::array kMaturities{4, 8, 20, 28, 40};
constexpr std::array kSwapRates{0.045, 0.05, 0.055};

/// What both sides call the portfolio, in the layout of the device.
struct Portfolio {
  i32 maturity[kSwaptions];
  float rate[kSwaptions];
};
Portfolio portfolio() {
  Portfolio all;
  for (u32 i = 0; i < kSwaptions; ++i) {
    all.maturity[i] = kMaturities[i / kSwapRates.size()];
    all.rate[i] = static_cast<float>(kSwapRates[i % kSwapRates.size()]);
  }
  return all;
}

std::vector<double> first_rates(u32 steps) {
  return std::vector<double>(steps + kForward, kFirstRate);
}

/// The value of the portfolio on the one path there is, which starts from these rates.
double path_value(u32 steps, std::vector<double> rate) {
  for (u32 step = 0; step < steps; ++step) {
    double drift = 0;
    for (u32 i = step + 1; i < rate.size(); ++i) {
      const double scaled = kDelta * kVolatility;
      drift += scaled * rate[i] / (1 + kDelta * rate[i]);
      rate[i] *= series_exp(scaled * drift + kVolatility * (std::sqrt(kDelta) * kNormal - 0.5 * scaled));
    }
  }
  std::array<double, kForward> factors, sums;
  double factor = 1, sum = 0;
  for (u32 n = 0; n < kForward; ++n) {
    factor /= 1 + kDelta * rate[steps + n];
    sum += kDelta * factor;
    factors[n] = factor, sums[n] = sum;
  }
  double value = 0;
  const Portfolio all = portfolio();
  for (u32 i = 0; i < kSwaptions; ++i) {
    const u32 last = static_cast<u32>(all.maturity[i]) - 1;
    value += 100 * std::max(0.0, 1 - factors[last] - double{all.rate[i]} * sums[last]);
  }
  for (u32 n = 0; n < steps; ++n) value /= 1 + kDelta * rate[n];
  return value;
}

/// Its derivative by the last rate, from two values nearby: nothing here repeats the device's way backwards.
double path_slope(u32 steps) {
  constexpr double kNear = 1e-5;
  std::vector<double> up = first_rates(steps), down = up;
  up.back() += kNear, down.back() -= kNear;
  return (path_value(steps, up) - path_value(steps, down)) / (2 * kNear);
}

class Libor final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 paths = 4096, steps = 40;
    bool values = true, greeks = true;

    void describe(Fields& v) override {
      v("paths", paths, in(1, 1 << 20), "paths, a thread each");
      v("steps", steps, in(1, kMostSteps), "rates that are fixed one after the other; 40 more are left at the end");
      v("values", values, "run the kernel that computes values alone");
      v("greeks", greeks, "run the kernel that computes values and sensitivities");
      WorkloadParams::describe(v);
    }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    if (size == InputSize::kMini) p.paths = 60, p.steps = 1, p.values = false;
    if (size == InputSize::kTiny) p.paths = 256, p.values = false;
    if (size == InputSize::kSmall) p.paths = 2048, p.values = false;
  }
  static u64 footprint_bytes(const Params& p) { return 2 * u64{p.paths} * sizeof(float); }

  explicit Libor(const Params& params) : p_(params) {
    if (!p_.values && !p_.greeks) input_error("lib: nothing to run; set values or greeks to true");
  }

  void allocate(GuestMemory& memory) override {
    values_ = Buffer<float>(memory, "values", p_.paths);
    slopes_ = Buffer<float>(memory, "slopes", p_.paths);
  }

  void fill(GuestMemory& memory) override {
    fill_with(memory, values_, 0.0f);
    fill_with(memory, slopes_, 0.0f);
  }

  u64 launches() const override { return u64{p_.iters} * kernels(); }

  Launch launch(GuestMemory& memory, u64 number) override {
    const bool greeks = p_.greeks && number % kernels() == kernels() - 1;
    std::array<float, kMostRates> volatility;
    volatility.fill(static_cast<float>(kVolatility));
    const float delta = static_cast<float>(kDelta);
    const Portfolio swaptions = portfolio();
    write_module_variable(memory, "lib_volatility", std::as_bytes(std::span(volatility)));
    write_module_variable(memory, "lib_delta", std::as_bytes(std::span(&delta, 1)));
    write_module_variable(memory, "lib_portfolio", std::as_bytes(std::span(&swaptions, 1)));
    Launch paths =
        sliced_launch(greeks ? "lib_greeks" : "lib_values", {blocks_of(p_.paths, kThreads)}, {kThreads}, p_.slice);
    paths.argument(values_);
    if (greeks) paths.argument(slopes_);
    paths.argument(static_cast<float>(kFirstRate)).argument(p_.steps).argument(p_.paths);
    launched_paths_ = std::min<u64>(paths.blocks() * kThreads, p_.paths);
    return paths;
  }
  void archive_host(Archive& a) override { a(launched_paths_); }

  CheckResult check(const GuestMemory& memory) const override {
    const double value = path_value(p_.steps, first_rates(p_.steps));
    const CheckResult values = compare("values", values_.read(memory), value);
    return p_.greeks ? both(values, compare("slopes", slopes_.read(memory), path_slope(p_.steps))) : values;
  }

 private:
  u32 kernels() const { return u32{p_.values} + u32{p_.greeks}; }
  CheckResult compare(std::string_view what, std::span<const float> got, double want) const {
    RelativeCheck comparison(what, 1e-3);
    for (u64 path = 0; path < launched_paths_; ++path) comparison.compare(path, double{got[path]}, want);
    return comparison.result();
  }

  Params p_;
  Buffer<float> values_, slopes_;
  u64 launched_paths_ = 0;
};

const RegisterWorkload<Libor> kRegistered{{
    .name = "lib",
    .purpose = "LIBOR swaptions by Monte Carlo with sensitivities: 14 KB of local memory a thread",
    .origin = "GPGPU-Sim LIB",
    .papers = "DWS",
    .module = "lib",
    .variants = {"dws"},
}};

}  // namespace
}  // namespace terrace
