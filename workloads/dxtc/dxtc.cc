// DXTC: DXT1 compression by trying every cut of the sorted colours. Arithmetic on what fits in registers and shared
// memory. Variant: cd (512 x 512 pixels). Tiny has enough blocks for 24 SMs, and tries fewer cuts of each.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "dxt1.h"
#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

constexpr u32 kThreads = 64, kTableCuts = 1024;
constexpr double kBlockTolerance = 0.05;  // the error of one block: near ties fall either way in single precision
constexpr double kTolerance = 0.02;       // the error of the whole image

class Dxtc final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 width = 512, height = 512;
    u32 four_cuts = 992, three_cuts = 160;

    void describe(Fields& v) override {
      v("width", width, in(4, 1 << 14), "pixels of a row, a multiple of 4");
      v("height", height, in(4, 1 << 14), "rows, a multiple of 4");
      v("four_cuts", four_cuts, in(2, kTableCuts), "cuts that are tried with a palette of four colours");
      v("three_cuts", three_cuts, in(0, dxt1::kThreeColourCuts), "cuts that are tried with a palette of three");
      WorkloadParams::describe(v);
    }
    u64 pixels() const { return u64{width} * height; }
    u64 blocks() const { return pixels() / dxt1::kPixels; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    const auto image = [&p](u32 width, u32 height) { p.width = width, p.height = height; };
    switch (size) {
      case InputSize::kMini:
        p.four_cuts = 64, p.three_cuts = 32;
        return image(8, 8);
      case InputSize::kTiny:
        p.four_cuts = 256, p.three_cuts = 64;
        return image(64, 48);
      case InputSize::kSmall:
        return image(128, 96);
      case InputSize::kPaper:
        return image(512, 512);
    }
  }
  static u64 footprint_bytes(const Params& p) {
    return (p.pixels() + kTableCuts) * sizeof(u32) + p.blocks() * sizeof(u64);
  }

  explicit Dxtc(const Params& params) : p_(params), cuts_(dxt1::all_cuts(kTableCuts)) {
    if (p_.width % 4 || p_.height % 4)
      input_error("dxtc: width ({}) and height ({}) must be multiples of 4", p_.width, p_.height);
  }

  void allocate(GuestMemory& memory) override {
    image_ = Buffer<u32>(memory, "image", p_.pixels());
    table_ = Buffer<u32>(memory, "cuts", kTableCuts);
    blocks_ = Buffer<u64>(memory, "blocks", p_.blocks());
  }

  /// Ramps of three directions, with noise on every component.
  void fill(GuestMemory& memory) override {
    Rng rng(p_.seed, "dxtc.image");
    const auto image = image_.write(memory);
    for (u64 i = 0; i < image.size(); ++i) {
      const u64 x = i % p_.width, y = i / p_.width;
      const u64 ramps[3] = {x * 200 / p_.width, y * 200 / p_.height, (x + y) * 7 % 200};
      u32 pixel = 0xff00'0000;
      for (u32 c = 0; c < 3; ++c) pixel |= static_cast<u32>(ramps[c] + rng.below(56)) << (8 * c);
      image[i] = pixel;
    }
    std::copy(cuts_.begin(), cuts_.end(), table_.write(memory).begin());
    fill_with(memory, blocks_, u64{0});
  }

  u64 launches() const override { return p_.iters; }

  Launch launch(GuestMemory&, u64) override {
    Launch compress = sliced_launch("dxtc_compress", {static_cast<u32>(p_.blocks())}, {kThreads}, p_.slice);
    compress.argument(image_).argument(table_).argument(blocks_);
    compress.argument(p_.width).argument(p_.four_cuts).argument(p_.three_cuts);
    launched_blocks_ = compress.blocks();
    return compress;
  }
  void archive_host(Archive& a) override { a(launched_blocks_); }

  /// What the decoded blocks differ from the image, against the same for blocks compressed on the host.
  CheckResult check(const GuestMemory& memory) const override {
    const auto image = image_.read(memory);
    const auto blocks = blocks_.read(memory);
    std::vector<double> got, want;
    double got_sum = 0, want_sum = 0;
    for (u64 i = 0; i < launched_blocks_; ++i) {
      const dxt1::Block pixels = block_at(image, i);
      got.push_back(dxt1::squared_error(pixels, blocks[i]));
      want.push_back(dxt1::squared_error(pixels, dxt1::compress(pixels, cuts_, p_.four_cuts, p_.three_cuts)));
      got_sum += got.back();
      want_sum += want.back();
    }
    const double count = static_cast<double>(launched_blocks_);
    RelativeCheck each("squared error of a block", kBlockTolerance, want_sum / count);
    for (u64 i = 0; i < got.size(); ++i) each.compare(i, got[i], want[i]);
    RelativeCheck whole("RMS error of the image", kTolerance);
    whole.compare(0, std::sqrt(got_sum / count), std::sqrt(want_sum / count));
    return both(each.result(), whole.result());
  }

 private:
  dxt1::Block block_at(std::span<const u32> image, u64 block) const {
    dxt1::Block pixels;
    const u64 row = p_.width / 4;
    for (u64 i = 0; i < dxt1::kPixels; ++i)
      pixels[i] = image[(block / row * 4 + i / 4) * p_.width + block % row * 4 + i % 4];
    return pixels;
  }

  Params p_;
  std::vector<u32> cuts_;
  Buffer<u32> image_, table_;
  Buffer<u64> blocks_;
  u64 launched_blocks_ = 0;
};

const RegisterWorkload<Dxtc> kRegistered{{
    .name = "dxtc",
    .purpose = "DXT1 texture compression: arithmetic, almost no global memory",
    .origin = "CUDA SDK dxtc",
    .papers = "CD",
    .module = "dxtc",
    .variants = {"cd"},
}};

}  // namespace
}  // namespace terrace
