// SPDX-License-Identifier: MIT
#include "stats/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>

#include "stats/result_leaves.h"
#include "text/table.h"

namespace terrace {

namespace {

/// Of the run, what the host did rather than the machine.
bool about_the_host(std::string_view name) {
  constexpr std::array kNames = {"run.threads",           "run.wall_seconds",   "run.warp_instructions_per_second",
                                 "run.cycles_per_second", "run.peak_rss_bytes", "run.resumed_from"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

std::vector<ResultLeaf> leaves(const Tree& result, std::initializer_list<std::string_view> sections) {
  std::vector<ResultLeaf> all;
  for (const std::string_view section : sections)
    if (const Tree* tree = result.find(section))
      flatten_result(*tree, section == "stats" || section == "config" ? "" : std::string(section), all);
  return all;
}

bool number(const Tree& tree, double& into) {
  if (const auto* n = std::get_if<u64>(&tree.value)) return into = static_cast<double>(*n), true;
  if (const auto* n = std::get_if<i64>(&tree.value)) return into = static_cast<double>(*n), true;
  if (const auto* n = std::get_if<double>(&tree.value)) return into = *n, true;
  return false;
}

Difference compare(const std::string& name, const Tree* a, const Tree* b) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  Difference difference{name, a ? a->text() : "-", b ? b->text() : "-", kInfinite, ""};
  if (!a) difference.percent = "new";
  if (!b) difference.percent = "gone";
  double x = 0, y = 0;
  if (!a || !b || !number(*a, x) || !number(*b, y) || x == 0) return difference;
  difference.change = (y - x) / (x < 0 ? -x : x);
  difference.percent = fmt::format("{:+.4g} %", 100 * difference.change);
  return difference;
}

std::vector<Difference> differences(const std::vector<ResultLeaf>& a, const std::vector<ResultLeaf>& b) {
  std::map<std::string, Tree> in_a, in_b;
  for (const ResultLeaf& leaf : a) in_a.emplace(leaf.name, leaf.value);
  for (const ResultLeaf& leaf : b) in_b.emplace(leaf.name, leaf.value);
  std::vector<Difference> all;
  for (const auto& [name, value, unit] : a) {
    const auto other = in_b.find(name);
    if (other != in_b.end() && other->second == value) continue;
    all.push_back(compare(name, &value, other == in_b.end() ? nullptr : &other->second));
  }
  for (const auto& [name, value, unit] : b)
    if (!in_a.contains(name)) all.push_back(compare(name, nullptr, &value));
  return all;
}

std::string table(const std::vector<Difference>& rows, const std::string& a, const std::string& b) {
  TextTable table{{"", a, b, "change"}, {}, {false, true, true}};
  for (const Difference& row : rows) table.rows.push_back({row.name, row.a, row.b, row.percent});
  return table.plain();
}

}  // namespace

ResultDiff diff_results(const Tree& a, const Tree& b) {
  ResultDiff diff;
  diff.config = differences(leaves(a, {"config"}), leaves(b, {"config"}));
  const auto counted = {std::string_view("run"),     std::string_view("tenants"), std::string_view("kernels"),
                        std::string_view("metrics"), std::string_view("power"),   std::string_view("stats")};
  diff.stats = differences(leaves(a, counted), leaves(b, counted));
  std::erase_if(diff.stats, [](const Difference& row) { return about_the_host(row.name); });
  const auto size = [](const Difference& row) { return row.change < 0 ? -row.change : row.change; };
  std::sort(diff.stats.begin(), diff.stats.end(), [&](const Difference& x, const Difference& y) {
    return size(x) != size(y) ? size(x) > size(y) : x.name < y.name;
  });
  return diff;
}

std::string diff_text(const ResultDiff& diff, const std::string& name_a, const std::string& name_b) {
  std::string text;
  if (!diff.config.empty()) {
    text += "The configurations differ:\n" + table(diff.config, name_a, name_b) + "\n";
  }
  if (diff.stats.empty()) return text + "No statistic differs.\n";
  fmt::format_to(std::back_inserter(text), "{} statistic{} differ{}:\n", diff.stats.size(),
                 diff.stats.size() == 1 ? "" : "s", diff.stats.size() == 1 ? "s" : "");
  return text + table(diff.stats, name_a, name_b);
}

}  // namespace terrace
