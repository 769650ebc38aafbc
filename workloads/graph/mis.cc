// MIS: a maximal independent set by rounds of random priorities. Regular on the mesh that SIMT ran, scattered over 25
// and more pages per gather on the uniform graph that stands for VC's. Neighbours of equal priority join together, as
// in the original: there the set is not independent.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "graph/rounds.h"
#include "support/checks.h"

namespace terrace {
namespace {

constexpr i32 kUndecided = -1;
constexpr i32 kOut = -2;
constexpr i32 kInSet = 2;

class IndependentSet final : public PriorityRounds {
 public:
  static void preset(InputSize size, std::string_view variant, Params& p) {
    choose_graph(size, variant, 1'900'000, p);   // SIMT's 72.38 MB
    if (size == InputSize::kMini) p.iters = 20;  // it takes fewer
    if (size == InputSize::kTiny) p.iters = 1;
    if (!is_scattered(variant)) return;
    if (size == InputSize::kTiny) p.slice = {Fraction::kOne / 20};
    if (size == InputSize::kSmall) p.iters = 1;
  }
  static u64 footprint_bytes(const Params& p) { return bytes_of(p.graph, 5, 0); }

  explicit IndependentSet(const Params& params) : PriorityRounds(params, "mis", 128, {"mis1", "mis2", "mis3"}) {}

  CheckResult check(const GuestMemory& memory) const override {
    const State want = replay();
    ExactCheck in_set("in_set"), status("status");
    const auto got_in_set = in_set_.read(memory), got_status = status_.read(memory);
    u64 members = 0;
    for (u64 v = 0; v < want.in_set.size(); ++v) {
      in_set.compare(v, got_in_set[v], want.in_set[v]);
      status.compare(v, got_status[v], want.status[v]);
      members += got_in_set[v] == kInSet;
    }
    CheckResult result = both(in_set.result(), status.result());
    result.message += fmt::format(", {} vertices in the set after {} rounds", members, rounds());
    return result;
  }

 private:
  struct State {
    std::vector<i32> status, in_set;
  };

  void allocate_arrays(GuestMemory& memory) override {
    PriorityRounds::allocate_arrays(memory);
    status_ = per_vertex<i32>(memory, "status");
    next_status_ = per_vertex<i32>(memory, "next_status");
    in_set_ = per_vertex<i32>(memory, "in_set");
    min_ = per_vertex<i32>(memory, "min");
  }
  void fill_arrays(GuestMemory& memory) override {
    PriorityRounds::fill_arrays(memory);
    fill_with(memory, status_, kUndecided);
    fill_with(memory, next_status_, kUndecided);
    fill_with(memory, in_set_, 0);
    fill_with(memory, min_, 0);
  }
  void arguments(u32 number, Launch& launch) override {
    if (number == 0) launch.argument(row_).argument(col_).argument(value_).argument(status_).argument(min_);
    if (number == 0) launch.argument(flag_);
    if (number == 1) launch.argument(row_).argument(col_).argument(value_).argument(status_).argument(next_status_);
    if (number == 1) launch.argument(in_set_).argument(min_);
    if (number == 2) launch.argument(status_).argument(next_status_);
  }

  /// Whether every undecided neighbour has at least v's priority.
  bool joins(const std::vector<i32>& status, u32 v) const {
    const i32 own = priority(static_cast<i32>(v));
    return std::ranges::all_of(graph().targets(v),
                               [&](i32 u) { return status[static_cast<u32>(u)] != kUndecided || priority(u) >= own; });
  }

  /// Rounds in which all look before any decides.
  State replay() const {
    State state{std::vector<i32>(vertices(), kUndecided), std::vector<i32>(vertices(), 0)};
    std::vector<i32> next = state.status;
    for (u64 round = 0; round < rounds(); ++round) {
      std::vector<u32> joined;
      for (u32 v = 0; v < launched_vertices(); ++v)
        if (state.status[v] == kUndecided && joins(state.status, v)) joined.push_back(v);
      for (const u32 v : joined) {
        state.in_set[v] = kInSet;
        state.status[v] = kOut;
        for (const i32 u : graph().targets(v)) next[static_cast<u32>(u)] = kOut;
      }
      for (u32 v = 0; v < launched_vertices(); ++v)
        if (next[v] == kOut) state.status[v] = kOut;
    }
    return state;
  }

  Buffer<i32> status_, next_status_, in_set_, min_;
};

const RegisterWorkload<IndependentSet> kRegistered{{
    .name = "mis",
    .purpose = "maximal independent set: two gathers an edge, regular on a mesh, scattered on a uniform graph",
    .origin = "Pannotia mis",
    .papers = "SIMT, VC",
    .module = "mis",
    .variants = {"simt", "vc"},
    .paper_needs_variant = true,
}};

}  // namespace
}  // namespace terrace
