// COLOR (color_max): greedy colouring by local maxima of random priorities, one colour a round. Regular on the mesh that
// SIMT ran, scattered on the uniform graph that stands for VC's. Neighbours of equal priority may get one colour, as
// in the original.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "frontend/workload_alias.h"
#include "graph/rounds.h"
#include "support/checks.h"

namespace terrace {
namespace {

constexpr i32 kNone = -1;

class Colouring final : public PriorityRounds {
 public:
  static void preset(InputSize size, std::string_view variant, Params& p) { choose_colouring(size, variant, 6, p); }
  static u64 footprint_bytes(const Params& p) { return bytes_of(p.graph, 3, 0); }

  explicit Colouring(const Params& params) : PriorityRounds(params, "color", 256, {"color1", "color2"}) {}

  /// The rounds again on the host, and apart from that: neighbours of one colour are of one priority.
  CheckResult check(const GuestMemory& memory) const override {
    const std::vector<i32> want = replay();
    const auto got = color_.read(memory);
    ExactCheck colours("color");
    u64 coloured = 0, clashes = 0;
    for (u32 v = 0; v < want.size(); ++v) {
      colours.compare(v, got[v], want[v]);
      coloured += got[v] != kNone;
      clashes += got[v] != kNone && !leads(v, [&](u32 u) { return got[u] == got[v]; });
    }
    CheckResult result = colours.result();
    if (clashes)
      result = {false, fmt::format("{} vertices have the colour of a neighbour that precedes them", clashes)};
    result.message += fmt::format(", {} vertices coloured in {} rounds", coloured, rounds());
    return result;
  }

 private:
  void allocate_arrays(GuestMemory& memory) override {
    PriorityRounds::allocate_arrays(memory);
    color_ = per_vertex<i32>(memory, "color");
    max_ = per_vertex<i32>(memory, "max");
  }
  void fill_arrays(GuestMemory& memory) override {
    PriorityRounds::fill_arrays(memory);
    fill_with(memory, color_, kNone);
    fill_with(memory, max_, 0);
  }
  void arguments(u32 number, Launch& launch) override {
    if (number == 0) launch.argument(row_).argument(col_).argument(value_).argument(color_).argument(max_);
    if (number == 0) launch.argument(flag_);
    if (number == 1) launch.argument(value_).argument(color_).argument(max_).argument(static_cast<i32>(rounds()));
  }

  /// Whether no neighbour among the rivals has a greater priority than v. A vertex with one neighbour does not ask.
  template <class F>
  bool leads(u32 v, F&& is_rival) const {
    const i32 own = priority(static_cast<i32>(v));
    return graph().degree(v) == 1 || std::ranges::none_of(graph().targets(v), [&](i32 u) {
             return is_rival(static_cast<u32>(u)) && priority(u) > own;
           });
  }
  std::vector<i32> replay() const {
    std::vector<i32> colour(vertices(), kNone);
    for (u64 round = 0; round < rounds(); ++round) {
      const std::vector<i32> before = colour;
      for (u32 v = 0; v < launched_vertices(); ++v)
        if (before[v] == kNone && leads(v, [&](u32 u) { return before[u] == kNone; }))
          colour[v] = static_cast<i32>(round);
    }
    return colour;
  }

  Buffer<i32> color_, max_;
};

const RegisterWorkload<Colouring> kRegistered{{
    .name = "color",
    .purpose = "greedy graph colouring (color_max): gathers, regular on a mesh, scattered on a uniform graph",
    .origin = "Pannotia color_max",
    .papers = "SIMT, VC",
    .module = "color",
    .variants = {"simt", "vc"},
    .paper_needs_variant = true,
}};
const RegisterAlias kAlias{"color_max", "color"};

}  // namespace
}  // namespace terrace
