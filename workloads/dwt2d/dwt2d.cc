// DWT2D: wavelet transform 5/3 of a picture. Taking the colours apart streams through four arrays and bounds it; levels of
// the transform follow, each on a quarter of the one before. Variant: cd (25 million pixels, colours alone).
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "engine/check.h"
#include "frontend/workload.h"
#include "frontend/workload_alias.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

// As dwt2d.cu has them.
constexpr u32 kSplitThreads = 256, kRows = 8;
constexpr u32 kColours = 3;
constexpr i32 kMiddle = 128;

/// Threads of a block, and columns of its strip, for a picture of that width.
u32 strip_columns(u32 width) {
  return width >= 960 ? 192 : width >= 480 ? 128 : 64;
}

/// A line of the picture, one value every `step`: averages at even places, details at odd ones.
void lift(std::span<i32> values, u64 step, u64 count) {
  const auto at = [&](i64 i) -> i32& {
    const i64 last = static_cast<i64>(count) - 1;
    return values[static_cast<u64>(i < 0 ? -i : i > last ? 2 * last - i : i) * step];
  };
  for (i64 i = 1; i < static_cast<i64>(count); i += 2) at(i) -= (at(i - 1) + at(i + 1)) >> 1;
  for (i64 i = 0; i < static_cast<i64>(count); i += 2) at(i) += (at(i - 1) + at(i + 1) + 2) >> 2;
}

class Wavelets final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 width = 1024, height = 1024;
    u32 levels = 0;
    u32 windows = 4;

    void describe(Fields& v) override {
      v("width", width, in(8, 1 << 15), "pixels in a row");
      v("height", height, in(8, 1 << 15), "rows of the picture");
      v("levels", levels, in(0, 8), "levels of the transform; 0: take the colours apart and no more");
      v("windows", windows, in(1, 1 << 12), "times that a block of the transform slides down eight rows");
      WorkloadParams::describe(v);
    }
    u64 pixels() const { return u64{width} * height; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    const auto shape = [&p](u32 width, u32 height, u32 levels) {
      p.width = width, p.height = height, p.levels = levels;
    };
    switch (size) {
      case InputSize::kMini:
        return shape(48, 24, 1);
      case InputSize::kTiny:
        return shape(896, 1024, 0);
      case InputSize::kSmall:
        return shape(1024, 1024, 3);
      case InputSize::kPaper:
        return shape(4096, 6114, 0);
    }
  }
  static u64 footprint_bytes(const Params& p) {
    return round_up(3 * p.pixels(), u64{4}) + kColours * p.pixels() * sizeof(i32) * (p.levels ? 2 : 1);
  }

  explicit Wavelets(const Params& params) : p_(params) {
    const u32 multiple = 1u << p_.levels;
    if (p_.width % multiple || p_.height % multiple)
      input_error("dwt2d: width ({}) and height ({}) must be multiples of {} for {} levels", p_.width, p_.height,
                  multiple, p_.levels);
    if (p_.width >> p_.levels < 2 || p_.height >> p_.levels < 2)
      input_error("dwt2d: {} levels are too many for {} x {} pixels", p_.levels, p_.width, p_.height);
  }

  void allocate(GuestMemory& memory) override {
    constexpr std::string_view kPlanes[] = {"red", "green", "blue"};
    constexpr std::string_view kBands[] = {"red_bands", "green_bands", "blue_bands"};
    rgb_ = Buffer<u8>(memory, "rgb", round_up(3 * p_.pixels(), u64{4}));
    for (u32 i = 0; i < kColours; ++i) plane_[i] = Buffer<i32>(memory, kPlanes[i], p_.pixels());
    for (u32 i = 0; i < kColours && p_.levels; ++i) bands_[i] = Buffer<i32>(memory, kBands[i], p_.pixels());
  }

  void fill(GuestMemory& memory) override {
    Rng rng(p_.seed, "dwt2d.picture");
    for (u8& value : rgb_.write(memory)) value = static_cast<u8>(rng.below(256));
    for (u32 i = 0; i < kColours; ++i) fill_with(memory, plane_[i], 0);
    for (u32 i = 0; i < kColours && p_.levels; ++i) fill_with(memory, bands_[i], 0);
  }

  u64 launches() const override { return u64{p_.iters} * launches_each(); }

  /// A slice cuts split_rgb alone: the strips of a transform need the whole picture.
  Launch launch(GuestMemory& memory, u64 number) override {
    const u64 within = number % launches_each();
    if (within == 0) {
      const u32 pixels = static_cast<u32>(p_.pixels());
      Launch split = sliced_launch("split_rgb", {blocks_of(pixels, kSplitThreads)}, {kSplitThreads}, p_.slice);
      split.argument(rgb_);
      for (const Buffer<i32>& plane : plane_) split.argument(plane);
      split.argument(pixels);
      launched_pixels_ = std::min<u64>(split.blocks() * kSplitThreads, pixels);
      return split;
    }
    const u64 colour = (within - 1) / p_.levels;
    const u32 level = static_cast<u32>((within - 1) % p_.levels), width = p_.width >> level,
              height = p_.height >> level;
    if (level > 0)
      std::copy_n(bands_[colour].read(memory).begin(), u64{width} * height, plane_[colour].write(memory).begin());
    const u32 columns = strip_columns(width);
    Launch transform = sliced_launch("fdwt53", {blocks_of(width, columns), blocks_of(height, kRows * p_.windows)},
                                     {columns}, {Fraction::kOne});
    transform.argument(plane_[colour]).argument(bands_[colour]);
    return transform.argument(width).argument(height).argument(p_.windows);
  }
  void archive_host(Archive& a) override { a(launched_pixels_); }

  CheckResult check(const GuestMemory& memory) const override {
    const auto rgb = rgb_.read(memory);
    ExactCheck of_planes("planes"), of_bands("bands");
    for (u64 colour = 0; colour < kColours; ++colour) {
      std::vector<i32> plane(p_.pixels(), 0), bands(p_.levels ? p_.pixels() : 0, 0);
      for (u32 time = 0; time < p_.iters; ++time) {
        for (u64 i = 0; i < launched_pixels_; ++i) plane[i] = rgb[3 * i + colour] - kMiddle;
        for (u32 level = 0; level < p_.levels; ++level) {
          if (level > 0) std::copy_n(bands.begin(), p_.pixels() >> (2 * level), plane.begin());
          transform(plane, bands, p_.width >> level, p_.height >> level);
        }
      }
      const auto got_plane = plane_[colour].read(memory);
      for (u64 i = 0; i < plane.size(); ++i) of_planes.compare(colour * plane.size() + i, got_plane[i], plane[i]);
      if (p_.levels == 0) continue;
      const auto got_bands = bands_[colour].read(memory);
      for (u64 i = 0; i < bands.size(); ++i) of_bands.compare(colour * bands.size() + i, got_bands[i], bands[i]);
    }
    return p_.levels ? both(of_planes.result(), of_bands.result()) : of_planes.result();
  }

 private:
  u64 launches_each() const { return 1 + u64{kColours} * p_.levels; }

  static void transform(const std::vector<i32>& plane, std::vector<i32>& bands, u64 width, u64 height) {
    std::vector<i32> lifted(plane.begin(), plane.begin() + static_cast<i64>(width * height));
    for (u64 y = 0; y < height; ++y) lift(std::span(lifted).subspan(y * width), 1, width);
    for (u64 x = 0; x < width; ++x) lift(std::span(lifted).subspan(x), width, height);
    for (u64 y = 0; y < height; ++y) {
      for (u64 x = 0; x < width; ++x) {
        const u64 band = x % 2 + y % 2 * 2;
        bands[band * (width / 2) * (height / 2) + y / 2 * (width / 2) + x / 2] = lifted[y * width + x];
      }
    }
  }

  Params p_;
  Buffer<u8> rgb_;
  Buffer<i32> plane_[kColours], bands_[kColours];
  u64 launched_pixels_ = 0;
};

const RegisterWorkload<Wavelets> kRegistered{{
    .name = "dwt2d",
    .purpose = "wavelet transform of a picture: taking its colours apart streams, bound by DRAM",
    .origin = "Rodinia dwt2d",
    .papers = "CD",
    .module = "dwt2d",
    .variants = {"cd"},
}};
const RegisterAlias kAlias{"dwt", "dwt2d"};

}  // namespace
}  // namespace terrace
