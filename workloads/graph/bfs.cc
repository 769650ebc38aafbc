// BFS: level-synchronous breadth-first search with byte masks. Most launches touch few vertices; two or three middle
// levels do all the work, and there the gathers of visited, cost and updating scatter over up to 28 pages.
// With start=peak the host computes the largest level's frontier and only that level runs: the TLB pressure of the
// whole program at a fraction of its cost. Variants: vc (1 M vertices, degree 6), mask (32 K vertices, degree 15).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "engine/check.h"
#include "frontend/workload.h"
#include "frontend/workload_alias.h"
#include "graph/csr.h"
#include "support/checks.h"

namespace terrace {
namespace {

constexpr u32 kSourceVertex = 0;
constexpr u32 kThreads = 512;

enum class Start : u8 { kSource, kPeak };

struct NodeRecord {
  i32 first, degree;
};

class BreadthFirst final : public Program {
 public:
  struct Params : WorkloadParams {
    GraphParams graph;
    Start start = Start::kSource;

    Params() { iters = 0; }
    void describe(Fields& v) override {
      graph.describe(v);
      v("start", start, {"source", "peak"}, "from vertex 0, or with the largest level of that search");
      WorkloadParams::describe(v);
    }

   protected:
    u64 least_iters() const override { return 0; }
    std::string_view iters_doc() const override { return "levels to run at most; 0: until no vertex is left"; }
  };

  static void preset(InputSize size, std::string_view variant, Params& p) {
    const auto shape = [&p](u32 vertices, u32 degree) { p.graph.vertices = vertices, p.graph.degree = degree; };
    switch (size) {
      case InputSize::kMini:
        return shape(500, 6);
      case InputSize::kTiny:
        if (variant == "mask") return shape(32'768, 15);  // the paper's own input is tiny
        p.start = Start::kPeak;
        p.iters = 1;
        p.slice = {Fraction::kOne / 10};
        return shape(1'000'000, 6);
      case InputSize::kSmall:
        return variant == "mask" ? shape(32'768, 15) : shape(400'000, 6);
      case InputSize::kPaper:
        return variant == "mask" ? shape(32'768, 15) : shape(1'000'000, 6);
    }
  }
  static u64 footprint_bytes(const Params& p) {
    const GraphShape shape = expected_shape(p.graph);
    return shape.vertices * (sizeof(NodeRecord) + 3 + sizeof(i32)) + shape.edges * sizeof(i32) + sizeof(i32);
  }

  explicit BreadthFirst(const Params& params) : p_(params) {}

  void allocate(GuestMemory& memory) override {
    graph_ = generate_graph(p_.graph, p_.seed);
    const u64 vertices = graph_.vertices();
    nodes_ = Buffer<NodeRecord>(memory, "nodes", vertices);
    edges_ = Buffer<i32>(memory, "edges", graph_.edges());
    mask_ = Buffer<u8>(memory, "mask", vertices);
    updating_ = Buffer<u8>(memory, "updating", vertices);
    visited_ = Buffer<u8>(memory, "visited", vertices);
    cost_ = Buffer<i32>(memory, "cost", vertices);
    again_ = Buffer<i32>(memory, "again", 1);
    if (p_.start == Start::kPeak) find_peak();
  }

  void initialise(GuestMemory& memory) override {
    const auto nodes = nodes_.write(memory);
    for (u32 v = 0; v < graph_.vertices(); ++v) nodes[v] = {graph_.row[v], static_cast<i32>(graph_.degree(v))};
    std::copy(graph_.col.begin(), graph_.col.end(), edges_.write(memory).begin());
    const State first = first_state();
    std::copy(first.mask.begin(), first.mask.end(), mask_.write(memory).begin());
    std::copy(first.visited.begin(), first.visited.end(), visited_.write(memory).begin());
    std::copy(first.cost.begin(), first.cost.end(), cost_.write(memory).begin());
    const auto updating = updating_.write(memory);
    std::fill(updating.begin(), updating.end(), u8{0});
    again_.set(memory, 0, 1);
    launched_ = 0;
  }

  std::optional<Launch> next(GuestMemory& memory) override {
    const u32 vertices = graph_.vertices();
    const bool level_starts = launched_ % 2 == 0;
    if (level_starts && (again_.get(memory, 0) == 0 || (p_.iters && launched_ / 2 == p_.iters))) return std::nullopt;
    const Dim3 grid{(vertices + kThreads - 1) / kThreads};
    Launch launch = sliced_launch(level_starts ? "bfs1" : "bfs2", grid, {kThreads}, p_.slice);
    if (level_starts) {
      launch.argument(nodes_).argument(edges_).argument(mask_).argument(updating_).argument(visited_).argument(cost_);
    } else {
      again_.set(memory, 0, 0);
      launch.argument(mask_).argument(updating_).argument(visited_).argument(again_);
    }
    launch.argument(vertices);
    ++launched_;
    return launch;
  }

  void archive(Archive& a) override { a(launched_); }

  /// A whole search must agree with a queue on the host; part of one with the same levels done there one by one.
  CheckResult check(const GuestMemory& memory) const override {
    const bool whole = p_.start == Start::kSource && p_.iters == 0 && p_.slice.millionths == Fraction::kOne;
    const std::vector<i32> want = whole ? bfs_levels(graph_, kSourceVertex) : replay();
    const auto cost = cost_.read(memory);
    ExactCheck levels("cost");
    u64 reached = 0;
    for (u64 v = 0; v < want.size(); ++v) {
      levels.compare(v, cost[v], want[v]);
      reached += cost[v] >= 0;
    }
    CheckResult result = levels.result();
    result.message += fmt::format(", {} vertices reached in {} levels", reached, launched_ / 2);
    return result;
  }

 private:
  struct State {
    std::vector<u8> mask, visited;
    std::vector<i32> cost;
  };

  State first_state() const {
    const u32 vertices = graph_.vertices();
    State state{std::vector<u8>(vertices, 0), std::vector<u8>(vertices, 0), std::vector<i32>(vertices, -1)};
    if (p_.start == Start::kSource) {
      state.mask[kSourceVertex] = state.visited[kSourceVertex] = 1;
      state.cost[kSourceVertex] = 0;
      return state;
    }
    for (u32 v = 0; v < vertices; ++v) {
      if (levels_[v] < 0 || levels_[v] > peak_) continue;
      state.mask[v] = levels_[v] == peak_;
      state.visited[v] = 1;
      state.cost[v] = levels_[v];
    }
    return state;
  }

  void find_peak() {
    levels_ = bfs_levels(graph_, kSourceVertex);
    std::vector<u64> width;
    for (const i32 level : levels_) {
      if (level < 0) continue;
      if (static_cast<u64>(level) >= width.size()) width.resize(static_cast<u64>(level) + 1);
      ++width[static_cast<u64>(level)];
    }
    peak_ = static_cast<i32>(std::max_element(width.begin(), width.end()) - width.begin());
  }

  /// The launches as made, a level at a time, with only the launched vertices taking part.
  std::vector<i32> replay() const {
    State state = first_state();
    const u64 launched = std::min<u64>(
        sliced_launch("", {(graph_.vertices() + kThreads - 1) / kThreads}, {kThreads}, p_.slice).blocks() * kThreads,
        graph_.vertices());
    std::vector<u8> updating(graph_.vertices(), 0);
    for (u64 level = 0; level < launched_ / 2; ++level) {
      for (u64 v = 0; v < launched; ++v) {
        if (!std::exchange(state.mask[v], u8{0})) continue;
        for (i32 e = graph_.row[v]; e < graph_.row[v + 1]; ++e) {
          const u32 u = static_cast<u32>(graph_.col[static_cast<u32>(e)]);
          if (state.visited[u]) continue;
          state.cost[u] = state.cost[v] + 1;
          updating[u] = 1;
        }
      }
      for (u64 v = 0; v < launched; ++v) {
        if (std::exchange(updating[v], u8{0})) state.mask[v] = state.visited[v] = 1;
      }
    }
    return std::move(state.cost);
  }

  Params p_;
  Csr graph_;
  std::vector<i32> levels_;  // of a whole search; only when starting at the peak
  i32 peak_ = 0;
  Buffer<NodeRecord> nodes_;
  Buffer<i32> edges_, cost_, again_;
  Buffer<u8> mask_, updating_, visited_;
  u64 launched_ = 0;
};

const RegisterWorkload<BreadthFirst> kRegistered{{
    .name = "bfs",
    .purpose = "level-synchronous breadth-first search: scattered gathers in a few levels",
    .origin = "Rodinia bfs",
    .papers = "VC, MASK (BFS2)",
    .module = "bfs",
    .variants = {"mask", "vc"},
    .paper_needs_variant = true,
}};
const RegisterAlias kAlias{"bfs2", "bfs"};

}  // namespace
}  // namespace terrace
