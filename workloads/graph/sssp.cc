// SSSP: shortest paths by Bellman-Ford, three kernels a round. On a road network it takes thousands of rounds, of which
// `iters` runs the first; every round walks all edges, so that one is like the other.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "graph/rounds.h"
#include "support/checks.h"

namespace terrace {
namespace {

constexpr u32 kSourceVertex = 0;
constexpr i32 kInfinity = 99'999'999;  // the original's

class ShortestPaths final : public FlaggedRounds {
 public:
  static void preset(InputSize size, std::string_view, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.shape(GraphClass::kRoad, 900), p.iters = 4;
        break;
      case InputSize::kTiny:
        p.shape(GraphClass::kRoad, 160'000), p.iters = 1;
        break;
      case InputSize::kSmall:
        p.shape(GraphClass::kRoad, 400'000), p.iters = 8;
        break;
      case InputSize::kPaper:  // SIMT's 104.32 MB; the suite's own input has 1,207,945 vertices
        p.shape(GraphClass::kRoad, 3'400'000), p.iters = 3;
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) { return bytes_of(p.graph, 2, 1); }

  explicit ShortestPaths(const Params& params) : FlaggedRounds(params, 64, {"assign", "minplus", "diff"}) {}

  CheckResult check(const GuestMemory& memory) const override {
    std::vector<i32> y = first_distances(), x = y;
    for (u64 round = 0; round < rounds(); ++round) {
      std::copy(y.begin(), y.begin() + launched_vertices(), x.begin());
      for (u32 v = 0; v < launched_vertices(); ++v) y[v] = through_neighbours(x, v);
    }
    ExactCheck distances("y");
    u64 reached = 0;
    const auto got = y_.read(memory);
    for (u64 v = 0; v < y.size(); ++v) {
      distances.compare(v, got[v], y[v]);
      reached += got[v] < kInfinity;
    }
    CheckResult result = distances.result();
    result.message += fmt::format(", {} vertices reached in {} rounds", reached, rounds());
    return result;
  }

 private:
  void allocate_arrays(GuestMemory& memory) override {
    FlaggedRounds::allocate_arrays(memory);
    weight_ = Buffer<i32>(memory, "weight", edges());
    x_ = per_vertex<i32>(memory, "x");
    y_ = per_vertex<i32>(memory, "y");
  }
  void fill_arrays(GuestMemory& memory) override {
    FlaggedRounds::fill_arrays(memory);
    std::copy(graph().weight.begin(), graph().weight.end(), weight_.write(memory).begin());
    for (const auto* distances : {&x_, &y_}) {
      const auto first = first_distances();
      std::copy(first.begin(), first.end(), distances->write(memory).begin());
    }
  }
  void arguments(u32 number, Launch& launch) override {
    if (number == 0) launch.argument(x_).argument(y_);
    if (number == 1) launch.argument(row_).argument(col_).argument(weight_).argument(x_).argument(y_);
    if (number == 2) launch.argument(x_).argument(y_).argument(flag_);
  }

  std::vector<i32> first_distances() const {
    std::vector<i32> distances(vertices(), kInfinity);
    distances[kSourceVertex] = 0;
    return distances;
  }
  i32 through_neighbours(const std::vector<i32>& x, u32 v) const {
    i32 least = x[v];
    const auto targets = graph().targets(v), weights = graph().weights(v);
    for (u64 e = 0; e < targets.size(); ++e) least = std::min(least, weights[e] + x[static_cast<u32>(targets[e])]);
    return least;
  }

  Buffer<i32> weight_, x_, y_;
};

const RegisterWorkload<ShortestPaths> kRegistered{{
    .name = "sssp",
    .purpose = "shortest paths by Bellman-Ford on a road network: gathers over two or three pages",
    .origin = "Pannotia sssp",
    .papers = "SIMT",
    .module = "sssp",
    .variants = {"simt"},
}};

}  // namespace
}  // namespace terrace
