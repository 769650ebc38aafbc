// Cycles that requests waited in a run, by the tenant that held the resource, summed over all units of a kind: for the
// result file and as a table.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stats/stat_tree.h"
#include "text/table.h"
#include "text/tree.h"

namespace terrace {

/// Rows are the tenants that wait; columns are the tenants that hold the resource, then nobody.
using BlameMatrix = std::vector<std::vector<u64>>;

class BlameSummary {
 public:
  explicit BlameSummary(u32 tenants) : tenants_(tenants), total_(tenants, std::vector<u64>(tenants + 1)) {}
  /// Of everything a machine counted; empty when it did not count this.
  explicit BlameSummary(const StatTree& stats);

  /// `name` is that of a matrix, "gpu.mmu.0.blame.walkers".
  void add(std::string_view name, u32 row, u32 column, u64 cycles);
  /// `name` is that of a cell, "gpu.mmu.0.blame.walkers{tenant=0 holder=1}"; others are left out.
  void add_cell(std::string_view name, u64 cycles);

  bool empty() const { return by_cause_.empty(); }
  /// {"total": [[...]], "causes": {"mmu.walkers": [[...]], ...}}
  Tree json() const;
  /// For each tenant, by part of the machine and in total: how long its requests waited, and the share of each holder.
  TextTable table(const std::vector<std::string>& tenants) const;
  /// The matrix of each part of the machine in which anybody waited, in the order in which a request meets them.
  struct PartMatrix {
    std::string title;
    BlameMatrix cycles;
  };
  std::vector<PartMatrix> parts() const;

 private:
  struct Line {
    u32 tenant;
    std::string where;
    std::vector<u64> cycles;  // by column of the matrix; of many tenants: itself, others, nobody
    u64 all;
  };
  std::vector<std::string> columns(const std::vector<std::string>& names) const;
  std::vector<Line> lines() const;

  u32 tenants_;
  BlameMatrix total_;
  std::map<std::string, BlameMatrix> by_cause_;  // "mmu.walkers"
};

}  // namespace terrace
