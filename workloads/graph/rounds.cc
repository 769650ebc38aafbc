// SPDX-License-Identifier: MIT
#include "graph/rounds.h"

#include <algorithm>

#include "engine/check.h"
#include "engine/rng.h"

namespace terrace {

GraphRounds::GraphRounds(const Params& params, u32 threads, std::vector<std::string_view> kernels)
    : p_(params), threads_(threads), kernels_(std::move(kernels)) {}

void GraphRounds::allocate(GuestMemory& memory) {
  row_ = Buffer<i32>(memory, "row", u64{vertices()} + 1);
  col_ = Buffer<i32>(memory, "col", edges());
  allocate_arrays(memory);
}

u64 GraphRounds::bytes_of(const GraphParams& params, u64 vertex_arrays, u64 edge_arrays) {
  const GraphShape shape = expected_shape(params);
  return sizeof(i32) * (1 + (1 + vertex_arrays) * shape.vertices + (1 + edge_arrays) * shape.edges);
}

void GraphRounds::initialise(GuestMemory& memory) {
  if (graph_.row.empty()) graph_ = generate_graph(p_.graph, p_.seed);
  SIM_CHECK(graph_.edges() == edges(), "a graph of {} edges was announced as one of {}", graph_.edges(), edges());
  std::copy(graph_.row.begin(), graph_.row.end(), row_.write(memory).begin());
  std::copy(graph_.col.begin(), graph_.col.end(), col_.write(memory).begin());
  fill_arrays(memory);
  launched_ = 0;
}

std::optional<Launch> GraphRounds::next(GuestMemory& memory) {
  const u32 number = static_cast<u32>(launched_ % kernels_.size());
  if (number == 0 && ((p_.iters && rounds() == p_.iters) || !another_round(memory))) return std::nullopt;
  Launch launch =
      sliced_launch(std::string(kernels_[number]), {(vertices() + threads_ - 1) / threads_}, {threads_}, p_.slice);
  arguments(number, launch);
  launch.argument(vertices());
  ++launched_;
  return launch;
}

u32 GraphRounds::launched_vertices() const {
  const Launch launch = sliced_launch("", {(vertices() + threads_ - 1) / threads_}, {threads_}, p_.slice);
  return static_cast<u32>(std::min<u64>(launch.blocks() * threads_, vertices()));
}

bool FlaggedRounds::another_round(GuestMemory& memory) {
  const bool raised = flag_.get(memory, 0) != 0;
  flag_.set(memory, 0, 0);
  return raised;
}

PriorityRounds::PriorityRounds(const Params& params, std::string_view name, u32 threads,
                               std::vector<std::string_view> kernels)
    : FlaggedRounds(params, threads, std::move(kernels)), name_(name) {
  if (p_.iters == 0 && p_.slice.millionths < Fraction::kOne)
    input_error("{}: vertices outside a slice never decide, so that it would not end by itself; add iters=1", name);
}

void PriorityRounds::choose_graph(InputSize size, std::string_view variant, u32 paper_mesh, Params& p) {
  if (is_scattered(variant)) {
    p.shape(GraphClass::kUniform, size == InputSize::kMini ? 150 : 1'000'000);
  } else {
    const u32 vertices[] = {300, 400 * 400, 700 * 700, paper_mesh};
    p.shape(GraphClass::kMesh, vertices[static_cast<u32>(size)]);
  }
}

void PriorityRounds::allocate_arrays(GuestMemory& memory) {
  FlaggedRounds::allocate_arrays(memory);
  value_ = per_vertex<i32>(memory, "value");
}

void PriorityRounds::fill_arrays(GuestMemory& memory) {
  FlaggedRounds::fill_arrays(memory);
  Rng rng(p_.seed, std::string(name_) + ".values");
  priorities_.resize(vertices());
  for (i32& value : priorities_) value = static_cast<i32>(rng.below(2048));
  std::copy(priorities_.begin(), priorities_.end(), value_.write(memory).begin());
}

}  // namespace terrace
