// PATHFINDER: the cheapest way through a grid by dynamic programming, many rows a launch in shared memory. Shared
// memory and barriers bound it. Variants: cd (2,000,000 x 100), vc (100,000 x 100).
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "engine/check.h"
#include "frontend/workload.h"
#include "support/checks.h"
#include "support/inputs.h"

namespace terrace {
namespace {

constexpr u32 kThreads = 256;  // as in pathfinder.cu
constexpr u32 kMostCost = 10;  // costs are below

class Pathfinder final : public LaunchSequence {
 public:
  struct Params : WorkloadParams {
    u32 columns = 100'000;
    u32 rows = 100;
    u32 pyramid = 20;

    void describe(Fields& v) override {
      v("columns", columns, in(1, 1 << 26), "columns of the grid");
      v("rows", rows, in(2, 1 << 16), "rows of the grid");
      v("pyramid", pyramid, in(1, kThreads / 2 - 1), "rows of a launch");
      WorkloadParams::describe(v);
    }
    u64 wall() const { return u64{rows - 1} * columns; }
  };

  static void preset(InputSize size, std::string_view variant, Params& p) {
    switch (size) {
      case InputSize::kMini:
        p.columns = 500, p.rows = 6, p.pyramid = 4;
        break;
      case InputSize::kTiny:
        p.rows = 11, p.pyramid = 10;
        break;
      case InputSize::kSmall:
        break;
      case InputSize::kPaper:
        if (variant != "vc") p.columns = 2'000'000;
        break;
    }
  }
  static u64 footprint_bytes(const Params& p) { return (p.wall() + 2 * u64{p.columns}) * sizeof(i32); }

  explicit Pathfinder(const Params& params) : p_(params) {
    if (p_.wall() > 0x7fff'ffff)
      input_error("pathfinder: {} x {} cells are more than the kernel can number; choose fewer", p_.columns, p_.rows);
  }

  void allocate(GuestMemory& memory) override {
    wall_ = Buffer<i32>(memory, "wall", p_.wall());
    for (u32 i = 0; i < 2; ++i) result_[i] = Buffer<i32>(memory, i ? "pong" : "ping", p_.columns);
  }

  void fill(GuestMemory& memory) override {
    Rng rng(p_.seed, "pathfinder.costs");
    for (i32& cost : result_[0].write(memory)) cost = static_cast<i32>(rng.below(kMostCost));
    for (i32& cost : wall_.write(memory)) cost = static_cast<i32>(rng.below(kMostCost));
    fill_with(memory, result_[1], 0);
    const auto first = result_[0].read(memory);
    first_.assign(first.begin(), first.end());
  }

  u64 launches() const override { return u64{p_.iters} * launches_each(); }

  Launch launch(GuestMemory&, u64 number) override {
    Launch rows = sliced_launch("pathfinder_rows", {blocks_of(p_.columns, block_columns())}, {kThreads}, p_.slice);
    rows.argument(wall_).argument(result_[number % 2]).argument(result_[(number + 1) % 2]).argument(p_.columns);
    rows.argument(first_row(number)).argument(rows_of(number)).argument(p_.pyramid);
    launched_columns_ = std::min<u64>(rows.blocks() * block_columns(), p_.columns);
    return rows;
  }
  void archive_host(Archive& a) override { a(launched_columns_); }

  CheckResult check(const GuestMemory& memory) const override {
    const auto wall = wall_.read(memory);
    std::vector<i32> from = first_, to(p_.columns, 0);
    for (u64 number = 0; number < launches(); ++number) {
      std::vector<i32> after = from;
      for (u32 i = 0; i < rows_of(number); ++i)
        after = below(after, wall.subspan(u64{first_row(number) + i} * p_.columns));
      std::copy_n(after.begin(), launched_columns_, to.begin());
      std::swap(from, to);
    }
    ExactCheck comparison("result");
    const auto got = result_[launches() % 2].read(memory);
    for (u64 column = 0; column < p_.columns; ++column) comparison.compare(column, got[column], from[column]);
    return comparison.result();
  }

 private:
  u32 block_columns() const { return kThreads - 2 * p_.pyramid; }
  u32 launches_each() const { return blocks_of(p_.rows - 1, p_.pyramid); }
  u32 first_row(u64 number) const { return static_cast<u32>(number % launches_each()) * p_.pyramid; }
  u32 rows_of(u64 number) const { return std::min(p_.pyramid, p_.rows - 1 - first_row(number)); }
  std::vector<i32> below(const std::vector<i32>& above, std::span<const i32> costs) const {
    std::vector<i32> row(p_.columns);
    for (u64 j = 0; j < p_.columns; ++j) {
      const i32 west = above[j > 0 ? j - 1 : j], east = above[j + 1 < p_.columns ? j + 1 : j];
      row[j] = std::min({west, above[j], east}) + costs[j];
    }
    return row;
  }

  Params p_;
  Buffer<i32> wall_, result_[2];
  std::vector<i32> first_;  // the first row
  u64 launched_columns_ = 0;
};

const RegisterWorkload<Pathfinder> kRegistered{{
    .name = "pathfinder",
    .purpose = "cheapest way through a grid: rows in shared memory between barriers, compute-bound",
    .origin = "Rodinia pathfinder",
    .papers = "CD, VC",
    .module = "pathfinder",
    .variants = {"cd", "vc"},
    .paper_needs_variant = true,
}};

}  // namespace
}  // namespace terrace
