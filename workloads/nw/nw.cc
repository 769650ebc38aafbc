// NW: Needleman-Wunsch sequence alignment, 16 x 16 tiles along anti-diagonals. Diagonals scatter their blocks over the
// whole matrix, so that no page is used twice in a launch. A part of the diagonals can be run; the host computes
// the tiles before them. Variants: mask and vc (2048), simt (8192).
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

constexpr u32 kTile = 16;  // as in nw.cu
constexpr i32 kPenalty = 10;
constexpr u32 kTableSymbols = 24;  // amino acids and four wild cards
constexpr u32 kDrawnSymbols = 10;  // of which the sequences use these

class NeedlemanWunsch final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 length = 2048;
    u32 first_diagonal = 1;
    u32 last_diagonal = 0;

    void describe(Fields& v) override {
      v("length", length, in(kTile, 1 << 15), "symbols in each sequence, a multiple of 16");
      v("first_diagonal", first_diagonal, in(1, 1 << 12), "the first diagonal of tiles to launch, numbered from 1");
      v("last_diagonal", last_diagonal, in(0, 1 << 12), "the last one; 0: the last there is, length / 8 - 1");
      WorkloadParams::describe(v);
    }
    u32 tiles() const { return length / kTile; }
    u32 pitch() const { return length + 1; }
    u32 end_diagonal() const { return last_diagonal ? last_diagonal + 1 : 2 * tiles(); }
    u64 cells() const { return u64{pitch()} * pitch(); }
  };

  static void preset(InputSize size, std::string_view variant, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.length = 64;
        break;
      case InputSize::kTiny:  // the eight longest diagonals of the growing half
        p.first_diagonal = 121, p.last_diagonal = 128;
        break;
      case InputSize::kSmall:
        break;
      case InputSize::kPaper:
        if (variant == "simt") p.length = 8192;
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) { return 2 * p.cells() * sizeof(i32); }

  explicit NeedlemanWunsch(const Params& params) : p_(params) {
    if (p_.length % kTile) input_error("nw: length ({}) must be a multiple of {}", p_.length, kTile);
    if (p_.first_diagonal >= p_.end_diagonal() || p_.end_diagonal() > 2 * p_.tiles()) {
      input_error("nw: length {} has the diagonals 1 to {}; {} to {} is no part of them", p_.length, 2 * p_.tiles() - 1,
                  p_.first_diagonal, p_.end_diagonal() - 1);
    }
  }

  void allocate(GuestMemory& memory) override {
    reference_ = Buffer<i32>(memory, "reference", p_.cells());
    scores_ = Buffer<i32>(memory, "scores", p_.cells());
  }

  void fill(GuestMemory& memory) override {
    const auto table = substitution_table();
    const auto down = sequence("nw.down"), across = sequence("nw.across");
    const auto reference = reference_.write(memory);
    for (u64 i = 1; i <= p_.length; ++i) {
      for (u64 j = 1; j <= p_.length; ++j)
        reference[i * p_.pitch() + j] = table[down[i - 1] * kTableSymbols + across[j - 1]];
    }
    const auto scores = scores_.write(memory);
    first_scores(scores, reference);
  }

  u64 launches() const override { return u64{p_.end_diagonal() - p_.first_diagonal} * p_.iters; }

  Launch launch(GuestMemory&, u64 number) override {
    const u32 diagonal = p_.first_diagonal + static_cast<u32>(number % (p_.end_diagonal() - p_.first_diagonal));
    const u32 blocks = length_of(diagonal);
    const bool upper = diagonal <= p_.tiles();
    Launch tiles = sliced_launch(upper ? "nw_upper" : "nw_lower", {blocks}, {kTile}, p_.slice);
    tiles.argument(reference_).argument(scores_).argument(p_.pitch()).argument(kPenalty).argument(blocks);
    if (!upper) tiles.argument(p_.tiles());
    return tiles;
  }

  /// Every score against the host's, which does the same tiles: with a slice, only those that were launched.
  CheckResult check(const GuestMemory& memory) const override {
    const auto reference = reference_.read(memory), got = scores_.read(memory);
    std::vector<i32> want(p_.cells(), 0);
    first_scores(want, reference);
    for (u32 diagonal = p_.first_diagonal; diagonal < p_.end_diagonal(); ++diagonal) {
      const u64 launched = sliced_launch("", {length_of(diagonal)}, {kTile}, p_.slice).blocks();
      align_diagonal(want, reference, diagonal, launched);
    }
    ExactCheck comparison("scores");
    for (u64 i = 0; i < want.size(); ++i) comparison.compare(i, got[i], want[i]);
    return comparison.result();
  }

 private:
  /// Symmetric, like substitution matrices are: a match earns 4 to 11, anything else -4 to 3.
  std::vector<i32> substitution_table() const {
    Rng rng(p_.seed, "nw.table");
    std::vector<i32> table(kTableSymbols * kTableSymbols);
    for (u32 a = 0; a < kTableSymbols; ++a) {
      for (u32 b = 0; b <= a; ++b) {
        const i32 score = static_cast<i32>(rng.below(8)) + (a == b ? 4 : -4);
        table[a * kTableSymbols + b] = table[b * kTableSymbols + a] = score;
      }
    }
    return table;
  }
  std::vector<u32> sequence(std::string_view stream) const {
    Rng rng(p_.seed, stream);
    std::vector<u32> symbols(p_.length);
    for (u32& symbol : symbols) symbol = 1 + static_cast<u32>(rng.below(kDrawnSymbols));
    return symbols;
  }

  /// How many tiles a diagonal has; they are numbered 1 to 2 x tiles - 1.
  u32 length_of(u32 diagonal) const { return std::min(diagonal, 2 * p_.tiles() - diagonal); }

  /// The borders, and the tiles before the first diagonal that is launched.
  void first_scores(std::span<i32> scores, std::span<const i32> reference) const {
    std::fill(scores.begin(), scores.end(), 0);
    for (u32 i = 0; i <= p_.length; ++i) {
      scores[i] = scores[u64{i} * p_.pitch()] = -static_cast<i32>(i) * kPenalty;
    }
    for (u32 diagonal = 1; diagonal < p_.first_diagonal; ++diagonal)
      align_diagonal(scores, reference, diagonal, length_of(diagonal));
  }

  void align_diagonal(std::span<i32> scores, std::span<const i32> reference, u32 diagonal, u64 launched) const {
    const u64 pitch = p_.pitch();
    for (u64 block = 0; block < launched; ++block) {
      const bool upper = diagonal <= p_.tiles();
      const u64 row = upper ? diagonal - 1 - block : p_.tiles() - 1 - block;
      const u64 column = upper ? block : block + p_.tiles() - length_of(diagonal);
      for (u64 i = row * kTile + 1; i <= (row + 1) * kTile; ++i) {
        for (u64 at = i * pitch + column * kTile + 1, end = at + kTile; at < end; ++at) {
          scores[at] = std::max(
              {scores[at - pitch - 1] + reference[at], scores[at - 1] - kPenalty, scores[at - pitch] - kPenalty});
        }
      }
    }
  }

  Params p_;
  Buffer<i32> reference_, scores_;
};

const RegisterWorkload<NeedlemanWunsch> kRegistered{{
    .name = "nw",
    .purpose = "sequence alignment along diagonals of tiles: half warps, columns of 16 pages, no page used twice",
    .origin = "Rodinia nw",
    .papers = "MASK, SIMT, VC",
    .module = "nw",
    .variants = {"mask", "simt", "vc"},
    .paper_needs_variant = true,
}};

}  // namespace
}  // namespace terrace
