// CONS: a separable filter of 17 taps, rows then columns, through shared memory. A warp has two rows of 16 pixels: two
// lines and, in wide images, two pages an access. Variant: mask (3072 x 1536, ten times).
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

// As cons.cu has them.
constexpr u32 kRadius = 8, kTaps = 2 * kRadius + 1, kResults = 4;
constexpr Dim3 kRowsBlock{16, 4}, kColumnsBlock{16, 8};

class Convolution final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 width = 3072, height = 1536;

    void describe(Fields& v) override {
      v("width", width, in(64, 1 << 15), "pixels of a row, a multiple of 64");
      v("height", height, in(32, 1 << 15), "rows, a multiple of 32");
      WorkloadParams::describe(v);
    }
    u64 pixels() const { return u64{width} * height; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.width = 64, p.height = 64;
        break;
      case InputSize::kTiny:
        p.width = p.height = 512;
        break;
      case InputSize::kSmall:
        p.width = 2048, p.height = 1152;
        break;
      case InputSize::kPaper:
        p.iters = 10;
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) { return 3 * p.pixels() * sizeof(float); }

  explicit Convolution(const Params& params) : p_(params) {
    if (p_.width % (kRowsBlock.x * kResults)) input_error("cons: width ({}) must be a multiple of 64", p_.width);
    if (p_.height % (kColumnsBlock.y * kResults)) input_error("cons: height ({}) must be a multiple of 32", p_.height);
    Rng rng(p_.seed, "cons.taps");
    for (float& tap : taps_) tap = static_cast<float>(rng.below(16));
  }

  void allocate(GuestMemory& memory) override {
    in_ = Buffer<float>(memory, "in", p_.pixels());
    between_ = Buffer<float>(memory, "between", p_.pixels());
    out_ = Buffer<float>(memory, "out", p_.pixels());
  }

  /// Whole numbers below 16, as the taps are: no sum reaches 2^24.
  void fill(GuestMemory& memory) override {
    Rng rng(p_.seed, "cons.image");
    for (float& pixel : in_.write(memory)) pixel = static_cast<float>(rng.below(16));
    fill_with(memory, between_, 0.0f);
    fill_with(memory, out_, 0.0f);
  }

  u64 launches() const override { return 2 * u64{p_.iters}; }

  Launch launch(GuestMemory& memory, u64 number) override {
    if (number % 2 == 0) {
      write_module_variable(memory, "cons_taps", std::as_bytes(std::span(taps_)));
      Launch rows = sliced_launch("convolve_rows", rows_grid(), kRowsBlock, p_.slice);
      rows.argument(in_).argument(between_).argument(p_.width);
      row_blocks_ = rows.blocks();
      return rows;
    }
    Launch columns = sliced_launch("convolve_columns", columns_grid(), kColumnsBlock, p_.slice);
    columns.argument(between_).argument(out_).argument(p_.width).argument(p_.height);
    column_blocks_ = columns.blocks();
    return columns;
  }
  void archive_host(Archive& a) override { a(row_blocks_, column_blocks_); }

  /// What blocks outside the slice would write stays zero, between the two filters too.
  CheckResult check(const GuestMemory& memory) const override {
    const auto in = in_.read(memory), out = out_.read(memory);
    const i64 width = p_.width, height = p_.height;
    std::vector<double> between(p_.pixels(), 0.0);
    RelativeCheck comparison("out", 1e-5);
    for (i64 y = 0; y < height; ++y) {
      for (i64 x = 0; x < width; ++x) {
        const u64 block = static_cast<u64>(y) / kRowsBlock.y * rows_grid().x + static_cast<u64>(x) / (kRowsBlock.x * 4);
        if (block >= row_blocks_) continue;
        double& sum = between[static_cast<u64>(y * width + x)];
        for (i64 k = std::max(-x, -i64{kRadius}); k <= std::min(width - 1 - x, i64{kRadius}); ++k)
          sum += double{taps_[static_cast<u64>(kRadius - k)]} * double{in[static_cast<u64>(y * width + x + k)]};
      }
    }
    for (i64 y = 0; y < height; ++y) {
      for (i64 x = 0; x < width; ++x) {
        const u64 block =
            static_cast<u64>(y) / (kColumnsBlock.y * 4) * columns_grid().x + static_cast<u64>(x) / kColumnsBlock.x;
        double sum = 0;
        for (i64 k = std::max(-y, -i64{kRadius}); k <= std::min(height - 1 - y, i64{kRadius}); ++k)
          sum += double{taps_[static_cast<u64>(kRadius - k)]} * between[static_cast<u64>((y + k) * width + x)];
        const u64 i = static_cast<u64>(y * width + x);
        comparison.compare(i, out[i], block < column_blocks_ ? sum : 0);
      }
    }
    return comparison.result();
  }

 private:
  Dim3 rows_grid() const { return {p_.width / (kRowsBlock.x * kResults), p_.height / kRowsBlock.y}; }
  Dim3 columns_grid() const { return {p_.width / kColumnsBlock.x, p_.height / (kColumnsBlock.y * kResults)}; }

  Params p_;
  float taps_[kTaps];
  Buffer<float> in_, between_, out_;
  u64 row_blocks_ = 0, column_blocks_ = 0;
};

const RegisterWorkload<Convolution> kRegistered{{
    .name = "cons",
    .purpose = "separable image filter: two rows, two lines and two pages an access",
    .origin = "CUDA SDK convolutionSeparable",
    .papers = "MASK",
    .module = "cons",
    .variants = {"mask"},
}};

}  // namespace
}  // namespace terrace
