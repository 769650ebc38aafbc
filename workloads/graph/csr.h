// Graphs in compressed sparse rows, and generators for the classes that the papers' inputs fall into. What a class
// fixes is degree and locality: how many lines and pages a warp touches that reads something of its vertices'
// neighbours.
//   mesh      square grid, four neighbours, natural order       (ecology1: neighbours on about one page)
//   road      lattice with 59 % of its edges, ids shuffled in a window of 4,096        (USA-road-d)
//   circuit   mesh and 10 % more edges between random vertices                         (G3_circuit)
//   coauthor  half local edges, half between Zipf-like endpoints                       (coAuthorsDBLP)
//   uniform   every vertex points to `degree` random ones       (Rodinia's graph1MW_6: the worst case)
//   dense     `degree` x vertices random edges, few vertices    (Pannotia's 2k_1M)
// All but uniform and dense are undirected: both directions are stored, lists are sorted.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "config/fields.h"
#include "engine/types.h"

namespace terrace {

enum class GraphClass : u8 { kMesh, kRoad, kCircuit, kCoauthor, kUniform, kDense };

struct GraphParams {
  GraphClass graph = GraphClass::kUniform;
  u32 vertices = 1'000'000;
  u32 degree = 6;

  void describe(Fields& v);
};

struct Csr {
  std::vector<i32> row;     // vertices + 1
  std::vector<i32> col;     // targets, by source
  std::vector<i32> weight;  // per edge; road 1 to 10,000, dense 0 to 100, otherwise 1

  u32 vertices() const { return static_cast<u32>(row.size() - 1); }
  u64 edges() const { return col.size(); }
  u32 degree(u32 vertex) const { return static_cast<u32>(row[vertex + 1] - row[vertex]); }
  std::span<const i32> targets(u32 vertex) const {
    return std::span(col).subspan(static_cast<u32>(row[vertex]), degree(vertex));
  }
  std::span<const i32> weights(u32 vertex) const {
    return std::span(weight).subspan(static_cast<u32>(row[vertex]), degree(vertex));
  }
};

/// Mesh, road and circuit have the largest square number of vertices that fits.
Csr generate_graph(const GraphParams& params, u64 seed);

/// As many vertices and edges as the generator makes.
struct GraphShape {
  u64 vertices, edges;
};
GraphShape expected_shape(const GraphParams& params);

/// The fewest edges from `source` to each vertex, -1 where there is no way.
std::vector<i32> bfs_levels(const Csr& graph, u32 source);

}  // namespace terrace
