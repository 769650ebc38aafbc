// FW: Floyd-Warshall without blocking, one launch per intermediate vertex. Threads are numbered along columns of a
// row-major matrix: 16 lines on 16 pages per access, the worst strided kernel of the collection. Steps may run in any
// order of threads, and on part of the blocks, because a step leaves its own row and column as they are.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "engine/check.h"
#include "frontend/workload.h"
#include "fw/distances.h"
#include "support/checks.h"

namespace terrace {
namespace {

constexpr u32 kTile = 16;
constexpr i32 kDirect = -1;  // `next` of a pair without an intermediate vertex

class FloydWarshall final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 dim = 1024;
    u32 first = 0;
    bool coalesced = false;

    Params() { iters = 0; }
    void describe(Fields& v) override {
      v("dim", dim, in(1, 1 << 15), "vertices: rows and columns of the matrices");
      v("first", first, in(0, 1 << 15), "first intermediate vertex; the original starts at 1");
      v("coalesced", coalesced, "number the threads along rows, which destroys the benchmark: for comparison");
      WorkloadParams::describe(v);
    }
    u32 steps() const { return iters ? std::min(iters, dim - first) : dim - first; }

   protected:
    u64 least_iters() const override { return 0; }
    std::string_view iters_doc() const override { return "intermediate vertices to try, a launch each; 0: all"; }
  };

  static void preset(InputSize size, std::string_view, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.dim = 64, p.iters = 2;
        break;
      case InputSize::kTiny:
        p.dim = 1024, p.iters = 1;
        p.slice = {Fraction::kOne * 7 / 10};
        break;
      case InputSize::kSmall:
        p.dim = 1024, p.iters = 8;
        break;
      case InputSize::kPaper:  // as many steps as VC's simulator lets it run
        p.dim = 2048, p.iters = 192;
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) { return u64{p.dim} * p.dim * 2 * sizeof(i32); }

  explicit FloydWarshall(const Params& params) : p_(params) {
    if (p_.first >= p_.dim) input_error("fw.first ({}) must be a vertex, below dim ({})", p_.first, p_.dim);
  }

  void allocate(GuestMemory& memory) override {
    dist_ = Buffer<i32>(memory, "dist", u64{p_.dim} * p_.dim);
    next_ = Buffer<i32>(memory, "next", u64{p_.dim} * p_.dim);
  }

  void fill(GuestMemory& memory) override {
    const std::vector<i32> first = draw_distances(p_.dim, p_.seed);
    std::copy(first.begin(), first.end(), dist_.write(memory).begin());
    for (i32& vertex : next_.write(memory)) vertex = kDirect;
  }

  u64 launches() const override { return p_.steps(); }

  Launch launch(GuestMemory&, u64 number) override {
    Launch step = launch_tiles();
    step.argument(dist_).argument(next_).argument(p_.dim).argument(p_.first + static_cast<u32>(number));
    return step;
  }

  CheckResult check(const GuestMemory& memory) const override {
    std::vector<i32> dist = draw_distances(p_.dim, p_.seed), next(dist.size(), kDirect);
    for (u32 k = p_.first; k < p_.first + p_.steps(); ++k) relax(dist, next, k);
    const auto got_dist = dist_.read(memory), got_next = next_.read(memory);
    ExactCheck distances("dist"), vertices("next");
    u64 improved = 0;
    for (u64 at = 0; at < dist.size(); ++at) {
      distances.compare(at, got_dist[at], dist[at]);
      vertices.compare(at, got_next[at], next[at]);
      improved += got_next[at] != kDirect;
    }
    CheckResult result = both(distances.result(), vertices.result());
    result.message += fmt::format(", {} pairs improved in {} steps", improved, p_.steps());
    return result;
  }

 private:
  u32 tiles() const { return (p_.dim + kTile - 1) / kTile; }
  Launch launch_tiles() const {
    return sliced_launch(p_.coalesced ? "fw_step_coalesced" : "fw_step", {tiles(), tiles()}, {kTile, kTile}, p_.slice);
  }

  void relax(std::vector<i32>& dist, std::vector<i32>& next, u32 k) const {
    const u64 launched = launch_tiles().blocks();
    const u64 dim = p_.dim;
    for (u64 i = 0; i < dim; ++i) {
      const i32 first_leg = dist[i * dim + k];
      for (u64 j = 0; j < dim; ++j) {
        const u64 x = (p_.coalesced ? j : i) / kTile, y = (p_.coalesced ? i : j) / kTile;
        const i32 through = first_leg + dist[k * dim + j];
        if (y * tiles() + x >= launched || through >= dist[i * dim + j]) continue;
        dist[i * dim + j] = through;
        next[i * dim + j] = static_cast<i32>(k);
      }
    }
  }

  Params p_;
  Buffer<i32> dist_, next_;
};

const RegisterWorkload<FloydWarshall> kRegistered{{
    .name = "fw",
    .purpose = "Floyd-Warshall with threads along columns: 16 lines on 16 pages an access",
    .origin = "Pannotia fw",
    .papers = "VC",
    .module = "fw",
    .variants = {"vc"},
}};

}  // namespace
}  // namespace terrace
