// The graph generators: shape, locality and reproducibility of each class.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/check.h"
#include "engine/hash.h"
#include "graph/csr.h"

namespace terrace {
namespace {

constexpr GraphClass kAllClasses[] = {GraphClass::kMesh,     GraphClass::kRoad,    GraphClass::kCircuit,
                                      GraphClass::kCoauthor, GraphClass::kUniform, GraphClass::kDense};

Csr make(GraphClass graph, u32 vertices, u32 degree = 6, u64 seed = 1) {
  GraphParams params;
  params.graph = graph;
  params.vertices = vertices;
  params.degree = degree;
  return generate_graph(params, seed);
}

u64 digest(const Csr& graph) {
  const auto bytes = [](const std::vector<i32>& values) {
    return std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(i32));
  };
  return hash64(bytes(graph.row)) ^ (3 * hash64(bytes(graph.col))) ^ (7 * hash64(bytes(graph.weight)));
}

u32 max_degree(const Csr& graph) {
  u32 most = 0;
  for (u32 v = 0; v < graph.vertices(); ++v) most = std::max(most, graph.degree(v));
  return most;
}

double mean_degree(const Csr& graph) {
  return static_cast<double>(graph.edges()) / graph.vertices();
}

std::string class_name(const testing::TestParamInfo<GraphClass>& tested) {
  constexpr std::array kNames = {"mesh", "road", "circuit", "coauthor", "uniform", "dense"};
  return kNames.at(static_cast<std::size_t>(tested.param));
}

class EveryGraphClass : public testing::TestWithParam<GraphClass> {};
INSTANTIATE_TEST_SUITE_P(Graph, EveryGraphClass, testing::ValuesIn(kAllClasses), class_name);

TEST_P(EveryGraphClass, IsAValidListOfRowsAndTargets) {
  const Csr graph = make(GetParam(), 10'000);
  ASSERT_EQ(graph.row.front(), 0);
  ASSERT_EQ(static_cast<u64>(graph.row.back()), graph.edges());
  ASSERT_EQ(graph.weight.size(), graph.edges());
  EXPECT_TRUE(std::is_sorted(graph.row.begin(), graph.row.end()));
  for (const i32 target : graph.col) {
    ASSERT_GE(target, 0);
    ASSERT_LT(static_cast<u32>(target), graph.vertices());
  }
}

TEST_P(EveryGraphClass, HasTheShapeThatItsFootprintIsComputedFrom) {
  GraphParams params;
  params.graph = GetParam();
  params.vertices = 40'000;
  const Csr graph = generate_graph(params, 3);
  const GraphShape expected = expected_shape(params);
  EXPECT_EQ(graph.vertices(), expected.vertices);
  EXPECT_EQ(graph.edges(), expected.edges);
}

TEST_P(EveryGraphClass, ComesOutTheSameForTheSameSeed) {
  EXPECT_EQ(digest(make(GetParam(), 5000, 6, 7)), digest(make(GetParam(), 5000, 6, 7)));
}

TEST_P(EveryGraphClass, DiffersForAnotherSeedUnlessNothingIsDrawn) {
  const bool same = digest(make(GetParam(), 5000, 6, 7)) == digest(make(GetParam(), 5000, 6, 8));
  EXPECT_EQ(same, GetParam() == GraphClass::kMesh);
}

/// An undirected edge is stored in both directions, with one weight.
class EveryUndirectedClass : public testing::TestWithParam<GraphClass> {};
INSTANTIATE_TEST_SUITE_P(Graph, EveryUndirectedClass,
                         testing::Values(GraphClass::kMesh, GraphClass::kRoad, GraphClass::kCircuit,
                                         GraphClass::kCoauthor),
                         class_name);

TEST_P(EveryUndirectedClass, StoresBothDirectionsOfEveryEdge) {
  const Csr graph = make(GetParam(), 2500);
  std::multiset<std::tuple<i32, i32, i32>> forward, backward;
  for (u32 v = 0; v < graph.vertices(); ++v) {
    for (i32 e = graph.row[v]; e < graph.row[v + 1]; ++e) {
      const auto at = static_cast<u32>(e);
      forward.emplace(static_cast<i32>(v), graph.col[at], graph.weight[at]);
      backward.emplace(graph.col[at], static_cast<i32>(v), graph.weight[at]);
    }
  }
  EXPECT_EQ(forward, backward);
}

TEST(Graph, AMillionVertexMeshHasTheEdgesOfEcology1) {
  const Csr graph = make(GraphClass::kMesh, 1'000'000);
  EXPECT_EQ(graph.vertices(), 1'000'000u);
  EXPECT_EQ(graph.edges(), 3'996'000u);
  EXPECT_EQ(max_degree(graph), 4u);
}

TEST(Graph, ARoadNetworkHasTheMeanDegreeOfTheRealOnesAndNeighboursAboutAWindowApart) {
  const Csr graph = make(GraphClass::kRoad, 250'000);
  EXPECT_NEAR(mean_degree(graph), 2.35, 0.03);
  // An id waits a geometric time of mean 4,096 for its turn. The difference of two such waits is 4,096 on average; that
  // lattice neighbours are up to a row (500) apart beforehand adds next to nothing.
  double sum = 0;
  for (u32 v = 0; v < graph.vertices(); ++v)
    for (const i32 target : graph.targets(v)) sum += std::abs(target - static_cast<i32>(v));
  EXPECT_NEAR(sum / static_cast<double>(graph.edges()), 4096, 0.03 * 4096);
  const auto [least, most] = std::minmax_element(graph.weight.begin(), graph.weight.end());
  EXPECT_GE(*least, 1);
  EXPECT_LE(*most, 10'000);
  EXPECT_GT(*most, 9'900);
}

TEST(Graph, ACoauthorGraphIsSkewedWithAMaximumDegreeInTheHundreds) {
  const Csr graph = make(GraphClass::kCoauthor, 299'067);
  EXPECT_NEAR(mean_degree(graph), 6.54, 0.05);
  EXPECT_GT(max_degree(graph), 200u);
  EXPECT_LT(max_degree(graph), 1000u);
}

TEST(Graph, AUniformGraphDrawsItsTargetsEvenly) {
  const Csr graph = make(GraphClass::kUniform, 1000, 200);
  std::vector<u32> drawn(10, 0);
  for (const i32 target : graph.col) ++drawn[static_cast<u32>(target) / 100];
  // 200,000 draws into ten bins: the standard deviation of a bin is 134.
  for (const u32 count : drawn) EXPECT_NEAR(count, 20'000, 5 * 134);
  EXPECT_EQ(max_degree(graph), 200u);
}

TEST(Graph, BreadthFirstLevelsOfAMeshAreTheDistancesAlongItsAxes) {
  const Csr graph = make(GraphClass::kMesh, 400);
  const auto level = bfs_levels(graph, 0);
  for (i32 v = 0; v < 400; ++v) EXPECT_EQ(level[static_cast<u32>(v)], v / 20 + v % 20);
}

TEST(Graph, OneThatOutgrowsItsIndexesIsRefused) {
  EXPECT_THROW(make(GraphClass::kUniform, 1 << 28, 1024), InputError);
}

}  // namespace
}  // namespace terrace
