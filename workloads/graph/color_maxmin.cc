// COLOR_MAXMIN: greedy colouring like COLOR, with two colours a round: one for the local maxima of the priorities and one
// for the minima, so that it takes half the rounds.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "graph/rounds.h"
#include "support/checks.h"

namespace terrace {
namespace {

constexpr i32 kNone = -1;

class MaxMinColouring final : public PriorityRounds {
 public:
  static void preset(InputSize size, std::string_view variant, Params& p) { choose_colouring(size, variant, 3, p); }
  static u64 footprint_bytes(const Params& p) { return bytes_of(p.graph, 4, 0); }

  explicit MaxMinColouring(const Params& params)
      : PriorityRounds(params, "color_maxmin", 256, {"maxmin1", "maxmin2"}, "maxmin_start") {}

  CheckResult check(const GuestMemory& memory) const override {
    const std::vector<i32> want = replay();
    const auto got = color_.read(memory);
    ExactCheck colours("color");
    u64 coloured = 0;
    for (u32 v = 0; v < want.size(); ++v) {
      colours.compare(v, got[v], want[v]);
      coloured += got[v] != kNone;
    }
    CheckResult result = colours.result();
    result.message += fmt::format(", {} vertices coloured in {} rounds", coloured, rounds());
    return result;
  }

 private:
  void allocate_arrays(GuestMemory& memory) override {
    PriorityRounds::allocate_arrays(memory);
    color_ = per_vertex<i32>(memory, "color");
    max_ = per_vertex<i32>(memory, "max");
    min_ = per_vertex<i32>(memory, "min");
  }
  void fill_arrays(GuestMemory& memory) override {
    PriorityRounds::fill_arrays(memory);
    fill_with(memory, color_, kNone);  // outside a slice no kernel does
    fill_with(memory, max_, 0);
    fill_with(memory, min_, 0);
  }
  void opening_arguments(Launch& launch) override { launch.argument(color_).argument(max_).argument(min_); }
  void arguments(u32 number, Launch& launch) override {
    if (number == 0) launch.argument(row_).argument(col_).argument(value_).argument(color_).argument(max_);
    if (number == 0) launch.argument(min_).argument(flag_);
    if (number == 1) launch.argument(value_).argument(color_).argument(max_).argument(min_);
    if (number == 1) launch.argument(static_cast<i32>(2 * rounds()));
  }

  /// Whether no uncoloured neighbour comes before v in the order. A vertex with one neighbour does not ask.
  template <class Before>
  bool leads(u32 v, const std::vector<i32>& colour, Before before) const {
    const i32 own = priority(static_cast<i32>(v));
    return graph().degree(v) == 1 || std::ranges::none_of(graph().targets(v), [&](i32 u) {
             return colour[static_cast<u32>(u)] == kNone && before(priority(u), own);
           });
  }
  std::vector<i32> replay() const {
    std::vector<i32> colour(vertices(), kNone);
    for (u64 round = 0; round < rounds(); ++round) {
      const std::vector<i32> before = colour;
      for (u32 v = 0; v < launched_vertices(); ++v) {
        if (before[v] != kNone) continue;
        if (leads(v, before, std::greater<i32>()))
          colour[v] = static_cast<i32>(2 * round);
        else if (leads(v, before, std::less<i32>()))
          colour[v] = static_cast<i32>(2 * round + 1);
      }
    }
    return colour;
  }

  Buffer<i32> color_, max_, min_;
};

const RegisterWorkload<MaxMinColouring> kRegistered{{
    .name = "color_maxmin",
    .purpose = "greedy graph colouring, two colours a round (variant vc: a uniform graph in place of the mesh)",
    .origin = "Pannotia color_maxmin",
    .papers = "VC",
    .module = "color_maxmin",
    .variants = {"vc"},
}};

}  // namespace
}  // namespace terrace
