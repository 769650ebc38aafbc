// PAGERANK: push formulation, whose atomic additions scatter over up to 32 pages and queue at vertices with many
// neighbours. The array of edge values that the original allocates and never reads is there too: it is part of the
// footprint.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "graph/rounds.h"
#include "support/checks.h"

namespace terrace {
namespace {

class PageRank final : public FixedRounds {
 public:
  using Params = RankParams;

  static void preset(InputSize size, std::string_view variant, Params& p) { p.choose(size, variant); }
  static u64 footprint_bytes(const Params& p) { return bytes_of(p.graph, 2, 1); }

  explicit PageRank(const Params& params) : FixedRounds(params, 256, {"pr_push", "pr_update"}) {}

  CheckResult check(const GuestMemory& memory) const override {
    const std::vector<double> want = replay();
    const auto got = rank_.read(memory);
    RelativeCheck ranks("rank", 1e-3), sum("sum of ranks", 1e-3);
    double got_sum = 0, want_sum = 0;
    for (u64 v = 0; v < launched_vertices(); ++v) {
      ranks.compare(v, double{got[v]}, want[v]);
      got_sum += double{got[v]};
      want_sum += want[v];
    }
    sum.compare(0, got_sum, want_sum);
    return both(ranks.result(), sum.result());
  }

 private:
  void allocate_arrays(GuestMemory& memory) override {
    edge_value_ = Buffer<float>(memory, "edge_value", edges());
    rank_ = per_vertex<float>(memory, "rank");
    next_rank_ = per_vertex<float>(memory, "next_rank");
  }
  void fill_arrays(GuestMemory& memory) override {
    fill_with(memory, edge_value_, 1.0f);
    fill_with(memory, rank_, 1.0f / static_cast<float>(vertices()));
    fill_with(memory, next_rank_, 0.0f);
  }
  void arguments(u32 number, Launch& launch) override {
    if (number == 0) launch.argument(row_).argument(col_).argument(rank_).argument(next_rank_);
    if (number == 1) launch.argument(rank_).argument(next_rank_);
  }

  std::vector<double> replay() const {
    const double all = vertices();
    std::vector<double> rank(vertices(), 1 / all), next(vertices(), 0);
    for (u64 round = 0; round < rounds(); ++round) {
      for (u32 v = 0; v < launched_vertices(); ++v)
        for (const i32 u : graph().targets(v)) next[static_cast<u32>(u)] += rank[v] / graph().degree(v);
      for (u32 v = 0; v < launched_vertices(); ++v) rank[v] = 0.15 / all + 0.85 * std::exchange(next[v], 0);
    }
    return rank;
  }

  Buffer<float> edge_value_, rank_, next_rank_;
};

const RegisterWorkload<PageRank> kRegistered{{
    .name = "pagerank",
    .purpose = "PageRank by pushing: scattered atomic additions (variant vc: a uniform graph in place of the suite's)",
    .origin = "Pannotia pagerank",
    .papers = "VC",
    .module = "pagerank",
    .variants = {"vc"},
}};

}  // namespace
}  // namespace terrace
