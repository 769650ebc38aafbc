// SPDX-License-Identifier: MIT
#include "graph/rounds.h"

#include <algorithm>

#include "engine/check.h"
#include "engine/rng.h"

namespace terrace {

GraphRounds::GraphRounds(const Params& params, u32 threads, std::vector<std::string_view> kernels,
                         std::string_view opening)
    : p_(params), threads_(threads), kernels_(std::move(kernels)), opening_(opening) {}

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
  opened_ = opening_.empty();
}

Launch GraphRounds::per_vertex_launch(std::string_view kernel) const {
  return sliced_launch(std::string(kernel), {(vertices() + threads_ - 1) / threads_}, {threads_}, p_.slice);
}

std::optional<Launch> GraphRounds::next(GuestMemory& memory) {
  if (!opened_) {
    opened_ = true;
    Launch launch = per_vertex_launch(opening_);
    opening_arguments(launch);
    launch.argument(vertices());
    return launch;
  }
  const u32 number = static_cast<u32>(launched_ % kernels_.size());
  if (number == 0 && ((p_.iters && rounds() == p_.iters) || !another_round(memory))) return std::nullopt;
  Launch launch = per_vertex_launch(kernels_[number]);
  arguments(number, launch);
  launch.argument(vertices());
  ++launched_;
  return launch;
}

u32 GraphRounds::launched_vertices() const {
  return static_cast<u32>(std::min<u64>(per_vertex_launch("").blocks() * threads_, vertices()));
}

void RankParams::choose(InputSize size, std::string_view variant) {
  const bool scattered = variant == "vc";
  shape(GraphClass::kUniform, 1'000'000);
  if (!scattered) shape(GraphClass::kCoauthor, 299'067);
  switch (size) {
    case InputSize::kMini:
      graph.vertices = 900, iters = 2;
      break;
    case InputSize::kTiny:
      iters = 1;
      if (scattered) slice = {Fraction::kOne / 5};
      if (!scattered) graph.vertices = 90'000;
      break;
    case InputSize::kSmall:
      iters = scattered ? 2 : 6;
      break;
    case InputSize::kPaper:
      iters = 20;
      break;
  }
}

bool FlaggedRounds::another_round(GuestMemory& memory) {
  const bool raised = flag_.get(memory, 0) != 0;
  flag_.set(memory, 0, 0);
  return raised;
}

PriorityRounds::PriorityRounds(const Params& params, std::string_view name, u32 threads,
                               std::vector<std::string_view> kernels, std::string_view opening)
    : FlaggedRounds(params, threads, std::move(kernels), opening), name_(name) {
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

void PriorityRounds::choose_colouring(InputSize size, std::string_view variant, u32 small_rounds, Params& p) {
  choose_graph(size, variant, 1'000'000, p);   // as large as ecology1
  if (size == InputSize::kMini) p.iters = 20;  // it takes fewer
  if (size == InputSize::kTiny) p.iters = is_scattered(variant) ? 1 : small_rounds / 3;
  if (size == InputSize::kSmall) p.iters = is_scattered(variant) ? 2 : small_rounds;
  if (size == InputSize::kTiny && is_scattered(variant)) p.slice = {Fraction::kOne / 10};
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
