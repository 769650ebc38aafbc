// LEU: leukocyte detection: scores of circles around every pixel, then a dilation. Constant memory and arithmetic; the
// image stays in the caches. Variant: cd (640 x 219 pixels, 7 circles of 150 samples). Sizes below have enough columns
// for 24 SMs, and make up for them by fewer samples and a smaller disc.
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

// As leu.cu has them.
constexpr u32 kMargin = 22, kMostCircles = 7, kMostSamples = 150, kMostReach = 12;

struct Turn {
  float cos, sin;
};
struct Place {
  i32 dx, dy;
};

constexpr double kSmallestRadius = 8, kRadiusStep = 2;  // of the circles, in pixels

class Leukocyte final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 columns = 640, rows = 219;
    u32 circles = kMostCircles, samples = kMostSamples;
    u32 reach = kMostReach;
    u32 threads = 176;

    void describe(Fields& v) override {
      v("columns", columns, in(2 * kMargin + 1, 1 << 14), "columns of the image; all but 44 have a block");
      v("rows", rows, in(2 * kMargin + 1, 1000), "rows of the image; all but 44 have a thread of each block");
      v("circles", circles, in(1, kMostCircles), "circles around a pixel");
      v("samples", samples, in(2, kMostSamples), "places on a circle");
      v("reach", reach, in(1, kMostReach), "radius of the disc of the dilation");
      v("threads", threads, in(1, 1024), "threads in a block of the dilation");
      WorkloadParams::describe(v);
    }
    u64 pixels() const { return u64{columns} * rows; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    const auto image = [&p](u32 columns, u32 rows) { p.columns = columns, p.rows = rows; };
    switch (size) {
      case InputSize::kMini:
        p.circles = 2, p.samples = 20, p.reach = 1, p.threads = 64;
        return image(46, 48);
      case InputSize::kTiny:
        p.circles = 2, p.samples = 40, p.reach = 4, p.threads = 64;
        return image(236, 76);
      case InputSize::kSmall:
        p.samples = 75, p.reach = 6;
        return image(236, 172);
      case InputSize::kPaper:
        return image(640, 219);
    }
  }
  static u64 footprint_bytes(const Params& p) { return 4 * p.pixels() * sizeof(float); }

  explicit Leukocyte(const Params& params) : p_(params) {
    for (u32 i = 0; i < p_.samples; ++i) {
      const SinCos turn = series_sin_cos(2 * kPi * i / p_.samples);
      turns_.push_back({static_cast<float>(turn.cos), static_cast<float>(turn.sin)});
    }
    for (u32 circle = 0; circle < p_.circles; ++circle) {
      const double radius = kSmallestRadius + kRadiusStep * circle;
      const auto nearest = [radius](float part) { return static_cast<i32>(std::floor(radius * double{part} + 0.5)); };
      for (const Turn& turn : turns_) places_.push_back({nearest(turn.cos), nearest(turn.sin)});
    }
    const i32 reach = static_cast<i32>(p_.reach);
    for (i32 dx = -reach; dx <= reach; ++dx) {
      for (i32 dy = -reach; dy <= reach; ++dy) disc_.push_back(dx * dx + dy * dy <= reach * reach ? 1 : 0);
    }
  }

  void allocate(GuestMemory& memory) override {
    gx_ = Buffer<float>(memory, "gx", p_.pixels());
    gy_ = Buffer<float>(memory, "gy", p_.pixels());
    scores_ = Buffer<float>(memory, "scores", p_.pixels());
    dilated_ = Buffer<float>(memory, "dilated", p_.pixels());
  }

  void fill(GuestMemory& memory) override {
    draw_uniform(memory, gx_, p_.seed, "leu.gx", -1, 1);
    draw_uniform(memory, gy_, p_.seed, "leu.gy", -1, 1);
    fill_with(memory, scores_, 0.0f);
    fill_with(memory, dilated_, 0.0f);
  }

  u64 launches() const override { return 2 * u64{p_.iters}; }

  Launch launch(GuestMemory& memory, u64 number) override {
    if (number % 2 == 0) {
      write_module_variable(memory, "leu_turns", std::as_bytes(std::span(turns_)));
      write_module_variable(memory, "leu_places", std::as_bytes(std::span(places_)));
      write_module_variable(memory, "leu_disc", std::as_bytes(std::span(disc_)));
      Launch scores = sliced_launch("leu_gicov", {p_.columns - 2 * kMargin}, {p_.rows - 2 * kMargin}, p_.slice);
      scores.argument(gx_).argument(gy_).argument(scores_).argument(p_.rows).argument(p_.circles).argument(p_.samples);
      scored_columns_ = scores.blocks();
      return scores;
    }
    // The slice cuts the scores only: the first pixels, all in the margin, would have nothing to dilate.
    const u32 blocks = static_cast<u32>(blocks_of(p_.pixels(), u64{p_.threads}));
    Launch dilate = sliced_launch("leu_dilate", {blocks}, {p_.threads}, {Fraction::kOne});
    dilate.argument(scores_).argument(dilated_).argument(p_.columns).argument(p_.rows).argument(p_.reach);
    return dilate;
  }
  void archive_host(Archive& a) override { a(scored_columns_); }

  /// Scores against the same in double, relative to their mean where they are small; the dilation of the device's scores
  /// exactly.
  CheckResult check(const GuestMemory& memory) const override {
    const auto gx = gx_.read(memory), gy = gy_.read(memory), got = scores_.read(memory);
    const auto dilated = dilated_.read(memory);
    std::vector<double> want(p_.pixels(), 0.0);
    double sum = 0;
    for (u64 column = kMargin; column < kMargin + scored_columns_; ++column) {
      for (u64 row = kMargin; row < p_.rows - kMargin; ++row)
        sum += want[column * p_.rows + row] = score(gx, gy, column, row);
    }
    const double scored = static_cast<double>(scored_columns_ * (p_.rows - 2 * kMargin));
    RelativeCheck scores("scores", 1e-3, sum / scored), discs("dilated", 0);
    for (u64 i = 0; i < want.size(); ++i) {
      scores.compare(i, got[i], want[i]);
      discs.compare(i, dilated[i], greatest_around(got, i));
    }
    return both(scores.result(), discs.result());
  }

 private:
  double score(std::span<const float> gx, std::span<const float> gy, u64 column, u64 row) const {
    double best = 0;
    for (u64 circle = 0; circle < p_.circles; ++circle) {
      double sum = 0, squares = 0;
      for (u64 i = 0; i < p_.samples; ++i) {
        const Place& place = places_[circle * p_.samples + i];
        const i64 x = static_cast<i64>(column) + place.dx, y = static_cast<i64>(row) + place.dy;
        const u64 at = static_cast<u64>(x * p_.rows + y);
        const double along = double{gx[at]} * double{turns_[i].cos} + double{gy[at]} * double{turns_[i].sin};
        sum += along;
        squares += along * along;
      }
      const double n = p_.samples, mean = sum / n, variance = (squares - n * mean * mean) / (n - 1);
      best = std::max(best, mean * mean / variance);
    }
    return best;
  }
  double greatest_around(std::span<const float> scores, u64 pixel) const {
    const i64 reach = p_.reach, column = static_cast<i64>(pixel / p_.rows), row = static_cast<i64>(pixel % p_.rows);
    float greatest = 0;
    for (i64 x = std::max(column - reach, i64{0}); x <= std::min(column + reach, i64{p_.columns} - 1); ++x) {
      for (i64 y = std::max(row - reach, i64{0}); y <= std::min(row + reach, i64{p_.rows} - 1); ++y) {
        const bool inside = (x - column) * (x - column) + (y - row) * (y - row) <= reach * reach;
        if (inside) greatest = std::max(greatest, scores[static_cast<u64>(x * p_.rows + y)]);
      }
    }
    return double{greatest};
  }

  Params p_;
  std::vector<Turn> turns_;
  std::vector<Place> places_;
  std::vector<u8> disc_;
  Buffer<float> gx_, gy_, scores_, dilated_;
  u64 scored_columns_ = 0;
};

const RegisterWorkload<Leukocyte> kRegistered{{
    .name = "leu",
    .purpose = "circle scores around pixels: constant memory and arithmetic, cached images",
    .origin = "Rodinia leukocyte",
    .papers = "CD",
    .module = "leu",
    .variants = {"cd"},
}};

}  // namespace
}  // namespace terrace
