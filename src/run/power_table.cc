// SPDX-License-Identifier: MIT
#include "run/power_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "engine/check.h"
#include "power/power_model.h"
#include "text/table.h"

namespace terrace {
namespace {

constexpr std::string_view kUnit = "gpu.power.";

double joules(u64 picojoules) {
  return static_cast<double>(picojoules) / 1e12;
}

std::string millijoules(u64 picojoules) {
  return fmt::format("{:.3f}", static_cast<double>(picojoules) / 1e9);
}

}  // namespace

PowerSummary::PowerSummary(const StatTree& stats) : tenants_(stats.tenants()) {
  const StatSnapshot values = stats.values();
  const auto stat_of = [&](std::string_view name) {
    const auto found = std::find_if(stats.stats().begin(), stats.stats().end(), [&](const Stat& stat) {
      return stat.name.starts_with(kUnit) && std::string_view(stat.name).substr(kUnit.size()) == name;
    });
    return found == stats.stats().end() ? nullptr : &*found;
  };
  const Stat* elapsed = stat_of("elapsed");
  if (elapsed == nullptr) return;
  picoseconds_ = values[elapsed->first];
  for (const PowerPart& part : tenant_parts()) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(stat_of(part.name)->first);
    lines_.push_back({part.name, part.group, {first, first + tenants_}, 0});
  }
  for (const PowerPart& part : common_parts())
    lines_.push_back({part.name, part.group, {}, values[stat_of(part.name)->first]});
}

u64 PowerSummary::Line::total() const {
  return std::accumulate(of_tenants.begin(), of_tenants.end(), nobody);
}

u64 PowerSummary::of(u32 tenant) const {
  u64 sum = 0;
  for (const Line& line : lines_)
    if (!line.of_tenants.empty()) sum += line.of_tenants[tenant];
  return sum;
}

u64 PowerSummary::of_nobody() const {
  u64 sum = 0;
  for (const Line& line : lines_) sum += line.nobody;
  return sum;
}

u64 PowerSummary::total() const {
  u64 sum = 0;
  for (const Line& line : lines_) sum += line.total();
  return sum;
}

double PowerSummary::watts(u64 picojoules) const {
  return static_cast<double>(picojoules) / static_cast<double>(picoseconds_);
}

Tree PowerSummary::json() const {
  Tree::List of_tenants;
  for (u32 i = 0; i < tenants_; ++i) of_tenants.emplace_back(joules(of(i)));
  Tree components = Tree::table();
  for (const Line& line : lines_)
    components[line.name] = Tree{{"watts", watts(line.total())}, {"joules", joules(line.total())}};
  return {{"watts", watts(total())},
          {"joules", joules(total())},
          {"seconds", joules(picoseconds_)},
          {"tenant_joules", Tree(std::move(of_tenants))},
          {"nobody_joules", joules(of_nobody())},
          {"components", std::move(components)}};
}

std::string PowerSummary::text(const std::vector<std::string>& tenants) const {
  // With more, their columns would be too wide for a terminal; the result file has them all.
  constexpr u32 kMostColumns = 6;
  const u32 named = tenants_ <= kMostColumns ? tenants_ : 0;
  TextTable table{{"component", "watts", "share"}, {}, {}};
  for (u32 i = 0; i < named; ++i) table.header.push_back(fmt::format("mJ of {}", tenants[i]));
  table.header.insert(table.header.end(), {"mJ of nobody", "mJ"});
  table.right.assign(table.header.size(), true);
  table.right[0] = false;
  const auto add = [&](std::string_view name, const Line& line) {
    std::vector<std::string> row{std::string(name), fmt::format("{:.1f}", watts(line.total())),
                                 fmt::format("{:.1f}%", 100 * joules(line.total()) / joules(total()))};
    for (u32 i = 0; i < named; ++i) row.push_back(millijoules(line.of_tenants[i]));
    row.push_back(millijoules(line.nobody));
    row.push_back(millijoules(line.total()));
    table.rows.push_back(std::move(row));
  };
  std::vector<Line> groups;
  for (const Line& line : lines_) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Line& its) { return its.group == line.group; });
    if (group == groups.end())
      group = groups.insert(groups.end(), {line.group, line.group, std::vector<u64>(tenants_), 0});
    for (u32 i = 0; i < line.of_tenants.size(); ++i) group->of_tenants[i] += line.of_tenants[i];
    group->nobody += line.nobody;
  }
  Line all{"total", "", {}, of_nobody()};
  for (u32 i = 0; i < tenants_; ++i) all.of_tenants.push_back(of(i));
  for (const Line& group : groups)
    if (group.total() > 0) add(group.name, group);
  add("total", all);
  return fmt::format("\nPower: {:.1f} W on average, {} mJ in {:.1f} us\n{}", watts(total()), millijoules(total()),
                     static_cast<double>(picoseconds_) / 1e6, table.plain());
}

}  // namespace terrace
