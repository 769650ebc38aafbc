// PAGERANK_SPMV: PageRank by pulling, a sparse matrix times a vector: gathers in place of PAGERANK's atomic additions, and
// an array of edge values that is read.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "graph/rounds.h"
#include "support/checks.h"

namespace terrace {
namespace {

class PageRankSpmv final : public FixedRounds {
 public:
  using Params = RankParams;

  static void preset(InputSize size, std::string_view variant, Params& p) {
    p.choose(size, variant);
    if (size == InputSize::kTiny && variant == "vc") p.slice = {Fraction::kOne / 10};
  }
  static u64 footprint_bytes(const Params& p) { return bytes_of(p.graph, 2, 1); }

  explicit PageRankSpmv(const Params& params) : FixedRounds(params, 64, {"spmv_scalar", "spmv_update"}, "spmv_start") {}

  CheckResult check(const GuestMemory& memory) const override {
    const std::vector<double> want = replay();
    const auto got = x_.read(memory), data = data_.read(memory);
    RelativeCheck ranks("x", 1e-4), values("data", 1e-6);
    for (u64 v = 0; v < want.size(); ++v) ranks.compare(v, double{got[v]}, want[v]);
    const u64 filled = static_cast<u64>(graph().row[launched_vertices()]);
    for (u64 e = 0; e < filled; ++e) values.compare(e, double{data[e]}, share(graph().col[e]));
    return both(ranks.result(), values.result());
  }

 private:
  void allocate_arrays(GuestMemory& memory) override {
    data_ = Buffer<float>(memory, "data", edges());
    x_ = per_vertex<float>(memory, "x");
    y_ = per_vertex<float>(memory, "y");
  }
  void fill_arrays(GuestMemory& memory) override {
    fill_with(memory, data_, 0.0f);
    fill_with(memory, x_, 1.0f / static_cast<float>(vertices()));
    fill_with(memory, y_, 0.0f);
  }
  void opening_arguments(Launch& launch) override { launch.argument(row_).argument(col_).argument(data_); }
  void arguments(u32 number, Launch& launch) override {
    if (number == 0) launch.argument(row_).argument(col_).argument(data_);
    launch.argument(x_).argument(y_);
  }

  double share(i32 vertex) const { return 1.0 / graph().degree(static_cast<u32>(vertex)); }
  std::vector<double> replay() const {
    const double all = vertices();
    std::vector<double> x(vertices(), 1 / all), y(vertices(), 0);
    for (u64 round = 0; round < rounds(); ++round) {
      for (u32 v = 0; v < launched_vertices(); ++v)
        for (const i32 u : graph().targets(v)) y[v] += share(u) * x[static_cast<u32>(u)];
      for (u32 v = 0; v < launched_vertices(); ++v) x[v] = 0.15 / all + 0.85 * std::exchange(y[v], 0);
    }
    return x;
  }

  Buffer<float> data_, x_, y_;
};

const RegisterWorkload<PageRankSpmv> kRegistered{{
    .name = "pagerank_spmv",
    .purpose = "PageRank by pulling: scattered gathers (variant vc: a uniform graph in place of the suite's)",
    .origin = "Pannotia pagerank_spmv",
    .papers = "VC",
    .module = "pagerank_spmv",
    .variants = {"vc"},
}};

}  // namespace
}  // namespace terrace
