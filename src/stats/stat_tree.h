// All statistics of a machine. Each unit adds its struct under its name ("gpu.mmu", "gpu.sm.3"); full names are
// composed only here. The tree refers to the structs, which must outlive it and must not move.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types.h"
#include "stats/stat_fields.h"
#include "text/tree.h"

namespace terrace {

class Archive;

struct Stat {
  std::string name;  // "gpu.mmu.walks"
  StatShape shape;
  std::span<Counter> cells;
  u32 log2_width;
  std::string unit;
  std::string doc;
  std::size_t first;  // of its cells, in a snapshot
  bool derived;       // follows from other statistics
};

/// "gpu.mmu.0.blame.queue{tenant=0 holder=1}"; the last of a row is {tenant=0 holder=nobody}.
std::string matrix_cell_name(std::string_view name, u32 cell, u32 tenants);
/// The other way round; nothing when it is no such name, or one of more tenants.
struct MatrixCell {
  std::string_view name;
  u32 row = 0, column = 0;
};
std::optional<MatrixCell> matrix_cell_of(std::string_view cell_name, u32 tenants);

/// A ratio by the cells of its two sides, in a snapshot.
struct StatRatio {
  std::string name;
  std::vector<std::size_t> numerator, denominator;
};

/// The value of every cell at one moment, in the order of the tree.
using StatSnapshot = std::vector<u64>;

class StatTree {
 public:
  /// The number of tenants to export; a count for any other tenant is a broken invariant.
  explicit StatTree(u32 tenants = 1) : tenants_(tenants) {}

  void add(std::string path, StatsRef stats) { add(std::move(path), stats, false); }
  /// Of what follows from other statistics and the configuration: exported like the others, but no part of the digest,
  /// which says what the machine did.
  void add_derived(std::string path, StatsRef stats) { add(std::move(path), stats, true); }
  /// An identity between units, by patterns of counters' names (stat_pattern.h), such as "gpu.sm.*.misses".
  void identity(std::string sentence, std::vector<std::string> left, std::vector<std::string> right);

  const std::vector<Stat>& stats() const { return stats_; }
  u32 tenants() const { return tenants_; }

  /// Of derived statistics, of all tenants together.
  std::vector<StatRatio> derived_ratios() const;

  StatSnapshot snapshot() const;
  /// From here on exports and the digest count: what came before (warm-up) is subtracted from them.
  void mark_start() { base_ = snapshot(); }
  /// snapshot() less what was there at mark_start.
  StatSnapshot values() const;

  /// What the counters that a pattern names add up to since the machine began, warm-up included: of one tenant (those
  /// counted per tenant) or of all. Nothing when no counter has such a name.
  std::optional<u64> total(std::string_view pattern, std::optional<TenantId> tenant = std::nullopt) const;

  /// Nested as the names are; each statistic is a table with its `unit` and value, `tenants` or histogram.
  Tree json() const;
  /// name,value,unit, one line each: gpu.mmu.walks{tenant=1},12,walks
  std::string csv() const;
  /// Hash over the names and values of all integer statistics but derived ones.
  std::string digest() const;

  /// A violated identity is a ModelError that names the unit, the sentence and both sides. Identities see everything
  /// since the machine began: what was in flight at mark_start would not balance. While something is in flight only
  /// those are asked that hold always.
  void check_identities(bool in_flight = false) const;

  /// All counters of all units, and what mark_start has set apart.
  void archive(Archive& a);

 private:
  void add(std::string path, StatsRef stats, bool derived);

  struct Unit {
    std::string path;
    StatsRef stats;
    bool derived;
  };
  struct CrossIdentity {
    std::string sentence;
    std::vector<std::string> left, right;
  };
  u64 total_of(const std::vector<std::string>& patterns) const;

  u32 tenants_;
  std::vector<Unit> units_;
  std::vector<Stat> stats_;
  std::set<std::string> names_;
  std::size_t cells_ = 0;
  std::map<const Counter*, std::size_t> cell_of_;  // looked up, never iterated: addresses decide nothing
  std::vector<CrossIdentity> identities_;
  StatSnapshot base_;
};

/// `name{tenant=1}`, `name`, `name{from=32}`, `name{tenant=1 holder=0}` and so on for each exported cell of a snapshot,
/// in order. Buckets in which nothing fell are left out.
struct StatCell {
  std::string name;
  u64 value;
  std::string_view unit;
  std::size_t index;  // in the snapshot
  bool derived;
};
std::vector<StatCell> flat_cells(const StatTree& tree, const StatSnapshot& values, bool zero_buckets = false);

}  // namespace terrace
