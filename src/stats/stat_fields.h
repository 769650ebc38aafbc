// A struct of statistics describes its members once. The same description serves snapshots, epochs, export as JSON and
// CSV, documentation, the digest, and the check of conservation laws.
//
//   struct TlbStats {
//     PerTenant<Counter> lookups, hits, misses;
//     void describe(StatFields& v) {
//       v("lookups", lookups, "lookups", "translations asked for");
//       v("hits", hits, "lookups", "answered at once");
//       v("misses", misses, "lookups", "that went to the next level");
//       v.ratio("hit_rate", sum(hits), sum(lookups), "hits per lookup");
//       v.identity("every lookup hits or misses", sum(hits, misses), sum(lookups));
//     }
//   };
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "stats/counter.h"
#include "stats/histogram.h"

namespace terrace {

enum class StatShape : u8 { kCounter, kPerTenant, kHistogram, kMatrix };

/// A sum of counters and of plain numbers (levels, such as what is in flight now). It holds for each tenant apart when
/// all its terms are counted per tenant.
class Sum {
 public:
  struct Term {
    std::span<const Counter> cells;
    u32 columns = 1;  // cells of each tenant
  };
  void add(const Counter& counter) {
    terms_.push_back({{&counter, 1}});
    per_tenant_ = false;
  }
  void add(const PerTenant<Counter>& counters) { terms_.push_back({counters.each()}); }
  void add(const TenantMatrix& matrix) { terms_.push_back({matrix.cells(), matrix.columns()}); }
  void add(u64 level) {
    level_ += level;
    per_tenant_ = false;
  }

  bool per_tenant() const { return per_tenant_; }
  u64 level() const { return level_; }
  std::span<const Term> terms() const { return terms_; }

 private:
  std::vector<Term> terms_;
  u64 level_ = 0;
  bool per_tenant_ = true;
};

template <class... Terms>
Sum sum(const Terms&... terms) {
  Sum all;
  (all.add(terms), ...);
  return all;
}

class StatFields {
 public:
  virtual ~StatFields() = default;

  void operator()(std::string_view name, Counter& counter, std::string_view unit, std::string_view doc) {
    on_stat(name, StatShape::kCounter, std::span(&counter, 1), 0, unit, doc);
  }
  void operator()(std::string_view name, PerTenant<Counter>& counters, std::string_view unit, std::string_view doc) {
    on_stat(name, StatShape::kPerTenant, counters.each(), 0, unit, doc);
  }
  void operator()(std::string_view name, Histogram& histogram, std::string_view unit, std::string_view doc) {
    on_stat(name, StatShape::kHistogram, histogram.cells(), histogram.log2_width(), unit, doc);
  }
  void operator()(std::string_view name, TenantMatrix& matrix, std::string_view unit, std::string_view doc) {
    on_stat(name, StatShape::kMatrix, matrix.cells(), 0, unit, doc);
  }
  /// Derived when exporting; never stored, never part of the digest.
  void ratio(std::string_view name, const Sum& numerator, const Sum& denominator, std::string_view doc) {
    on_ratio(name, numerator, denominator, doc);
  }
  /// Holds at the end of every run that leaves nothing in flight, or the run is an error (ModelError).
  void identity(std::string_view sentence, const Sum& left, const Sum& right) {
    on_identity(sentence, left, right, false);
  }
  /// Holds at the end of every run, wherever it was cut off.
  void always(std::string_view sentence, const Sum& left, const Sum& right) {
    on_identity(sentence, left, right, true);
  }

  template <class Struct>
  void group(std::string_view name, Struct& inner) {
    enter(name);
    inner.describe(*this);
    leave();
  }

 protected:
  virtual void on_stat(std::string_view name, StatShape shape, std::span<Counter> cells, u32 log2_width,
                       std::string_view unit, std::string_view doc) = 0;
  virtual void on_ratio(std::string_view name, const Sum& numerator, const Sum& denominator, std::string_view doc) = 0;
  virtual void on_identity(std::string_view sentence, const Sum& left, const Sum& right, bool always) = 0;
  virtual void enter(std::string_view name) = 0;
  virtual void leave() = 0;
};

/// Any struct of statistics.
class StatsRef {
 public:
  template <class Struct>
    requires(!std::is_same_v<Struct, StatsRef> && requires(Struct& stats, StatFields& v) { stats.describe(v); })
  StatsRef(Struct& stats)
      : stats_(&stats), describe_([](void* object, StatFields& v) { static_cast<Struct*>(object)->describe(v); }) {}

  void describe(StatFields& v) const { describe_(stats_, v); }

 private:
  void* stats_;
  void (*describe_)(void*, StatFields&);
};

}  // namespace terrace
