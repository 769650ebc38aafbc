// SAD: block matching for motion estimation. The search kernel reads windows of a small frame; the two aggregation
// kernels walk nine streams on nine pages. Without the search (search=false) those run alone, on sums that the host
// draws: neither addresses nor instructions depend on them, and zeros, which the original has, could not be checked.
// Variants: mask (all three kernels), dws (aggregation only).
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

// As sad.cu has them.
constexpr i64 kRange = 16, kSide = 2 * kRange + 1;
constexpr u64 kOffsets = kSide * kSide, kRecord = 1096;
constexpr u32 kSearchThreads = 61;

constexpr u64 kRecords = 41;  // of a macroblock
constexpr u32 kMacroblock = 16;
constexpr u32 kGreatestSum = 16 * 255;  // of a 4 x 4 block

/// The block types in the order of their records. A block is the sum of its halves: those of another type, side by side
/// or one above the other. `across` counts the blocks of a macroblock in a row.
struct BlockType {
  u64 first_record, per_macroblock, across;
};
enum Type : u8 { k16x16, k8x16, k16x8, k8x8, k4x8, k8x4, k4x4 };
constexpr BlockType kTypes[] = {{0, 1, 1}, {1, 2, 1}, {3, 2, 2}, {5, 4, 2}, {9, 8, 2}, {17, 8, 4}, {25, 16, 4}};

class SumsOfDifferences final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 width = 176, height = 144;
    bool search = false;

    void describe(Fields& v) override {
      v("width", width, in(kMacroblock, 1 << 13), "pixels of a frame in a row, a multiple of 16");
      v("height", height, in(kMacroblock, 1 << 13), "rows of a frame, a multiple of 16");
      v("search", search, "whether the 4 x 4 sums are computed on the device, or given");
      WorkloadParams::describe(v);
    }
    u32 macroblocks() const { return width / kMacroblock * (height / kMacroblock); }
    u64 pixels() const { return u64{width} * height; }
  };

  /// Without a variant, tiny and mini are the dws program and small is the mask one: those fit the sizes.
  static void preset(InputSize size, std::string_view variant, Params& p) {
    p.search = variant == "mask" || (variant.empty() && size == InputSize::kSmall);
    switch (size) {
      case InputSize::kMini:
        p.width = p.search ? 16 : 48, p.height = 16;
        if (p.search) p.slice = {Fraction::kOne * 3 / 16};
        break;
      case InputSize::kTiny:
        if (p.search) p.slice = {Fraction::kOne * 15 / 100};
        break;
      case InputSize::kSmall:
        if (!p.search) p.width = 704, p.height = 576;
        break;
      case InputSize::kPaper:
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) {
    return (kRecords * p.macroblocks() * kRecord + 2 * p.pixels()) * sizeof(u16);
  }

  explicit SumsOfDifferences(const Params& params) : p_(params) {
    if (p_.width % kMacroblock || p_.height % kMacroblock)
      input_error("sad: width ({}) and height ({}) must be multiples of {}", p_.width, p_.height, kMacroblock);
  }

  void allocate(GuestMemory& memory) override {
    current_ = Buffer<u16>(memory, "current", p_.pixels());
    reference_ = Buffer<u16>(memory, "reference", p_.pixels());
    sads_ = Buffer<u16>(memory, "sads", kRecords * p_.macroblocks() * kRecord);
  }

  /// The reference is noise; the current frame is the same some pixels further on, with noise of its own.
  void fill(GuestMemory& memory) override {
    constexpr u64 kShiftX = 3, kShiftY = 2, kNoise = 8;
    Rng rng(p_.seed, "sad.frames");
    const auto reference = reference_.write(memory), current = current_.write(memory);
    for (u16& pixel : reference) pixel = static_cast<u16>(rng.below(256));
    for (u64 i = 0; i < p_.pixels(); ++i) {
      const u64 x = std::min<u64>(i % p_.width + kShiftX, p_.width - 1);
      const u64 y = std::min<u64>(i / p_.width + kShiftY, p_.height - 1);
      current[i] = static_cast<u16>(std::min<u64>(reference[y * p_.width + x] + rng.below(kNoise), 255));
    }
    const auto sads = sads_.write(memory);
    std::fill(sads.begin(), sads.end(), u16{0});
    first_sums(sads);
  }

  u64 launches() const override { return (p_.search ? 3 : 2) * u64{p_.iters}; }

  Launch launch(GuestMemory&, u64 number) override {
    const Dim3 macroblocks{p_.width / kMacroblock, p_.height / kMacroblock};
    const u64 stage = p_.search ? number % 3 : number % 2 + 1;
    if (stage > 0) {
      Launch sums = stage == 1 ? sliced_launch("sad_8", macroblocks, {32, 4}, p_.slice)
                               : sliced_launch("sad_16", macroblocks, {32}, p_.slice);
      launched_macroblocks_ = sums.blocks();
      return sums.argument(sads_);
    }
    Launch search = sliced_launch("sad4x4", {p_.width / 4, p_.height / 4}, {kSearchThreads}, p_.slice);
    search.argument(sads_).argument(current_).argument(reference_).argument(p_.width).argument(p_.height);
    launched_searches_ = search.blocks();
    return search;
  }
  void archive_host(Archive& a) override { a(launched_searches_, launched_macroblocks_); }

  /// Every sum of every offset. Blocks whose search or aggregation was not launched keep what they had.
  CheckResult check(const GuestMemory& memory) const override {
    std::vector<u16> want(sads_.size(), 0);
    first_sums(want);
    if (p_.search) search(current_.read(memory), reference_.read(memory), want);
    for (u64 macroblock = 0; macroblock < launched_macroblocks_; ++macroblock) aggregate(want, macroblock);
    ExactCheck comparison("sads");
    const auto got = sads_.read(memory);
    for (u64 i = 0; i < want.size(); ++i) {
      if (i % kRecord < kOffsets) comparison.compare(i, got[i], want[i]);
    }
    return comparison.result();
  }

 private:
  u64 record(Type type, u64 macroblock, u64 row, u64 column) const {
    const BlockType& t = kTypes[type];
    const u64 number = t.first_record * p_.macroblocks() + macroblock * t.per_macroblock + row * t.across + column;
    return number * kRecord;
  }

  void first_sums(std::span<u16> sads) const {
    if (p_.search) return;
    Rng rng(p_.seed, "sad.sums");
    for (u16& sum : sads.subspan(record(k4x4, 0, 0, 0))) sum = static_cast<u16>(rng.below(kGreatestSum + 1));
  }

  void search(std::span<const u16> current, std::span<const u16> reference, std::span<u16> sads) const {
    const u64 across = p_.width / 4;
    for (u64 block = 0; block < launched_searches_; ++block) {
      const u64 row = block / across, column = block % across;
      const u64 macroblock = row / 4 * (p_.width / kMacroblock) + column / 4;
      const u64 out = record(k4x4, macroblock, row % 4, column % 4);
      for (u64 offset = 0; offset < kOffsets; ++offset) {
        const i64 dx = static_cast<i64>(offset) % kSide - kRange, dy = static_cast<i64>(offset) / kSide - kRange;
        u32 sum = 0;
        for (u64 i = 0; i < 16; ++i) {
          const i64 x = static_cast<i64>(column * 4 + i % 4), y = static_cast<i64>(row * 4 + i / 4);
          const i64 seen_x = std::clamp<i64>(x + dx, 0, p_.width - 1),
                    seen_y = std::clamp<i64>(y + dy, 0, p_.height - 1);
          const i32 own = current[static_cast<u64>(y * p_.width + x)];
          sum += static_cast<u32>(std::abs(own - reference[static_cast<u64>(seen_y * p_.width + seen_x)]));
        }
        sads[out + offset] = static_cast<u16>(sum);
      }
    }
  }

  void aggregate(std::span<u16> sads, u64 macroblock) const {
    /// Each block of `type` is two of `half`, which lie side by side or one below the other.
    const auto sum_halves = [&](Type type, Type half, bool side_by_side) {
      const BlockType& t = kTypes[type];
      for (u64 block = 0; block < t.per_macroblock; ++block) {
        const u64 row = block / t.across, column = block % t.across;
        const u64 a =
            side_by_side ? record(half, macroblock, row, 2 * column) : record(half, macroblock, 2 * row, column);
        const u64 b = side_by_side ? a + kRecord : record(half, macroblock, 2 * row + 1, column);
        const u64 out = record(type, macroblock, row, column);
        for (u64 i = 0; i < kOffsets; ++i) sads[out + i] = static_cast<u16>(sads[a + i] + sads[b + i]);
      }
    };
    sum_halves(k4x8, k4x4, true);
    sum_halves(k8x4, k4x4, false);
    sum_halves(k8x8, k4x8, false);
    sum_halves(k8x16, k8x8, true);
    sum_halves(k16x8, k8x8, false);
    sum_halves(k16x16, k8x16, false);
  }

  Params p_;
  Buffer<u16> current_, reference_, sads_;
  u64 launched_searches_ = 0, launched_macroblocks_ = 0;
};

const RegisterWorkload<SumsOfDifferences> kRegistered{{
    .name = "sad",
    .purpose = "sums of absolute differences: an aggregation on nine page streams, with or without its search",
    .origin = "Parboil sad",
    .papers = "MASK, DWS",
    .module = "sad",
    .variants = {"mask", "dws"},
    .paper_needs_variant = true,
}};

}  // namespace
}  // namespace terrace
