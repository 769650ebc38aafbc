// GAUSSIAN: elimination in two kernels a step. Columns of a row-major matrix: fan1 touches 32 pages an access, fan2 four
// with half a warp. A run may start at any step: what the steps before it leave is known in closed form. Variant: cd (2048).
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

constexpr u32 kFan1Threads = 512, kFan2Side = 4;
constexpr double kScale = 10, kDecay = 0.01;  // a[i][j] = 10 exp(-0.01 |i - j|)

struct System {
  std::vector<double> m, a, b;
};

class Gaussian final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 size = 1024;
    u32 first = 0;

    Params() { iters = 0; }
    void describe(Fields& v) override {
      v("dim", size, in(2, 1 << 14), "unknowns: rows and columns of the matrix");
      v("first", first, in(0, 1 << 14), "the first step to run; the matrix is as the steps before it leave it");
      WorkloadParams::describe(v);
    }
    u32 steps() const { return iters ? std::min(iters, size - 1 - first) : size - 1 - first; }
    u64 elements() const { return u64{size} * size; }

   protected:
    u64 least_iters() const override { return 0; }
    std::string_view iters_doc() const override { return "steps, two launches each; 0: all"; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.size = 36, p.iters = 3;
        break;
      case InputSize::kTiny:
        p.size = 1024, p.first = 512, p.iters = 1;
        p.slice = {Fraction::kOne * 3 / 10};
        break;
      case InputSize::kSmall:
        p.size = 1024, p.iters = 4;
        break;
      case InputSize::kPaper:
        p.size = 2048;
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) { return (2 * p.elements() + p.size) * sizeof(float); }

  explicit Gaussian(const Params& params) : p_(params) {
    if (p_.first >= p_.size - 1)
      input_error("gaussian.first ({}) must be a step, below dim - 1 ({})", p_.first, p_.size - 1);
  }

  void allocate(GuestMemory& memory) override {
    m_ = Buffer<float>(memory, "m", p_.elements());
    a_ = Buffer<float>(memory, "a", p_.elements());
    b_ = Buffer<float>(memory, "b", p_.size);
  }

  void fill(GuestMemory& memory) override {
    const System first = first_system();
    const auto put = [&](const Buffer<float>& buffer, const std::vector<double>& values) {
      std::ranges::transform(values, buffer.write(memory).begin(), [](double x) { return static_cast<float>(x); });
    };
    put(m_, first.m), put(a_, first.a), put(b_, first.b);
  }

  u64 launches() const override { return 2 * u64{p_.steps()}; }

  /// A slice cuts fan2, which needs all of fan1.
  Launch launch(GuestMemory&, u64 number) override {
    const u32 t = p_.first + static_cast<u32>(number / 2);
    Launch fan = number % 2
                     ? fan2()
                     : sliced_launch("fan1", {blocks_of(p_.size, kFan1Threads)}, {kFan1Threads}, {Fraction::kOne});
    fan.argument(m_).argument(a_);
    if (number % 2) fan.argument(b_);
    return fan.argument(p_.size).argument(t);
  }

  /// The steps again in double. The first step leaves differences of nearly equal numbers: they are compared with 1, a
  /// tenth of what they come from.
  CheckResult check(const GuestMemory& memory) const override {
    System want = first_system();
    for (u32 t = p_.first; t < p_.first + p_.steps(); ++t) eliminate(want, t);
    const auto compare = [](std::string_view what, std::span<const float> got, const std::vector<double>& expected) {
      RelativeCheck comparison(what, 1e-3, 1);
      for (u64 i = 0; i < got.size(); ++i) comparison.compare(i, double{got[i]}, expected[i]);
      return comparison.result();
    };
    return both(both(compare("a", a_.read(memory), want.a), compare("m", m_.read(memory), want.m)),
                compare("b", b_.read(memory), want.b));
  }

 private:
  Launch fan2() const {
    const u32 blocks = blocks_of(p_.size, kFan2Side);
    return sliced_launch("fan2", {blocks, blocks}, {kFan2Side, kFan2Side}, p_.slice);
  }

  /// With q = exp(-0.01), step k finds a[i][j] = 10 (q^|i-j| - q^(i-k+1) q^(j-k+1)) in what is left, and b[i] = 1 -
  /// q^(i-k+1): the matrix is the covariance of a chain, of which only the last eliminated link is felt.
  System first_system() const {
    const u64 n = p_.size;
    std::vector<double> power(2 * n + 2);
    for (u64 i = 0; i < power.size(); ++i) power[i] = series_exp(-kDecay * static_cast<double>(i));
    System system{std::vector<double>(n * n, 0), std::vector<double>(n * n), std::vector<double>(n)};
    for (u64 i = 0; i < n; ++i) {
      const u64 done = std::min<u64>(i, p_.first);  // steps that row i has seen
      for (u64 j = 0; j < n; ++j) {
        const double felt = done == 0 ? 0 : power[i - done + 1] * (j + 1 >= done ? power[j + 1 - done] : 0);
        system.a[i * n + j] = j < done ? 0 : kScale * (power[i > j ? i - j : j - i] - felt);
        if (j < done) system.m[i * n + j] = power[i - j];
      }
      system.b[i] = 1 - (done == 0 ? 0 : power[i - done + 1]);
    }
    return system;
  }

  void eliminate(System& s, u64 t) const {
    const u64 n = p_.size, blocks = blocks_of(p_.size, kFan2Side), launched = fan2().blocks();
    for (u64 i = t + 1; i < n; ++i) s.m[i * n + t] = s.a[i * n + t] / s.a[t * n + t];
    for (u64 i = t + 1; i < n; ++i) {
      for (u64 j = t; j < n; ++j) {
        if ((j - t) / kFan2Side * blocks + (i - t - 1) / kFan2Side >= launched) continue;
        s.a[i * n + j] -= s.m[i * n + t] * s.a[t * n + j];
        if (j == t) s.b[i] -= s.m[i * n + t] * s.b[t];
      }
    }
  }

  Params p_;
  Buffer<float> m_, a_, b_;
};

const RegisterWorkload<Gaussian> kRegistered{{
    .name = "gaussian",
    .purpose = "Gaussian elimination with threads along columns: blocks of half a warp on four pages an access",
    .origin = "Rodinia gaussian",
    .papers = "CD",
    .module = "gaussian",
    .variants = {"cd"},
}};

}  // namespace
}  // namespace terrace
