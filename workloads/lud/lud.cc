// LUD: LU decomposition of a dense matrix in tiles, three launches a step whose grids shrink. Half warps on rows of 16:
// two lines an access, on two pages where a row fills one. Variants: mask (256), vc (1024).
// SPDX-License-Identifier: MIT
#include <cmath>

#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

constexpr u32 kTile = 16;  // as in lud.cu

class LuDecomposition final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 size = 256;

    void describe(Fields& v) override {
      v("dim", size, in(2 * kTile, 1 << 14), "rows and columns of the matrix, a multiple of 16");
      WorkloadParams::describe(v);
    }
    u32 tiles() const { return size / kTile; }
    u64 elements() const { return u64{size} * size; }
  };

  static void preset(InputSize size, std::string_view variant, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.size = 32;
        break;
      case InputSize::kTiny:
        p.size = 224;
        break;
      case InputSize::kSmall:
        p.size = 512;
        break;
      case InputSize::kPaper:
        p.size = variant == "vc" ? 1024 : 256;
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) { return p.elements() * sizeof(float); }

  explicit LuDecomposition(const Params& params) : p_(params) {
    if (p_.size % kTile) input_error("lud: dim ({}) must be a multiple of {}", p_.size, kTile);
  }

  void allocate(GuestMemory& memory) override { matrix_ = Buffer<float>(memory, "matrix", p_.elements()); }

  void fill(GuestMemory& memory) override {
    const std::vector<float> first = first_matrix();
    std::copy(first.begin(), first.end(), matrix_.write(memory).begin());
  }

  u64 launches() const override { return u64{p_.iters} * launches_each(); }

  Launch launch(GuestMemory&, u64 number) override {
    const u64 within = number % launches_each();
    const u32 step = static_cast<u32>(within / 3), rest = p_.tiles() - step - 1;
    Launch launch;
    if (within % 3 == 0) launch = sliced_launch("lud_diagonal", {1}, {kTile}, {Fraction::kOne});
    if (within % 3 == 1) launch = sliced_launch("lud_perimeter", {rest}, {2 * kTile}, {Fraction::kOne});
    if (within % 3 == 2) launch = sliced_launch("lud_internal", {rest, rest}, {kTile, kTile}, p_.slice);
    launch.argument(matrix_).argument(p_.size).argument(step * kTile);
    return launch;
  }

  /// The same steps in double, tile by tile as far as they were launched.
  CheckResult check(const GuestMemory& memory) const override {
    const std::vector<float> first = first_matrix();
    std::vector<double> want(first.begin(), first.end());
    for (u32 time = 0; time < p_.iters; ++time) {
      for (u32 step = 0; step < p_.tiles(); ++step) decompose_step(want, step);
    }
    RelativeCheck comparison("matrix", 1e-4, 1e-2);
    const auto got = matrix_.read(memory);
    for (u64 at = 0; at < p_.elements(); ++at) comparison.compare(at, double{got[at]}, want[at]);
    return comparison.result();
  }

 private:
  /// The last step has only its diagonal tile.
  u64 launches_each() const { return 3 * u64{p_.tiles()} - 2; }

  /// Uniform in [-1, 1), and a diagonal that outweighs its row.
  std::vector<float> first_matrix() const {
    Rng rng(p_.seed, "lud.matrix");
    std::vector<float> matrix(p_.elements());
    for (u64 at = 0; at < matrix.size(); ++at) {
      const double drawn = rng.uniform(-1, 1);
      matrix[at] = static_cast<float>(at % (u64{p_.size} + 1) == 0 ? p_.size + drawn : drawn);
    }
    return matrix;
  }

  void decompose_step(std::vector<double>& a, u32 step) const {
    const u64 n = p_.size, first = u64{step} * kTile, end = first + kTile;
    for (u64 k = first; k < end; ++k) {
      for (u64 i = k + 1; i < n; ++i) {
        double& factor = a[i * n + k];
        factor /= a[k * n + k];
        for (u64 j = k + 1; j < (i < end ? n : end); ++j) a[i * n + j] -= factor * a[k * n + j];
      }
    }
    const u32 rest = p_.tiles() - step - 1;
    if (rest == 0) return;
    const u64 launched = sliced_launch("", {rest, rest}, {1}, p_.slice).blocks();
    for (u64 block = 0; block < launched; ++block) {
      const u64 top = end + block / rest * kTile, left = end + block % rest * kTile;
      for (u64 i = top; i < top + kTile; ++i) {
        for (u64 k = first; k < end; ++k) {
          for (u64 j = left; j < left + kTile; ++j) a[i * n + j] -= a[i * n + k] * a[k * n + j];
        }
      }
    }
  }

  Params p_;
  Buffer<float> matrix_;
};

const RegisterWorkload<LuDecomposition> kRegistered{{
    .name = "lud",
    .purpose = "LU decomposition in tiles: many launches whose grids shrink, half warps on rows of 16",
    .origin = "Rodinia lud",
    .papers = "MASK, VC",
    .module = "lud",
    .variants = {"mask", "vc"},
    .paper_needs_variant = true,
}};

}  // namespace
}  // namespace terrace
