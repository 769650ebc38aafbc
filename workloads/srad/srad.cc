// SRAD: speckle-reducing anisotropic diffusion of an image, Rodinia's first version. Streams over up to 14 arrays at
// once; between reduce and srad1 the host turns the totals into the speckle's relative variance. A slice cuts the
// element-wise kernels; the reductions always cover the whole image.
// Variants: dws (1 iteration), mask (100, never completed under its cap on instructions).
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"
#include "support/series.h"

namespace terrace {
namespace {

constexpr u32 kThreads = 512;  // as in srad.cu
constexpr double kLambda = 0.5;

/// The neighbour in one direction; beyond the border stands the border itself.
i32 neighbour(u32 at, u32 count, bool upwards) {
  return static_cast<i32>(upwards ? std::min(at + 1, count - 1) : at == 0 ? 0 : at - 1);
}

class Srad final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 rows = 502, columns = 458;

    void describe(Fields& v) override {
      v("rows", rows, in(2, 1 << 14), "rows of the image; it is stored by columns");
      v("columns", columns, in(2, 1 << 14), "columns of the image");
      WorkloadParams::describe(v);
    }
    u32 elements() const { return rows * columns; }

   protected:
    std::string_view iters_doc() const override { return "iterations of the diffusion"; }
  };

  static void preset(InputSize size, std::string_view variant, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.rows = 24, p.columns = 36;
        break;
      case InputSize::kTiny:
        p.rows = 168;
        break;
      case InputSize::kSmall:
        p.iters = 4;
        break;
      case InputSize::kPaper:
        p.iters = variant == "mask" ? 100 : 1;
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) {
    return u64{p.elements()} * 8 * sizeof(float) + 2 * (u64{p.rows} + p.columns) * sizeof(i32);
  }

  explicit Srad(const Params& params) : p_(params) {
    for (u32 count = p_.elements(); count > 1; count = blocks_of(count, kThreads)) levels_.push_back(count);
  }

  void allocate(GuestMemory& memory) override {
    static constexpr std::string_view kNames[] = {"image", "sums", "squares", "dN", "dS", "dW", "dE", "c"};
    Buffer<float>* const all[] = {&image_, &sums_, &squares_, &dn_, &ds_, &dw_, &de_, &c_};
    for (u32 i = 0; i < std::size(all); ++i) *all[i] = Buffer<float>(memory, kNames[i], p_.elements());
    north_ = Buffer<i32>(memory, "iN", p_.rows);
    south_ = Buffer<i32>(memory, "iS", p_.rows);
    west_ = Buffer<i32>(memory, "jW", p_.columns);
    east_ = Buffer<i32>(memory, "jE", p_.columns);
  }

  void fill(GuestMemory& memory) override {
    draw_uniform(memory, image_, p_.seed, "srad.image", 0, 255);
    for (const Buffer<float>* buffer : {&sums_, &squares_, &dn_, &ds_, &dw_, &de_, &c_})
      fill_with(memory, *buffer, 0.0f);
    const auto first = image_.read(memory);
    first_.assign(first.begin(), first.end());
    const auto indices = [&memory](const Buffer<i32>& buffer, bool upwards) {
      const auto values = buffer.write(memory);
      for (u32 i = 0; i < values.size(); ++i) values[i] = neighbour(i, static_cast<u32>(values.size()), upwards);
    };
    indices(north_, false);
    indices(south_, true);
    indices(west_, false);
    indices(east_, true);
  }

  /// extract; in each iteration prepare, the levels of reduce, srad1 and srad2; compress.
  u64 launches() const override { return 2 + iteration_launches() * p_.iters; }

  Launch launch(GuestMemory& memory, u64 number) override {
    if (number == 0) return element_wise("extract").argument(image_).argument(p_.elements());
    if (number == launches() - 1) return element_wise("compress").argument(image_).argument(p_.elements());
    const u64 stage = (number - 1) % iteration_launches();
    if (stage == 0)
      return element_wise("prepare").argument(image_).argument(sums_).argument(squares_).argument(p_.elements());
    if (stage <= levels_.size()) return reduction(stage - 1);
    return stage == levels_.size() + 1 ? differences(memory) : update();
  }

  /// The whole program again, in double. Where the image is almost black, log makes much of little: errors are relative
  /// to a grey level there.
  CheckResult check(const GuestMemory& memory) const override {
    State s{std::vector<double>(first_.begin(), first_.end()), {}, {}, {}};
    s.sums.resize(p_.elements());
    s.squares.resize(p_.elements());
    s.c.resize(p_.elements());
    const u64 launched = std::min<u64>(element_wise("").blocks() * kThreads, p_.elements());
    for (u64 e = 0; e < launched; ++e) s.image[e] = series_exp(s.image[e] / 255);
    for (u32 i = 0; i < p_.iters; ++i) diffuse(s, launched);
    for (u64 e = 0; e < launched; ++e) s.image[e] = 255 * series_log(s.image[e]);

    RelativeCheck image("image", 1e-3, 1), coefficients("c", 1e-3, 1e-2);
    const auto got = image_.read(memory), got_c = c_.read(memory);
    for (u64 e = 0; e < p_.elements(); ++e) {
      image.compare(e, got[e], s.image[e]);
      coefficients.compare(e, got_c[e], s.c[e]);
    }
    return both(image.result(), coefficients.result());
  }

 private:
  struct State {
    std::vector<double> image, sums, squares, c;
  };

  u64 iteration_launches() const { return levels_.size() + 3; }
  Launch element_wise(std::string kernel) const {
    return sliced_launch(std::move(kernel), {blocks_of(p_.elements(), kThreads)}, {kThreads}, p_.slice);
  }
  static u32 stride_of(u64 level) {
    u32 stride = 1;
    for (; level > 0; --level) stride *= kThreads;
    return stride;
  }
  Launch reduction(u64 level) const {
    Launch sums = sliced_launch("reduce", {blocks_of(levels_[level], kThreads)}, {kThreads}, {Fraction::kOne});
    return sums.argument(sums_).argument(squares_).argument(levels_[level]).argument(stride_of(level));
  }
  Launch differences(const GuestMemory& memory) const {
    const double q0_squared = relative_variance(sums_.get(memory, 0), squares_.get(memory, 0));
    Launch srad1 = element_wise("srad1");
    srad1.argument(image_).argument(north_).argument(south_).argument(west_).argument(east_);
    srad1.argument(dn_).argument(ds_).argument(dw_).argument(de_).argument(c_);
    return srad1.argument(p_.rows).argument(p_.elements()).argument(static_cast<float>(q0_squared));
  }
  Launch update() const {
    Launch srad2 = element_wise("srad2");
    srad2.argument(image_).argument(south_).argument(east_).argument(dn_).argument(ds_).argument(dw_).argument(de_);
    return srad2.argument(c_).argument(p_.rows).argument(p_.elements()).argument(static_cast<float>(kLambda));
  }

  double relative_variance(double sum, double square) const {
    const double mean = sum / p_.elements();
    return (square / p_.elements() - mean * mean) / (mean * mean);
  }

  void diffuse(State& s, u64 launched) const {
    for (u64 e = 0; e < launched; ++e) {
      s.sums[e] = s.image[e];
      s.squares[e] = s.image[e] * s.image[e];
    }
    for (u64 level = 0; level < levels_.size(); ++level) {
      for (auto* values : {&s.sums, &s.squares}) {
        for (u64 first = 0; first < levels_[level]; first += kThreads) {
          double total = 0;
          for (u64 i = first; i < std::min<u64>(first + kThreads, levels_[level]); ++i)
            total += (*values)[i * stride_of(level)];
          (*values)[first * stride_of(level)] = total;
        }
      }
    }
    const double q0 = relative_variance(s.sums[0], s.squares[0]);
    std::vector<double> changes(launched, 0.0);
    for (u64 e = 0; e < launched; ++e) s.c[e] = coefficient(s.image, e, q0);
    for (u64 e = 0; e < launched; ++e) changes[e] = 0.25 * kLambda * divergence(s, e);
    for (u64 e = 0; e < launched; ++e) s.image[e] += changes[e];
  }

  /// The elements to the north, south, west and east.
  std::array<u64, 4> around(u64 e) const {
    const u32 row = static_cast<u32>(e) % p_.rows, column = static_cast<u32>(e) / p_.rows;
    const auto at = [this](i32 r, i32 c) { return static_cast<u64>(r) + u64{p_.rows} * static_cast<u64>(c); };
    const i32 r = static_cast<i32>(row), c = static_cast<i32>(column);
    return {at(neighbour(row, p_.rows, false), c), at(neighbour(row, p_.rows, true), c),
            at(r, neighbour(column, p_.columns, false)), at(r, neighbour(column, p_.columns, true))};
  }
  double coefficient(const std::vector<double>& image, u64 e, double q0) const {
    double squares = 0, sum = 0;
    for (const u64 other : around(e)) {
      const double difference = image[other] - image[e];
      squares += difference * difference;
      sum += difference;
    }
    const double laplacian = sum / image[e], below = 1 + laplacian / 4;
    const double q = (squares / (image[e] * image[e]) / 2 - laplacian * laplacian / 16) / (below * below);
    return std::clamp(1 / (1 + (q - q0) / (q0 * (1 + q0))), 0.0, 1.0);
  }
  double divergence(const State& s, u64 e) const {
    const auto [north, south, west, east] = around(e);
    const auto to = [&s, e](u64 other) { return s.image[other] - s.image[e]; };
    return s.c[e] * to(north) + s.c[south] * to(south) + s.c[e] * to(west) + s.c[east] * to(east);
  }

  Params p_;
  std::vector<u32> levels_;  // of the reduction: how many elements each adds up
  Buffer<float> image_, sums_, squares_, dn_, ds_, dw_, de_, c_;
  Buffer<i32> north_, south_, west_, east_;
  std::vector<float> first_;
};

const RegisterWorkload<Srad> kRegistered{{
    .name = "srad",
    .purpose = "anisotropic diffusion of an image: 14 arrays streamed at once, strided reductions",
    .origin = "Rodinia srad_v1",
    .papers = "MASK, DWS",
    .module = "srad",
    .variants = {"mask", "dws"},
    .paper_needs_variant = true,
}};

}  // namespace
}  // namespace terrace
