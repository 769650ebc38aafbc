// SPDX-License-Identifier: MIT
#include "graph/csr.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/check.h"
#include "engine/rng.h"

namespace terrace {
namespace {

struct Edge {
  i32 from, to, weight;
};

constexpr u32 kRoadKeepPercent = 59;  // gives road networks' average degree of 2.35
constexpr u32 kRoadWindow = 4096;     // ids: 4 pages of a vertex array
constexpr u32 kRoadMaxWeight = 10'000;
constexpr u32 kDenseMaxWeight = 100;
constexpr u32 kCircuitExtraPercent = 10;
constexpr u32 kCoauthorReach = 1000;  // ids that a local edge spans at most
constexpr u64 kCoauthorEdges = 327;   // undirected edges per 100 vertices: coAuthorsDBLP has 977,676 on 299,067

u32 side_of(u32 vertices) {
  u32 side = static_cast<u32>(std::sqrt(static_cast<double>(vertices)));
  while (u64{side} * side > vertices) --side;
  return side;
}

/// Edges sorted by source, and by target within a source when `sorted`: two passes of a stable counting sort.
Csr build(u32 vertices, std::vector<Edge> edges, bool sorted) {
  SIM_CHECK(edges.size() < (u64{1} << 31), "{} edges do not fit 32-bit indexes", edges.size());
  std::vector<i32> first(vertices + 1);
  const auto sort_by = [&](i32 Edge::* key) {
    std::fill(first.begin(), first.end(), 0);
    for (const Edge& edge : edges) ++first[static_cast<u32>(edge.*key) + 1];
    for (u32 v = 0; v < vertices; ++v) first[v + 1] += first[v];
    std::vector<i32> next(first.begin(), first.end() - 1);
    std::vector<Edge> ordered(edges.size());
    for (const Edge& edge : edges) ordered[static_cast<u32>(next[static_cast<u32>(edge.*key)]++)] = edge;
    edges.swap(ordered);
  };
  if (sorted) sort_by(&Edge::to);
  sort_by(&Edge::from);

  Csr graph;
  graph.row = std::move(first);
  graph.col.reserve(edges.size());
  graph.weight.reserve(edges.size());
  for (const Edge& edge : edges) {
    graph.col.push_back(edge.to);
    graph.weight.push_back(edge.weight);
  }
  return graph;
}

void add_both(std::vector<Edge>& edges, u64 a, u64 b, u64 weight) {
  const i32 from = static_cast<i32>(a), to = static_cast<i32>(b), w = static_cast<i32>(weight);
  edges.push_back({from, to, w});
  edges.push_back({to, from, w});
}

u64 lattice_edges(u64 side) {
  return 2 * side * (side - 1);
}

/// Calls `each(a, b)` for every edge of a square lattice, once.
template <class F>
void for_lattice_edges(u32 side, F&& each) {
  for (u32 y = 0; y < side; ++y) {
    for (u32 x = 0; x < side; ++x) {
      const u32 v = y * side + x;
      if (x + 1 < side) each(v, v + 1);
      if (y + 1 < side) each(v, v + side);
    }
  }
}

Csr mesh(u32 vertices) {
  const u32 side = side_of(vertices);
  std::vector<Edge> edges;
  for_lattice_edges(side, [&](u32 a, u32 b) { add_both(edges, a, b, 1); });
  return build(side * side, std::move(edges), true);
}

/// New ids: each is drawn from the next `window` old ones that are not yet taken. Some wait long for their turn.
std::vector<u32> shuffle_in_window(u32 vertices, u32 window, Rng& rng) {
  std::vector<u32> waiting(vertices), new_id(vertices);
  std::iota(waiting.begin(), waiting.end(), 0);
  for (u32 id = 0; id < vertices; ++id) {
    std::swap(waiting[id], waiting[id + rng.below(std::min(window, vertices - id))]);
    new_id[waiting[id]] = id;
  }
  return new_id;
}

Csr road(u32 vertices, u64 seed) {
  const u32 side = side_of(vertices);
  Rng order(seed, "graph.road.order"), keep(seed, "graph.road.keep"), weights(seed, "graph.road.weights");
  const auto new_id = shuffle_in_window(side * side, kRoadWindow, order);
  // Each edge stays with the same chance, and as many as announced stay: of those left, as many as are still wanted.
  u64 left = lattice_edges(side), wanted = left * kRoadKeepPercent / 100;
  std::vector<Edge> edges;
  for_lattice_edges(side, [&](u32 a, u32 b) {
    if (keep.below(left--) >= wanted) return;
    --wanted;
    add_both(edges, new_id[a], new_id[b], 1 + weights.below(kRoadMaxWeight));
  });
  return build(side * side, std::move(edges), true);
}

Csr circuit(u32 vertices, u64 seed) {
  const u32 side = side_of(vertices);
  std::vector<Edge> edges;
  for_lattice_edges(side, [&](u32 a, u32 b) { add_both(edges, a, b, 1); });
  Rng rng(seed, "graph.circuit");
  const u64 extra = edges.size() / 2 * kCircuitExtraPercent / 100;
  for (u64 i = 0; i < extra; ++i) {
    const u64 a = rng.below(u64{side} * side);
    const u64 b = (a + 1 + rng.below(u64{side} * side - 1)) % (u64{side} * side);  // never a itself
    add_both(edges, a, b, 1);
  }
  return build(side * side, std::move(edges), true);
}

/// u to the power 1.7 from square roots alone, whose result every machine agrees on: 1.7 in binary, to 16 places.
double power_1_7(double u) {
  double result = u, root = u;
  u32 places = 45875;  // 0.7 x 2^16
  for (u32 bit = 1u << 15; bit; bit >>= 1) {
    root = std::sqrt(root);
    if (places & bit) result *= root;
  }
  return result;
}

Csr coauthor(u32 vertices, u64 seed) {
  Rng rng(seed, "graph.coauthor");
  const auto zipf = [&] {
    return std::min<u64>(static_cast<u64>(static_cast<double>(vertices) * power_1_7(rng.unit())), vertices - 1);
  };
  std::vector<Edge> edges;
  const u64 wanted = vertices * kCoauthorEdges / 100;
  while (edges.size() < 2 * wanted) {
    u64 a, b;
    if (edges.size() / 2 % 2) {
      a = rng.below(vertices);
      b = a + rng.below(2 * kCoauthorReach + 1);
      if (b < kCoauthorReach || b - kCoauthorReach >= vertices) continue;
      b -= kCoauthorReach;
    } else {
      a = zipf();
      b = zipf();
    }
    if (a != b) add_both(edges, a, b, 1);
  }
  return build(vertices, std::move(edges), true);
}

Csr uniform(u32 vertices, u32 degree, u64 seed) {
  Rng rng(seed, "graph.uniform");
  Csr graph;
  graph.row.resize(u64{vertices} + 1);
  graph.col.resize(u64{vertices} * degree);
  graph.weight.assign(graph.col.size(), 1);
  for (u64 v = 0; v <= vertices; ++v) graph.row[v] = static_cast<i32>(v * degree);
  for (i32& target : graph.col) target = static_cast<i32>(rng.below(vertices));
  return graph;
}

Csr dense(u32 vertices, u32 degree, u64 seed) {
  Rng rng(seed, "graph.dense");
  std::vector<Edge> edges(u64{vertices} * degree);
  for (Edge& edge : edges) {
    edge.from = static_cast<i32>(rng.below(vertices));
    edge.to = static_cast<i32>(rng.below(vertices));
    edge.weight = static_cast<i32>(rng.below(kDenseMaxWeight + 1));
  }
  return build(vertices, std::move(edges), false);
}

}  // namespace

void GraphParams::describe(Fields& v) {
  v("graph", graph, {"mesh", "road", "circuit", "coauthor", "uniform", "dense"}, "class of the graph");
  v("vertices", vertices, in(2, 1 << 28), "vertices; for mesh, road and circuit rounded down to a square number");
  v("degree", degree, in(1, 1024), "edges per vertex of a uniform or dense graph");
}

Csr generate_graph(const GraphParams& params, u64 seed) {
  const GraphShape shape = expected_shape(params);
  if (shape.edges >= (u64{1} << 31) - (u64{1} << 20)) {
    input_error(
        "a graph of {} vertices would have about {} edges, more than 32-bit indexes can name; choose fewer vertices",
        shape.vertices, shape.edges);
  }
  switch (params.graph) {
    case GraphClass::kMesh:
      return mesh(params.vertices);
    case GraphClass::kRoad:
      return road(params.vertices, seed);
    case GraphClass::kCircuit:
      return circuit(params.vertices, seed);
    case GraphClass::kCoauthor:
      return coauthor(params.vertices, seed);
    case GraphClass::kUniform:
      return uniform(params.vertices, params.degree, seed);
    case GraphClass::kDense:
      return dense(params.vertices, params.degree, seed);
  }
  return {};
}

GraphShape expected_shape(const GraphParams& params) {
  const u64 side = side_of(params.vertices), lattice = lattice_edges(side);  // undirected
  switch (params.graph) {
    case GraphClass::kMesh:
      return {side * side, 2 * lattice};
    case GraphClass::kRoad:
      return {side * side, 2 * (lattice * kRoadKeepPercent / 100)};
    case GraphClass::kCircuit:
      return {side * side, 2 * (lattice + lattice * kCircuitExtraPercent / 100)};
    case GraphClass::kCoauthor:
      return {params.vertices, 2 * (params.vertices * kCoauthorEdges / 100)};
    case GraphClass::kUniform:
    case GraphClass::kDense:
      return {params.vertices, u64{params.vertices} * params.degree};
  }
  return {};
}

std::vector<i32> bfs_levels(const Csr& graph, u32 source) {
  std::vector<i32> level(graph.vertices(), -1);
  std::vector<u32> queue{source};
  level[source] = 0;
  for (u64 head = 0; head < queue.size(); ++head) {
    const u32 v = queue[head];
    for (i32 e = graph.row[v]; e < graph.row[v + 1]; ++e) {
      const u32 u = static_cast<u32>(graph.col[static_cast<u32>(e)]);
      if (level[u] >= 0) continue;
      level[u] = level[v] + 1;
      queue.push_back(u);
    }
  }
  return level;
}

}  // namespace terrace
