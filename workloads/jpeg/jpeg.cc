// JPEG: the inverse cosine transform of a decoder, in place. The host draws a picture, transforms and quantises it; the
// device brings it back. Sixteen accesses a thread, each a whole line, to one megabyte. Variant: dws (512 x 512).
// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>

#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"
#include "support/series.h"

namespace terrace {
namespace {

constexpr u32 kBlock = 8;
constexpr u32 kTileWidth = 32, kTileHeight = 16;  // of a thread block, as in jpeg.cu

using Square = std::array<std::array<double, kBlock>, kBlock>;

/// basis[k][n]: how much of pattern k is in value n.
Square cosine_basis() {
  Square basis;
  for (u32 k = 0; k < kBlock; ++k) {
    for (u32 n = 0; n < kBlock; ++n)
      basis[k][n] = series_sin_cos((2 * n + 1) * k * kPi / 16).cos * std::sqrt(k == 0 ? 1.0 / 8 : 1.0 / 4);
  }
  return basis;
}

/// Both directions of a block; `inverse` turns patterns into values.
Square transformed(const Square& in, bool inverse) {
  static const Square basis = cosine_basis();
  const auto factor = [&](u32 to, u32 from) { return inverse ? basis[from][to] : basis[to][from]; };
  Square rows{}, both{};
  for (u32 y = 0; y < kBlock; ++y) {
    for (u32 to = 0; to < kBlock; ++to)
      for (u32 from = 0; from < kBlock; ++from) rows[y][to] += factor(to, from) * in[y][from];
  }
  for (u32 to = 0; to < kBlock; ++to) {
    for (u32 from = 0; from < kBlock; ++from)
      for (u32 x = 0; x < kBlock; ++x) both[to][x] += factor(to, from) * rows[from][x];
  }
  return both;
}

class Jpeg final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 width = 512, height = 512;

    void describe(Fields& v) override {
      v("width", width, in(kTileWidth, 1 << 14), "pixels in a row, a multiple of 32");
      v("height", height, in(kTileHeight, 1 << 14), "rows, a multiple of 16");
      WorkloadParams::describe(v);
    }
    u64 pixels() const { return u64{width} * height; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    if (size == InputSize::kMini) p.width = p.height = 64;
    if (size == InputSize::kSmall) p.width = p.height = 3072;
  }
  static u64 footprint_bytes(const Params& p) { return p.pixels() * sizeof(float); }

  explicit Jpeg(const Params& params) : p_(params) {
    if (p_.width % kTileWidth || p_.height % kTileHeight)
      input_error("jpeg: width ({}) must be a multiple of {} and height ({}) of {}", p_.width, kTileWidth, p_.height,
                  kTileHeight);
  }

  void allocate(GuestMemory& memory) override { plane_ = Buffer<float>(memory, "plane", p_.pixels()); }

  void fill(GuestMemory& memory) override {
    if (coefficients_.empty()) coefficients_ = encode();
    std::copy(coefficients_.begin(), coefficients_.end(), plane_.write(memory).begin());
  }

  u64 launches() const override { return p_.iters; }

  Launch launch(GuestMemory&, u64) override {
    Launch transform = sliced_launch("idct8x8", {p_.width / kTileWidth, p_.height / kTileHeight},
                                     {kBlock, kTileWidth / kBlock, kTileHeight / kBlock}, p_.slice);
    transform.argument(plane_).argument(p_.width);
    launched_blocks_ = transform.blocks();
    return transform;
  }
  void archive_host(Archive& a) override { a(launched_blocks_); }

  /// To a hundredth of a grey level, or of a part in ten thousand where values are large.
  CheckResult check(const GuestMemory& memory) const override {
    RelativeCheck comparison("plane", 1e-4, 100);
    const auto got = plane_.read(memory);
    for (u32 y = 0; y < p_.height; y += kBlock) {
      for (u32 x = 0; x < p_.width; x += kBlock) {
        Square want = block_at(coefficients_, x, y);
        const u64 tile = u64{y / kTileHeight} * (p_.width / kTileWidth) + x / kTileWidth;
        for (u32 time = 0; time < p_.iters && tile < launched_blocks_; ++time) want = transformed(want, true);
        for (u32 i = 0; i < kBlock * kBlock; ++i) {
          const u64 at = u64{y + i / kBlock} * p_.width + x + i % kBlock;
          comparison.compare(at, double{got[at]}, want[i / kBlock][i % kBlock]);
        }
      }
    }
    return comparison.result();
  }

 private:
  Square block_at(const std::vector<float>& plane, u32 x, u32 y) const {
    Square block;
    for (u32 i = 0; i < kBlock * kBlock; ++i)
      block[i / kBlock][i % kBlock] = double{plane[u64{y + i / kBlock} * p_.width + x + i % kBlock]};
    return block;
  }

  /// Slopes with noise, around 0; coefficients are multiples of a step that grows with the frequency.
  std::vector<float> encode() const {
    Rng rng(p_.seed, "jpeg.picture");
    std::vector<float> plane(p_.pixels());
    for (u32 y = 0; y < p_.height; y += kBlock) {
      for (u32 x = 0; x < p_.width; x += kBlock) {
        const double level = rng.uniform(-80, 80), along = rng.uniform(-4, 4), down = rng.uniform(-4, 4);
        Square picture;
        for (u32 i = 0; i < kBlock * kBlock; ++i)
          picture[i / kBlock][i % kBlock] = level + along * (i % kBlock) + down * (i / kBlock) + rng.uniform(-16, 16);
        const Square patterns = transformed(picture, false);
        for (u32 i = 0; i < kBlock * kBlock; ++i) {
          const double step = 10 + 4 * (i / kBlock + i % kBlock);
          const double level_of = std::floor(patterns[i / kBlock][i % kBlock] / step + 0.5) * step;
          plane[u64{y + i / kBlock} * p_.width + x + i % kBlock] = static_cast<float>(level_of);
        }
      }
    }
    return plane;
  }

  Params p_;
  Buffer<float> plane_;
  std::vector<float> coefficients_;  // what the device starts from
  u64 launched_blocks_ = 0;
};

const RegisterWorkload<Jpeg> kRegistered{{
    .name = "jpeg",
    .purpose = "inverse cosine transform of 8 x 8 blocks, in place: whole lines, a megabyte in all",
    .origin = "CUDA SDK dct8x8 (the decoder's kernel)",
    .papers = "DWS",
    .module = "jpeg",
    .variants = {"dws"},
}};

}  // namespace
}  // namespace terrace
