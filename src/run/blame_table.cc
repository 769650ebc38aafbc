// SPDX-License-Identifier: MIT
#include "run/blame_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "text/unit_names.h"

namespace terrace {
namespace {

/// The parts of a machine in the order in which a request meets them. Nobody waits for lines to an SM unless tenants share SMs.
/// The last part takes what belongs to no other one, so that the rows add up to the total.
struct Part {
  const char* prefix;
  const char* title;
};
constexpr Part kParts[] = {
    {"l2_tlb.", "L2 TLB"},
    {"mmu.", "page walkers"},
    {"noc.to_l2.", "crossbar to L2"},
    {"l2.", "L2 cache"},
    {"fbt.", "forward-backward table"},
    {"dram.", "DRAM"},
    {"noc.to_sm.", "crossbar to SM"},
    {"noc.to_mmu.", "crossbar to MMU"},
    {"", "elsewhere"},
};

const Part& part_of(std::string_view cause) {
  return *std::find_if(std::begin(kParts), std::end(kParts),
                       [&](const Part& part) { return cause.starts_with(part.prefix); });
}

/// "gpu.mmu.0.blame.walkers" is "mmu.walkers". What waits at a slice's port for the slice itself waits for the L2.
std::string cause_of(std::string_view name) {
  std::string cause;
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('.'));
    name.remove_prefix(std::min(name.size(), part.size() + 1));
    if (part == "gpu" || part == "blame" || is_number(part)) continue;
    cause += (cause.empty() ? "" : ".") + std::string(part);
  }
  constexpr std::string_view kSlicePort = "noc.to_l2.";
  if (cause.starts_with(kSlicePort) && cause != "noc.to_l2.port") cause.replace(0, kSlicePort.size(), "l2.");
  return cause;
}

Tree tree_of(const BlameMatrix& matrix) {
  Tree rows = Tree::list();
  for (const std::vector<u64>& row : matrix) {
    Tree cells = Tree::list();
    for (const u64 cell : row) cells.push(cell);
    rows.push(std::move(cells));
  }
  return rows;
}

/// Copies of the same program get numbers.
std::vector<std::string> distinct(std::vector<std::string> names) {
  const std::vector<std::string> given = names;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::count(given.begin(), given.end(), given[i]) > 1) names[i] = fmt::format("{} #{}", given[i], i);
  return names;
}

double percent(u64 part, u64 all) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

/// With more tenants all others share one column: sixteen columns would be too wide.
constexpr u32 kNamedTenants = 6;

}  // namespace

BlameSummary::BlameSummary(const StatTree& stats) : BlameSummary(stats.tenants()) {
  const StatSnapshot values = stats.values();
  for (const Stat& stat : stats.stats()) {
    if (stat.shape != StatShape::kMatrix) continue;
    for (u32 i = 0; i < stat.cells.size(); ++i)
      add(stat.name, i / (tenants_ + 1), i % (tenants_ + 1), values[stat.first + i]);
  }
}

void BlameSummary::add(std::string_view name, u32 row, u32 column, u64 cycles) {
  auto [found, fresh] = by_cause_.try_emplace(cause_of(name));
  if (fresh) found->second.assign(tenants_, std::vector<u64>(tenants_ + 1));
  found->second[row][column] += cycles;
  total_[row][column] += cycles;
}

void BlameSummary::add_cell(std::string_view name, u64 cycles) {
  if (const auto cell = matrix_cell_of(name, tenants_)) add(cell->name, cell->row, cell->column, cycles);
}

Tree BlameSummary::json() const {
  Tree causes = Tree::table();
  for (const Part& part : kParts)
    for (const auto& [cause, matrix] : by_cause_)
      if (&part_of(cause) == &part) causes[cause] = tree_of(matrix);
  return {{"unit", "cycles"}, {"total", tree_of(total_)}, {"causes", std::move(causes)}};
}

std::vector<std::string> BlameSummary::columns(const std::vector<std::string>& names) const {
  std::vector<std::string> titles{"tenant", "waits at", "cycles"};
  if (tenants_ > kNamedTenants) {
    titles.insert(titles.end(), {"held by itself", "by others"});
  } else {
    for (const std::string& name : names) titles.push_back("held by " + name);
  }
  titles.emplace_back("by nobody");
  return titles;
}

std::vector<BlameSummary::Line> BlameSummary::lines() const {
  std::vector<Line> lines;
  const auto add_line = [&](u32 tenant, const std::string& where, std::vector<u64> row) {
    const u64 all = std::accumulate(row.begin(), row.end(), u64{0});
    if (all == 0) return;
    if (tenants_ > kNamedTenants) row = {row[tenant], all - row[tenant] - row.back(), row.back()};
    lines.push_back({tenant, where, std::move(row), all});
  };
  const std::vector<PartMatrix> all_parts = parts();
  for (u32 tenant = 0; tenant < tenants_; ++tenant) {
    for (const PartMatrix& part : all_parts) add_line(tenant, part.title, part.cycles[tenant]);
    add_line(tenant, "total", total_[tenant]);
  }
  return lines;
}

TextTable BlameSummary::table(const std::vector<std::string>& tenants) const {
  const std::vector<std::string> names = distinct(tenants);
  TextTable table{columns(names), {}, {false, false}};
  table.right.resize(table.header.size(), true);
  for (const Line& line : lines()) {
    table.rows.push_back({names[line.tenant], line.where, fmt::format("{}", line.all)});
    for (const u64 cycles : line.cycles)
      table.rows.back().push_back(cycles == 0 ? "-" : fmt::format("{:.1f} %", percent(cycles, line.all)));
  }
  return table;
}

std::vector<BlameSummary::PartMatrix> BlameSummary::parts() const {
  std::vector<PartMatrix> parts;
  for (const Part& part : kParts) {
    PartMatrix sum{part.title, BlameMatrix(tenants_, std::vector<u64>(tenants_ + 1))};
    u64 all = 0;
    for (const auto& [cause, matrix] : by_cause_) {
      if (&part_of(cause) != &part) continue;
      for (u32 i = 0; i < tenants_; ++i)
        for (u32 j = 0; j <= tenants_; ++j) sum.cycles[i][j] += matrix[i][j], all += matrix[i][j];
    }
    if (all != 0) parts.push_back(std::move(sum));
  }
  return parts;
}

}  // namespace terrace
