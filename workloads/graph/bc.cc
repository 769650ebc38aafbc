// BC: betweenness centrality on small graphs with long lists: the array of edges drives the TLB, the gathers go to a few
// pages. Both the graph and its transpose are in memory.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "engine/check.h"
#include "graph/rounds.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

constexpr u32 kThreads = 128;

Csr transposed(const Csr& graph) {
  Csr result;
  result.row.assign(graph.row.size(), 0);
  for (const i32 target : graph.col) ++result.row[static_cast<u32>(target) + 1];
  for (u32 v = 0; v < graph.vertices(); ++v) result.row[v + 1] += result.row[v];
  std::vector<i32> next(result.row.begin(), result.row.end() - 1);
  result.col.resize(graph.edges());
  for (u32 v = 0; v < graph.vertices(); ++v) {
    for (const i32 target : graph.targets(v))
      result.col[static_cast<u32>(next[static_cast<u32>(target)]++)] = static_cast<i32>(v);
  }
  return result;
}

class Betweenness final : public Program {
 public:
  struct Params : GraphRoundsParams {
    Params() { shape(GraphClass::kDense, 1024, 128); }

   protected:
    u64 least_iters() const override { return 1; }
    std::string_view iters_doc() const override { return "sources, from vertex 0 on"; }
  };

  /// Pannotia's 1k_128k and 2k_1M; as many sources as VC's simulator lets it run.
  static void preset(InputSize size, std::string_view, Params& p) {
    p.iters = 4;
    if (size == InputSize::kMini) p.shape(GraphClass::kDense, 100, 4), p.iters = 1;
    if (size >= InputSize::kSmall) p.shape(GraphClass::kDense, 2048, 512);
    if (size == InputSize::kSmall) p.iters = 6;
    if (size == InputSize::kPaper) p.iters = 150;
  }
  static u64 footprint_bytes(const Params& p) {
    const GraphShape shape = expected_shape(p.graph);
    return sizeof(i32) * (2 * (shape.vertices + 1 + shape.edges) + 4 * shape.vertices + 1);
  }

  explicit Betweenness(const Params& params) : p_(params) {
    if (p_.iters > vertices()) input_error("bc: {} sources are more than the {} vertices", p_.iters, vertices());
  }

  void allocate(GuestMemory& memory) override {
    const u64 edges = expected_shape(p_.graph).edges;
    for (u32 i = 0; i < 2; ++i) {
      row_[i] = Buffer<i32>(memory, i ? "row_back" : "row", u64{vertices()} + 1);
      col_[i] = Buffer<i32>(memory, i ? "col_back" : "col", edges);
    }
    bc_ = Buffer<float>(memory, "bc", vertices());
    sigma_ = Buffer<float>(memory, "sigma", vertices());
    rho_ = Buffer<float>(memory, "rho", vertices());
    dist_ = Buffer<i32>(memory, "dist", vertices());
    flag_ = Buffer<i32>(memory, "flag", 1);
  }

  void initialise(GuestMemory& memory) override {
    if (graph_[0].row.empty()) {
      graph_[0] = generate_graph(p_.graph, p_.seed);
      graph_[1] = transposed(graph_[0]);
    }
    for (u32 i = 0; i < 2; ++i) {
      std::copy(graph_[i].row.begin(), graph_[i].row.end(), row_[i].write(memory).begin());
      std::copy(graph_[i].col.begin(), graph_[i].col.end(), col_[i].write(memory).begin());
    }
    for (const Buffer<float>* array : {&bc_, &sigma_, &rho_}) fill_with(memory, *array, 0.0f);
    fill_with(memory, dist_, -1);
    flag_.set(memory, 0, 0);
    source_ = 0;
    step_ = Step::kClean;
  }

  std::optional<Launch> next(GuestMemory& memory) override {
    if (step_ == Step::kForward && level_ > 0 && flag_.get(memory, 0) == 0) step_ = Step::kBackward;
    if (step_ == Step::kBackward && --level_ == 0) step_ = Step::kClean, ++source_;
    if (source_ == p_.iters) return std::nullopt;
    flag_.set(memory, 0, 0);
    Launch launch = per_vertex(kKernels[static_cast<u32>(step_)]);
    switch (step_) {
      case Step::kClean:
        launch.argument(rho_).argument(sigma_).argument(dist_).argument(source_);
        launch.block_limit = ~u64{0};
        step_ = Step::kForward, level_ = 0;
        break;
      case Step::kForward:
        launch.argument(row_[0]).argument(col_[0]).argument(dist_).argument(rho_).argument(flag_).argument(level_++);
        break;
      case Step::kBackward:
        launch.argument(row_[1]).argument(col_[1]).argument(dist_).argument(rho_).argument(sigma_).argument(bc_);
        launch.argument(level_);
        break;
    }
    return launch.argument(vertices());
  }

  void archive(Archive& a) override { a(step_, source_, level_); }

  CheckResult check(const GuestMemory& memory) const override {
    std::vector<double> want(vertices(), 0);
    u64 levels = 0;
    for (u32 source = 0; source < p_.iters; ++source) levels += add_source(source, want);
    RelativeCheck comparison("bc", 1e-3, 1e-3);
    const auto got = bc_.read(memory);
    for (u64 v = 0; v < want.size(); ++v) comparison.compare(v, double{got[v]}, want[v]);
    CheckResult result = comparison.result();
    result.message += fmt::format(", {} levels from {} sources", levels, p_.iters);
    return result;
  }

 private:
  enum class Step : u8 { kClean, kForward, kBackward };
  static constexpr std::string_view kKernels[] = {"bc_clean", "bc_forward", "bc_backward"};

  u32 vertices() const { return static_cast<u32>(expected_shape(p_.graph).vertices); }
  Launch per_vertex(std::string_view kernel) const {
    return sliced_launch(std::string(kernel), {blocks_of(vertices(), kThreads)}, {kThreads}, p_.slice);
  }

  /// A slice cuts both searches: vertices outside it are reached and hand nothing on. Returns the levels.
  u64 add_source(u32 source, std::vector<double>& centrality) const {
    const u32 launched = static_cast<u32>(std::min<u64>(per_vertex("").blocks() * kThreads, vertices()));
    std::vector<double> rho(vertices(), 0), sigma(vertices(), 0);
    std::vector<i32> dist(vertices(), -1);
    std::vector<std::vector<u32>> levels{{source}};
    rho[source] = 1, dist[source] = 0;
    for (i32 level = 0; !levels.back().empty(); ++level) {
      std::vector<u32> reached;
      for (const u32 v : levels.back()) {
        for (u32 i = 0; i < graph_[0].degree(v) && v < launched; ++i) {
          const u32 w = static_cast<u32>(graph_[0].targets(v)[i]);
          if (dist[w] < 0) dist[w] = level + 1, reached.push_back(w);
          if (dist[w] == level + 1) rho[w] += rho[v];
        }
      }
      levels.push_back(std::move(reached));
    }
    for (u64 level = levels.size() - 1; level > 0; --level) {
      for (const u32 v : levels[level]) {
        if (v >= launched) continue;
        for (const i32 target : graph_[1].targets(v)) {
          const u32 w = static_cast<u32>(target);
          if (dist[w] == static_cast<i32>(level) - 1) sigma[w] += rho[w] / rho[v] * (1 + sigma[v]);
        }
        centrality[v] += sigma[v];
      }
    }
    return levels.size() - 1;
  }

  Params p_;
  Csr graph_[2];  // and its transpose
  Buffer<i32> row_[2], col_[2], dist_, flag_;
  Buffer<float> bc_, sigma_, rho_;
  Step step_ = Step::kClean;
  u32 source_ = 0;
  i32 level_ = 0;
};

const RegisterWorkload<Betweenness> kRegistered{{
    .name = "bc",
    .purpose = "betweenness centrality: searches from many sources over long lists, atomic additions to few pages",
    .origin = "Pannotia bc",
    .papers = "VC",
    .module = "bc",
    .variants = {"vc"},
}};

}  // namespace
}  // namespace terrace
