// HISTO: a histogram of bytes in shared memory, then the merge of the blocks' parts, whose reads lie a kilobyte apart.
// Variant: mask (a frame of 1920 x 1080 pixels of four bytes).
// SPDX-License-Identifier: MIT
#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

// As histo.cu has them.
constexpr u32 kBins = 256, kThreads = 192, kMostMergers = 256;

class Histogram final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 words = 1920 * 1080;
    u32 blocks = 240;
    u32 mergers = 256;

    void describe(Fields& v) override {
      v("words", words, in(1, 1 << 28), "input in words of four bytes");
      v("blocks", blocks, in(1, 4096), "blocks of the first kernel, each with a histogram of its own");
      v("mergers", mergers, in(1, kMostMergers), "threads that merge one bin, a power of two");
      WorkloadParams::describe(v);
    }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.words = 1500, p.blocks = 3, p.mergers = 2;
        break;
      case InputSize::kTiny:
        p.words = 500'000;
        break;
      case InputSize::kSmall:
        p.words = 6'000'000;
        break;
      case InputSize::kPaper:
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) { return (u64{p.words} + kBins * (u64{p.blocks} + 1)) * sizeof(u32); }

  explicit Histogram(const Params& params) : p_(params) {
    if (p_.mergers & (p_.mergers - 1)) input_error("histo: mergers ({}) must be a power of two", p_.mergers);
  }

  void allocate(GuestMemory& memory) override {
    words_ = Buffer<u32>(memory, "words", p_.words);
    partial_ = Buffer<u32>(memory, "partial", u64{kBins} * p_.blocks);
    histogram_ = Buffer<u32>(memory, "histogram", kBins);
  }

  void fill(GuestMemory& memory) override {
    Rng rng(p_.seed, "histo.words");
    for (u32& word : words_.write(memory)) word = static_cast<u32>(rng.next() >> 32);
    fill_with(memory, partial_, 0u);
    fill_with(memory, histogram_, 0u);
  }

  u64 launches() const override { return 2 * u64{p_.iters}; }

  Launch launch(GuestMemory&, u64 number) override {
    if (number % 2 == 0) {
      Launch count = sliced_launch("hist", {p_.blocks}, {kThreads}, p_.slice);
      count.argument(words_).argument(partial_).argument(p_.words);
      counting_blocks_ = count.blocks();
      return count;
    }
    Launch merge = sliced_launch("merge_bins", {kBins}, {p_.mergers}, p_.slice);
    merge.argument(partial_).argument(histogram_).argument(p_.blocks);
    merging_blocks_ = merge.blocks();
    return merge;
  }
  void archive_host(Archive& a) override { a(counting_blocks_, merging_blocks_); }

  CheckResult check(const GuestMemory& memory) const override {
    const auto words = words_.read(memory);
    std::vector<i64> parts(partial_.size(), 0), bins(kBins, 0);
    for (u64 i = 0; i < p_.words; ++i) {
      const u64 block = i / kThreads % p_.blocks;
      if (block >= counting_blocks_) continue;
      for (u32 shift = 0; shift < 32; shift += 8) ++parts[block * kBins + (words[i] >> shift & 255)];
    }
    for (u64 i = 0; i < parts.size(); ++i) {
      if (i % kBins < merging_blocks_) bins[i % kBins] += parts[i];
    }
    return both(compare("partial", partial_.read(memory), parts), compare("histogram", histogram_.read(memory), bins));
  }

 private:
  static CheckResult compare(std::string_view what, std::span<const u32> got, const std::vector<i64>& want) {
    ExactCheck comparison(what);
    for (u64 i = 0; i < want.size(); ++i) comparison.compare(i, got[i], want[i]);
    return comparison.result();
  }

  Params p_;
  Buffer<u32> words_, partial_, histogram_;
  u64 counting_blocks_ = 0, merging_blocks_ = 0;
};

const RegisterWorkload<Histogram> kRegistered{{
    .name = "histo",
    .purpose = "byte histogram: atomics in shared memory, then a merge with strided reads",
    .origin = "CUDA SDK histogram256",
    .papers = "MASK",
    .module = "histo",
    .variants = {"mask"},
}};

}  // namespace
}  // namespace terrace
