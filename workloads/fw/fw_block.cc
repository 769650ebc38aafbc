// FW_BLOCK: Floyd-Warshall in tiles in shared memory, four launches for sixteen intermediate vertices. Lanes run along
// rows here: two lines an access.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "engine/check.h"
#include "frontend/workload.h"
#include "fw/distances.h"
#include "support/checks.h"

namespace terrace {
namespace {

constexpr u32 kTile = 16;  // as in fw_block.cu
constexpr std::string_view kKernels[] = {"fwb_diagonal", "fwb_row", "fwb_column", "fwb_rest"};

class BlockedFloydWarshall final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 dim = 512;

    Params() { iters = 0; }
    void describe(Fields& v) override {
      v("dim", dim, in(2 * kTile, 1 << 15), "vertices: rows and columns of the matrix, a multiple of 16");
      WorkloadParams::describe(v);
    }
    u32 tiles() const { return dim / kTile; }
    u32 steps() const { return iters ? std::min(iters, tiles()) : tiles(); }

   protected:
    u64 least_iters() const override { return 0; }
    std::string_view iters_doc() const override { return "steps of sixteen intermediate vertices; 0: all"; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.dim = 48, p.iters = 1;
        break;
      case InputSize::kTiny:
        p.dim = 256, p.iters = 2;
        break;
      case InputSize::kSmall:
        p.dim = 512, p.iters = 6;
        break;
      case InputSize::kPaper:  // as many steps as VC's simulator lets it run
        p.dim = 2048, p.iters = 36;
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) { return u64{p.dim} * p.dim * sizeof(i32); }

  explicit BlockedFloydWarshall(const Params& params) : p_(params) {
    if (p_.dim % kTile) input_error("fw_block: dim ({}) must be a multiple of {}", p_.dim, kTile);
  }

  void allocate(GuestMemory& memory) override { dist_ = Buffer<i32>(memory, "dist", u64{p_.dim} * p_.dim); }

  void fill(GuestMemory& memory) override {
    const std::vector<i32> first = draw_distances(p_.dim, p_.seed);
    std::copy(first.begin(), first.end(), dist_.write(memory).begin());
  }

  u64 launches() const override { return u64{p_.steps()} * std::size(kKernels); }

  /// A slice cuts the last kernel of a step alone: the others are small, and it needs all they compute.
  Launch launch(GuestMemory&, u64 number) override {
    const u64 kernel = number % std::size(kKernels);
    const Dim3 grids[] = {{1}, {p_.tiles()}, {p_.tiles()}, {p_.tiles(), p_.tiles()}};
    Launch launch = sliced_launch(std::string(kKernels[kernel]), grids[kernel], {kTile, kTile},
                                  kernel == 3 ? p_.slice : Fraction{Fraction::kOne});
    launch.argument(dist_).argument(p_.dim).argument(static_cast<u32>(number / std::size(kKernels)));
    launched_tiles_ = launch.blocks();
    return launch;
  }
  void archive_host(Archive& a) override { a(launched_tiles_); }

  /// Vertex by vertex, as without tiles. In a slice the tiles of the step's row and column are computed too.
  CheckResult check(const GuestMemory& memory) const override {
    const u64 dim = p_.dim;
    std::vector<i32> want = draw_distances(p_.dim, p_.seed);
    for (u64 k = 0; k < u64{p_.steps()} * kTile; ++k) {
      for (u64 i = 0; i < dim; ++i) {
        for (u64 j = 0; j < dim; ++j) {
          const u64 step = k / kTile, row = i / kTile, column = j / kTile;
          if (row != step && column != step && row * p_.tiles() + column >= launched_tiles_) continue;
          want[i * dim + j] = std::min(want[i * dim + j], want[i * dim + k] + want[k * dim + j]);
        }
      }
    }
    ExactCheck comparison("dist");
    const auto got = dist_.read(memory);
    for (u64 at = 0; at < want.size(); ++at) comparison.compare(at, got[at], want[at]);
    return comparison.result();
  }

 private:
  Params p_;
  Buffer<i32> dist_;
  u64 launched_tiles_ = 0;  // of the last launch, which is one of the last kernel
};

const RegisterWorkload<BlockedFloydWarshall> kRegistered{{
    .name = "fw_block",
    .purpose = "Floyd-Warshall in tiles: shared memory and barriers, lanes along rows",
    .origin = "Pannotia fw_block",
    .papers = "VC",
    .module = "fw_block",
    .variants = {"vc"},
}};

}  // namespace
}  // namespace terrace
