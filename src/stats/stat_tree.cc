// SPDX-License-Identifier: MIT
#include "stats/stat_tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <functional>
#include <iterator>

#include "engine/archive.h"
#include "engine/check.h"
#include "engine/hash.h"
#include "stats/stat_pattern.h"

namespace terrace {

namespace {

/// A visitor that knows where it is and ignores what it is not asked about.
class NamedStats : public StatFields {
 public:
  explicit NamedStats(const std::string& unit) : prefixes_{unit} {}

 protected:
  std::string name_of(std::string_view name) const { return fmt::format("{}.{}", prefixes_.back(), name); }
  const std::string& unit() const { return prefixes_.back(); }

  void on_stat(std::string_view, StatShape, std::span<Counter>, u32, std::string_view, std::string_view) override {}
  void on_ratio(std::string_view, const Sum&, const Sum&, std::string_view) override {}
  void on_identity(std::string_view, const Sum&, const Sum&, bool) override {}
  void enter(std::string_view name) override { prefixes_.push_back(name_of(name)); }
  void leave() override { prefixes_.pop_back(); }

 private:
  std::vector<std::string> prefixes_;
};

class Collector final : public NamedStats {
 public:
  Collector(const std::string& unit, std::vector<Stat>& into) : NamedStats(unit), into_(into) {}

 protected:
  void on_stat(std::string_view name, StatShape shape, std::span<Counter> cells, u32 log2_width, std::string_view unit,
               std::string_view doc) override {
    into_.push_back({name_of(name), shape, cells, log2_width, std::string(unit), std::string(doc), 0, false});
  }

 private:
  std::vector<Stat>& into_;
};

using Reading = std::function<u64(const Counter&)>;

/// Of one tenant, or of all together (kMaxTenants).
u64 evaluate(const Sum& sum, u32 tenant, const Reading& read) {
  u64 total = sum.level();
  for (const auto& [cells, columns] : sum.terms())
    for (u32 i = 0; i < cells.size(); ++i)
      if (tenant == kMaxTenants || i / columns == tenant) total += read(cells[i]);
  return total;
}

class IdentityChecker final : public NamedStats {
 public:
  IdentityChecker(const std::string& unit, bool in_flight) : NamedStats(unit), in_flight_(in_flight) {}

 protected:
  void on_identity(std::string_view sentence, const Sum& left, const Sum& right, bool always) override {
    if (in_flight_ && !always) return;
    const Reading now = [](const Counter& counter) { return counter.value; };
    const bool apart = left.per_tenant() && right.per_tenant();
    for (u32 tenant = apart ? 0 : kMaxTenants; tenant < (apart ? kMaxTenants : kMaxTenants + 1); ++tenant) {
      const u64 l = evaluate(left, tenant, now), r = evaluate(right, tenant, now);
      SIM_CHECK(l == r, "{}: \"{}\" does not hold{}: {} is not {}", unit(), sentence,
                apart ? fmt::format(" for tenant {}", tenant) : "", l, r);
    }
  }

 private:
  bool in_flight_;
};

class RatioWriter final : public NamedStats {
 public:
  RatioWriter(const std::string& unit, u32 tenants, Reading read, std::function<Tree&(const std::string&)> place)
      : NamedStats(unit), tenants_(tenants), read_(std::move(read)), place_(std::move(place)) {}

 protected:
  void on_ratio(std::string_view name, const Sum& numerator, const Sum& denominator, std::string_view) override {
    Tree& at = place_(name_of(name));
    at["unit"] = "ratio";
    at["value"] = ratio(numerator, denominator, kMaxTenants);
    if (!numerator.per_tenant() || !denominator.per_tenant()) return;
    for (u32 tenant = 0; tenant < tenants_; ++tenant) at["tenants"].push(ratio(numerator, denominator, tenant));
  }

 private:
  Tree ratio(const Sum& numerator, const Sum& denominator, u32 tenant) const {
    const u64 below = evaluate(denominator, tenant, read_);
    if (below == 0) return Tree();
    return Tree(static_cast<double>(evaluate(numerator, tenant, read_)) / static_cast<double>(below));
  }

  u32 tenants_;
  Reading read_;
  std::function<Tree&(const std::string&)> place_;
};

class RatioCollector final : public NamedStats {
 public:
  using Place = std::function<std::size_t(const Counter&)>;
  RatioCollector(const std::string& unit, Place place, std::vector<StatRatio>& into)
      : NamedStats(unit), place_(std::move(place)), into_(into) {}

 protected:
  void on_ratio(std::string_view name, const Sum& numerator, const Sum& denominator, std::string_view) override {
    into_.push_back({name_of(name), places(numerator), places(denominator)});
  }

 private:
  std::vector<std::size_t> places(const Sum& sum) const {
    std::vector<std::size_t> all;
    for (const auto& [cells, columns] : sum.terms())
      for (const Counter& cell : cells) all.push_back(place_(cell));
    return all;
  }

  Place place_;
  std::vector<StatRatio>& into_;
};

Tree& place(Tree& root, std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot == name.npos ? root[name] : place(root[name.substr(0, dot)], name.substr(dot + 1));
}

/// count, sum, mean, and [smallest value, how often] for each bucket in which something fell.
void write_histogram(Tree& at, const Histogram& shape, std::span<const u64> cells) {
  u64 count = 0;
  Tree buckets = Tree::list();
  for (u32 bucket = 0; bucket < Histogram::kBuckets; ++bucket) {
    count += cells[bucket];
    if (cells[bucket] != 0) buckets.push(Tree(Tree::List{Tree(shape.low(bucket)), Tree(cells[bucket])}));
  }
  const u64 sum = cells[Histogram::kBuckets];
  at["count"] = count;
  at["sum"] = sum;
  at["mean"] = count == 0 ? Tree() : Tree(static_cast<double>(sum) / static_cast<double>(count));
  at["buckets"] = std::move(buckets);
}

/// One list for each tenant that waits: its cycles for each holder, then for nobody.
Tree matrix_tree(std::span<const u64> cells, u32 tenants) {
  Tree rows = Tree::list();
  for (u32 row = 0; row < tenants; ++row) {
    Tree columns = Tree::list();
    for (const u64 cell : cells.subspan(size_t{row} * (tenants + 1), tenants + 1)) columns.push(cell);
    rows.push(std::move(columns));
  }
  return rows;
}

}  // namespace

void StatTree::add(std::string path, StatsRef stats, bool derived) {
  const std::size_t from = stats_.size();
  Collector collector(path, stats_);
  stats.describe(collector);
  for (std::size_t i = from; i < stats_.size(); ++i) {
    Stat& stat = stats_[i];
    SIM_CHECK(names_.insert(stat.name).second, "two statistics are called {}", stat.name);
    stat.first = cells_;
    stat.derived = derived;
    for (const Counter& cell : stat.cells) cell_of_.emplace(&cell, cells_++);
  }
  units_.push_back({std::move(path), stats, derived});
}

void StatTree::identity(std::string sentence, std::vector<std::string> left, std::vector<std::string> right) {
  identities_.push_back({std::move(sentence), std::move(left), std::move(right)});
}

std::vector<StatRatio> StatTree::derived_ratios() const {
  std::vector<StatRatio> ratios;
  for (const Unit& unit : units_) {
    if (!unit.derived) continue;
    RatioCollector collector(unit.path, [this](const Counter& cell) { return cell_of_.at(&cell); }, ratios);
    unit.stats.describe(collector);
  }
  return ratios;
}

void StatTree::archive(Archive& a) {
  a.expect(cells_, "the number of statistics");
  for (Stat& stat : stats_)
    for (Counter& cell : stat.cells) a(cell);
  a(base_);
}

StatSnapshot StatTree::snapshot() const {
  StatSnapshot values;
  values.reserve(cells_);
  for (const Stat& stat : stats_)
    for (const Counter& cell : stat.cells) values.push_back(cell.value);
  return values;
}

StatSnapshot StatTree::values() const {
  StatSnapshot values = snapshot();
  for (std::size_t i = 0; i < base_.size(); ++i) values[i] -= base_[i];
  return values;
}

Tree StatTree::json() const {
  const StatSnapshot values = this->values();
  Tree root = Tree::table();
  for (const Stat& stat : stats_) {
    Tree& at = place(root, stat.name);
    const std::span cells = std::span(values).subspan(stat.first, stat.cells.size());
    at["unit"] = stat.unit;
    if (stat.shape == StatShape::kHistogram) write_histogram(at, Histogram(stat.log2_width), cells);
    if (stat.shape == StatShape::kCounter) at["value"] = cells[0];
    if (stat.shape == StatShape::kPerTenant) {
      at["tenants"] = Tree::list();
      for (u32 tenant = 0; tenant < tenants_; ++tenant) at["tenants"].push(cells[tenant]);
    }
    if (stat.shape == StatShape::kMatrix) at["matrix"] = matrix_tree(cells, tenants_);
  }
  const Reading read = [&](const Counter& counter) {
    const auto cell = cell_of_.find(&counter);
    SIM_CHECK(cell != cell_of_.end(), "a ratio rests on a counter that no describe() lists");
    return values[cell->second];
  };
  for (const Unit& unit : units_) {
    RatioWriter writer(unit.path, tenants_, read, [&](const std::string& n) -> Tree& { return place(root, n); });
    unit.stats.describe(writer);
  }
  return root;
}

std::string StatTree::csv() const {
  std::string text = "name,value,unit\n";
  for (const StatCell& cell : flat_cells(*this, values()))
    fmt::format_to(std::back_inserter(text), "{},{},{}\n", cell.name, cell.value, cell.unit);
  return text;
}

std::string StatTree::digest() const {
  std::string text;
  for (const StatCell& cell : flat_cells(*this, values())) {
    if (cell.value == 0 || cell.derived) continue;
    fmt::format_to(std::back_inserter(text), "{}={}\n", cell.name, cell.value);
  }
  return hash_text(hash64(text));
}

std::optional<u64> StatTree::total(std::string_view pattern, std::optional<TenantId> tenant) const {
  // Most names differ before the first star or behind the last, which is found sooner than by comparing part by part.
  const std::string_view beginning = pattern.substr(0, pattern.find('*'));
  const std::string_view end = pattern.substr(pattern.rfind('*') + 1);
  std::optional<u64> total;
  for (const Stat& stat : stats_) {
    const bool counts = tenant ? stat.shape == StatShape::kPerTenant : stat.shape != StatShape::kHistogram;
    if (!counts || !stat.name.starts_with(beginning) || !stat.name.ends_with(end)) continue;
    if (!names_stat(pattern, stat.name)) continue;
    if (!total) total = 0;
    if (tenant) {
      *total += stat.cells[index(*tenant)].value;
    } else {
      for (const Counter& cell : stat.cells) *total += cell.value;
    }
  }
  return total;
}

u64 StatTree::total_of(const std::vector<std::string>& patterns) const {
  u64 sum = 0;
  for (const std::string& pattern : patterns) {
    const std::optional<u64> part = total(pattern);
    SIM_CHECK(part, "an identity names {}, and no counter is called so", pattern);
    sum += *part;
  }
  return sum;
}

void StatTree::check_identities(bool in_flight) const {
  for (const Stat& stat : stats_) {
    if (stat.shape != StatShape::kPerTenant) continue;
    for (u32 tenant = tenants_; tenant < kMaxTenants; ++tenant)
      SIM_CHECK(stat.cells[tenant].value == 0, "{} counted {} for tenant {}, and there are {} tenants", stat.name,
                stat.cells[tenant].value, tenant, tenants_);
  }
  for (const Unit& unit : units_) {
    IdentityChecker checker(unit.path, in_flight);
    unit.stats.describe(checker);
  }
  if (in_flight) return;
  for (const CrossIdentity& identity : identities_) {
    const u64 left = total_of(identity.left), right = total_of(identity.right);
    SIM_CHECK(left == right, "\"{}\" does not hold: {} ({}) is not {} ({})", identity.sentence, left,
              fmt::join(identity.left, " + "), right, fmt::join(identity.right, " + "));
  }
}

std::string matrix_cell_name(std::string_view name, u32 cell, u32 tenants) {
  const u32 row = cell / (tenants + 1), column = cell % (tenants + 1);
  return column == tenants ? fmt::format("{}{{tenant={} holder=nobody}}", name, row)
                           : fmt::format("{}{{tenant={} holder={}}}", name, row, column);
}

std::optional<MatrixCell> matrix_cell_of(std::string_view cell_name, u32 tenants) {
  constexpr std::string_view kTenant = "{tenant=", kHolder = " holder=", kNobody = "nobody}";
  const std::size_t tenant = cell_name.find(kTenant), holder = cell_name.find(kHolder);
  if (tenant == cell_name.npos || holder == cell_name.npos) return std::nullopt;
  const std::string_view held_by = cell_name.substr(holder + kHolder.size());
  u32 row = tenants, column = tenants;
  std::from_chars(cell_name.data() + tenant + kTenant.size(), cell_name.data() + holder, row);
  if (held_by != kNobody) std::from_chars(held_by.data(), held_by.data() + held_by.size(), column);
  if (row >= tenants || column > tenants) return std::nullopt;
  return MatrixCell{cell_name.substr(0, tenant), row, column};
}

std::vector<StatCell> flat_cells(const StatTree& tree, const StatSnapshot& values, bool zero_buckets) {
  std::vector<StatCell> cells;
  for (const Stat& stat : tree.stats()) {
    const std::span own = std::span(values).subspan(stat.first, stat.cells.size());
    if (stat.shape == StatShape::kCounter) cells.push_back({stat.name, own[0], stat.unit, stat.first, stat.derived});
    if (stat.shape == StatShape::kPerTenant)
      for (u32 tenant = 0; tenant < tree.tenants(); ++tenant)
        cells.push_back({fmt::format("{}{{tenant={}}}", stat.name, tenant), own[tenant], stat.unit, stat.first + tenant,
                         stat.derived});
    if (stat.shape == StatShape::kMatrix)
      for (u32 i = 0; i < own.size(); ++i)
        cells.push_back(
            {matrix_cell_name(stat.name, i, tree.tenants()), own[i], stat.unit, stat.first + i, stat.derived});
    if (stat.shape != StatShape::kHistogram) continue;
    const Histogram shape(stat.log2_width);
    for (u32 bucket = 0; bucket < Histogram::kBuckets; ++bucket)
      if (own[bucket] != 0 || zero_buckets)
        cells.push_back({fmt::format("{}{{from={}}}", stat.name, shape.low(bucket)), own[bucket], "times",
                         stat.first + bucket, stat.derived});
    cells.push_back(
        {stat.name + "{sum}", own[Histogram::kBuckets], stat.unit, stat.first + Histogram::kBuckets, stat.derived});
  }
  return cells;
}

}  // namespace terrace
