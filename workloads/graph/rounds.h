// What the programs on graphs have in common: the graph in device memory, and rounds of the same few kernels with one
// thread per vertex, for a number of rounds or until one of them leaves the program's flag cleared.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <vector>

#include "frontend/workload.h"
#include "graph/csr.h"

namespace terrace {

struct GraphRoundsParams : WorkloadParams {
  GraphParams graph;

  GraphRoundsParams() { iters = 0; }
  void describe(Fields& v) override {
    graph.describe(v);
    WorkloadParams::describe(v);
  }
  void shape(GraphClass kind, u32 vertices, u32 degree = 8) { graph = {kind, vertices, degree}; }

 protected:
  u64 least_iters() const override { return 0; }
  std::string_view iters_doc() const override { return "rounds to run at most; 0: until a round changes nothing"; }
};

class GraphRounds : public Program {
 public:
  using Params = GraphRoundsParams;

  void allocate(GuestMemory& memory) final;
  void initialise(GuestMemory& memory) final;
  std::optional<Launch> next(GuestMemory& memory) final;
  void archive(Archive& a) final { a(opened_, launched_); }

 protected:
  /// `opening`, where there is one, is a kernel that runs once, before the rounds.
  GraphRounds(const Params& params, u32 threads, std::vector<std::string_view> kernels, std::string_view opening = {});

  virtual void allocate_arrays(GuestMemory& memory) = 0;
  virtual void fill_arrays(GuestMemory& memory) = 0;
  /// The arguments of kernel `number` of a round; the number of vertices follows as the last one.
  virtual void arguments(u32 number, Launch& launch) = 0;
  /// Those of the opening kernel, likewise.
  virtual void opening_arguments(Launch&) {}

  /// Before each round; the first one has to return true.
  virtual bool another_round(GuestMemory& memory) = 0;

  /// The graph, and so many more arrays with four bytes per vertex or edge.
  static u64 bytes_of(const GraphParams& params, u64 vertex_arrays, u64 edge_arrays);
  u64 edges() const { return expected_shape(p_.graph).edges; }
  u32 vertices() const { return static_cast<u32>(expected_shape(p_.graph).vertices); }
  u32 launched_vertices() const;
  u64 rounds() const { return launched_ / kernels_.size(); }
  const Csr& graph() const { return graph_; }
  /// An array with an element per vertex.
  template <class T>
  Buffer<T> per_vertex(GuestMemory& memory, std::string_view name) const {
    return Buffer<T>(memory, name, vertices());
  }
  template <class T>
  static void fill_with(GuestMemory& memory, const Buffer<T>& buffer, T value) {
    for (T& element : buffer.write(memory)) element = value;
  }

  Params p_;
  Buffer<i32> row_, col_;

 private:
  u32 threads_;
  std::vector<std::string_view> kernels_;
  Csr graph_;  // made by the first `initialise`
  std::string_view opening_;
  bool opened_ = false;
  u64 launched_ = 0;  // in rounds

  Launch per_vertex_launch(std::string_view kernel) const;
};

/// What both PageRanks can be asked.
struct RankParams : GraphRoundsParams {
  RankParams() { iters = 20; }
  /// The suite's coauthor graph, or with variant vc a uniform one.
  void choose(InputSize size, std::string_view variant);

 protected:
  u64 least_iters() const override { return 1; }
  std::string_view iters_doc() const override { return "iterations"; }
};

/// `iters` alone ends them.
class FixedRounds : public GraphRounds {
 protected:
  using GraphRounds::GraphRounds;
  bool another_round(GuestMemory&) final { return true; }
};

/// Each round clears a flag on the device; when no kernel of a round raises it again, that round was the last.
class FlaggedRounds : public GraphRounds {
 protected:
  using GraphRounds::GraphRounds;
  static u64 bytes_of(const GraphParams& params, u64 vertex_arrays, u64 edge_arrays) {
    return GraphRounds::bytes_of(params, vertex_arrays, edge_arrays) + sizeof(i32);
  }
  bool another_round(GuestMemory& memory) final;
  void allocate_arrays(GuestMemory& memory) override { flag_ = Buffer<i32>(memory, "flag", 1); }
  void fill_arrays(GuestMemory& memory) override { flag_.set(memory, 0, 1); }

  Buffer<i32> flag_;
};

/// MIS and the two COLOR: vertices compare themselves with their undecided neighbours by random priorities below 2,048, so that
/// neighbours may be equal. SIMT ran them on meshes; a uniform graph stands for what VC ran.
class PriorityRounds : public FlaggedRounds {
 protected:
  PriorityRounds(const Params& params, std::string_view name, u32 threads, std::vector<std::string_view> kernels,
                 std::string_view opening = {});
  static bool is_scattered(std::string_view variant) { return variant == "vc"; }
  static void choose_graph(InputSize size, std::string_view variant, u32 paper_mesh, Params& p);
  /// The graphs and rounds of COLOR and COLOR_MAXMIN; on the mesh `small_rounds`, at tiny a third of them.
  static void choose_colouring(InputSize size, std::string_view variant, u32 small_rounds, Params& p);
  void allocate_arrays(GuestMemory& memory) override;
  void fill_arrays(GuestMemory& memory) override;
  i32 priority(i32 vertex) const { return priorities_[static_cast<u32>(vertex)]; }

  Buffer<i32> value_;  // the priorities

 private:
  std::string_view name_;
  std::vector<i32> priorities_;
};

}  // namespace terrace
