// SPDX-License-Identifier: MIT
#include "report/site/runs.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/check.h"
#include "report/cells.h"
#include "run/blame_table.h"
#include "sweep/mix_name.h"
#include "text/unit_names.h"

namespace terrace {

namespace {

/// What run pages compute their charts from: counters per tenant, summed over units.
constexpr std::array kShown = {"gpu.sm.*.warp_instructions",
                               "gpu.sm.*.thread_instructions",
                               "gpu.sm.*.load_store.instructions",
                               "gpu.sm.*.load_store.latency",
                               "gpu.sm.*.l1_tlb.lookups",
                               "gpu.sm.*.l1_tlb.hits",
                               "gpu.sm.*.l1_tlb.misses",
                               "gpu.sm.*.l1_tlb.miss_cycles",
                               "gpu.sm.*.l1.loads",
                               "gpu.sm.*.l1.hits",
                               "gpu.l2_tlb.*.lookups",
                               "gpu.l2_tlb.*.hits",
                               "gpu.l2_tlb.*.misses",
                               "gpu.l2_tlb.*.miss_cycles",
                               "gpu.mmu.*.walks_done",
                               "gpu.mmu.*.queue_cycles",
                               "gpu.mmu.*.service_cycles",
                               "gpu.mmu.*.reads",
                               "gpu.l2.*.lookups",
                               "gpu.l2.*.hits",
                               "gpu.dram.*.data.replies",
                               "gpu.dram.*.data.bus_cycles",
                               "gpu.dram.*.data.read_latency",
                               "gpu.dram.*.walk.replies",
                               "gpu.dram.*.walk.bus_cycles",
                               "gpu.mmu.*.walk_scheduler.stolen",
                               "gpu.dram.*.walk.read_latency"};
constexpr std::string_view kPower = "gpu.power.";
constexpr std::string_view kBlame = ".blame.";
/// A chart on a wide screen shows no more.
constexpr std::size_t kMostPoints = 240;
/// About as wide as a page is.
constexpr u64 kMostPixels = 1000;

std::string_view without_label(std::string_view name) {
  return name.substr(0, name.find('{'));
}

bool is_shown(std::string_view all_units) {
  return all_units.starts_with(kPower) ||
         std::find(kShown.begin(), kShown.end(), without_label(all_units)) != kShown.end();
}

bool is_cell(std::string_view name) {
  return name.find(kBlame) != name.npos && name.find("holder=") != name.npos;
}

/// "12,12" with room to breathe.
std::string spaced(std::string_view list, char joint) {
  std::string text;
  for (const char c : list) text += c == joint ? " + " : std::string(1, c);
  return text;
}

const std::string& label(const Labels& labels, const std::string& name) {
  static const std::string none;
  const auto found = labels.find(name);
  return found == labels.end() ? none : found->second;
}

bool is_setting(const std::string& name) {
  constexpr std::array kKnown = {"grid", "gpu", "design", "mix", "list", "size", "seed", "sms", "until"};
  return std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end();
}

std::string settings_of(const Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels)
    if (is_setting(name) && !value.empty()) text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  return text;
}

/// Joins neighbours until there are at most kMostPoints.
std::vector<u64> joined(const Tree& list, std::size_t by, bool add) {
  std::vector<u64> numbers;
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    const u64 number = std::get<u64>(list.items()[i].value);
    if (i % by == 0)
      numbers.push_back(number);
    else
      numbers.back() = add ? numbers.back() + number : number;
  }
  return numbers;
}

Tree list_of(const std::vector<u64>& numbers) {
  return Tree(Tree::List(numbers.begin(), numbers.end()));
}

u32 tenant_in(std::string_view name) {
  constexpr std::string_view kMark = "{tenant=";
  const std::size_t at = name.find(kMark);
  u32 tenant = 0;
  for (std::size_t i = at + kMark.size(); i < name.size() && name[i] >= '0' && name[i] <= '9'; ++i)
    tenant = tenant * 10 + static_cast<u32>(name[i] - '0');
  return tenant;
}

/// Adds to {"name": [of each tenant]} or, for what nobody causes, {"name": value}.
void add_number(Tree& into, const std::string& all_units, u32 tenants, double value) {
  Tree& entry = into[without_label(all_units)];
  if (all_units.find("{tenant=") == all_units.npos) {
    const auto* before = std::get_if<double>(&entry.value);
    entry = Tree(value + (before ? *before : 0));
    return;
  }
  if (!entry.is_list()) entry = Tree(Tree::List(tenants, Tree(0.0)));
  Tree& cell = std::get<Tree::List>(entry.value).at(tenant_in(all_units));
  cell = Tree(std::get<double>(cell.value) + value);
}

}  // namespace

StoredRuns::StoredRuns(Store& store) : store_(store) {
  for (const std::string& sweep : store.sweeps()) {
    for (const Point& point : store.points(sweep)) {
      uses_[point.job].push_back({sweep, point, false});
      for (const std::string& alone : point.alone) uses_[alone].push_back({sweep, point, true});
    }
  }
  // A run that is asked for in its own right is shown as that.
  for (auto& [id, uses] : uses_) {
    const auto own = std::find_if(uses.begin(), uses.end(), [](const Use& use) { return !use.alone; });
    if (own != uses.end()) std::iter_swap(uses.begin(), own);
  }
  Statement names(store.database(), "SELECT number, name FROM stat_name");
  while (names.step()) {
    const std::string name = names.text(1), all = over_all_units(name);
    if (is_shown(all)) shown_.emplace(names.number(0), all);
    if (is_cell(name)) blame_.emplace(names.number(0), name);
  }
  Statement jobs(
      store.database(),
      "SELECT id, state, machine, tenants, size, seed, sms, cycles, total_ipc, number IN (SELECT job FROM interval) "
      "FROM job ORDER BY machine, tenants, size, seed, sms, id");
  while (jobs.step()) add_list_entry(jobs);
}

void StoredRuns::add_list_entry(const Statement& job) {
  const std::string id = job.text(0);
  const auto found = uses_.find(id);
  const Use* use = found == uses_.end() ? nullptr : &found->second.front();
  const bool alone = use != nullptr && use->alone;
  Tree sweeps = Tree::list();
  if (use != nullptr)
    for (const Use& each : found->second)
      if (std::find(sweeps.items().begin(), sweeps.items().end(), Tree(each.sweep)) == sweeps.items().end())
        sweeps.push(each.sweep);
  const std::string title = shown_mix(job.text(3), ' ') + (alone ? " alone" : "");
  const std::string sms = job.text(6);
  entries_[id] = {{"id", id},
                  {"title", title},
                  {"design", alone ? "reference"
                             : use ? label(use->point.labels, "design")
                                   : ""},
                  {"machine", use ? label(use->point.labels, "gpu") : job.text(2)},
                  {"size", job.text(4)},
                  {"seed", job.number(5)},
                  {"sms", sms.empty() ? "even" : spaced(sms, ',')},
                  {"settings", use && !alone ? settings_of(use->point.labels) : ""},
                  {"state", job.text(1)},
                  {"cycles", tree_of(job.cell(7))},
                  {"ipc", tree_of(job.cell(8))},
                  {"alone", alone},
                  {"reference", use ? use->point.reference : ""},
                  {"over_time", job.number(9) != 0},
                  {"sweeps", std::move(sweeps)}};
  ids_.push_back(id);
}

Tree StoredRuns::list() const {
  Tree list = Tree::list();
  for (const std::string& id : ids_) list.push(entries_.at(id));
  return list;
}

Tree StoredRuns::points(const std::string& sweep) {
  Tree points = Tree::list();
  Statement metrics(store_.database(), "SELECT name, value FROM metric WHERE sweep = ? AND point = ?");
  u64 number = 0;
  for (const Point& point : store_.points(sweep)) {
    Tree labels = Tree::table(), values = Tree::table();
    for (const auto& [name, value] : point.labels)
      if (!value.empty()) labels[name] = Tree(name == "mix" ? shown_mix(value) : value);
    metrics.bind(sweep).bind(number++);
    while (metrics.step()) values[metrics.text(0)] = Tree(metrics.real(1));
    points.push({{"job", entries_.contains(point.job) ? Tree(point.job) : Tree()},
                 {"labels", std::move(labels)},
                 {"metrics", std::move(values)}});
  }
  return points;
}

Tree StoredRuns::tenants(u64 number, const Use* use) {
  Tree list = Tree::list();
  Statement rows(store_.database(),
                 "SELECT name, workload, sms, cycles, warp_instructions, thread_instructions, ipc, warp_ipc, "
                 "completed_runs, capped, fault FROM tenant WHERE job = ? ORDER BY tenant");
  rows.bind(number);
  for (std::size_t i = 0; rows.step(); ++i) {
    Tree tree = row_tree(rows);
    tree["name"] = Tree(shown_mix(rows.text(0)));
    if (use != nullptr && !use->alone && i < use->point.alone.size()) {
      const std::string& alone = use->point.alone[i];
      if (const auto ipc = store_.tenant_ipcs(alone)) {
        tree["alone_ipc"] = Tree(ipc->front());
        tree["alone_run"] = Tree(alone);
      }
    }
    list.push(std::move(tree));
  }
  return list;
}

/// Launches of one kernel are one line: a program may launch it a thousand times.
Tree StoredRuns::kernels(u64 number) {
  Tree list = Tree::list();
  Statement rows(
      store_.database(),
      "SELECT tenant, name, count(*) AS launches, sum(cycles) AS cycles, sum(warp_instructions) AS "
      "warp_instructions, sum(thread_instructions) AS thread_instructions FROM kernel WHERE job = ? GROUP BY "
      "tenant, name ORDER BY tenant, min(kernel)");
  rows.bind(number);
  while (rows.step()) list.push(row_tree(rows));
  return list;
}

/// When kernels ran. Launches of one kernel that follow each other closely are one span: a page is some thousand pixels wide.
Tree StoredRuns::spans(u64 number) {
  struct Span {
    u64 tenant;
    std::string name;
    u64 from, to, launches;
  };
  std::vector<Span> spans;
  std::map<std::pair<u64, std::string>, std::size_t> latest;  // of a tenant's kernel
  Statement length(store_.database(), "SELECT cycles FROM job WHERE number = ?");
  const u64 pixel = length.bind(number).step() && !length.is_null(0) ? length.number(0) / kMostPixels : 0;
  Statement rows(
      store_.database(),
      "SELECT tenant, name, began, coalesce(ended, began + cycles) FROM kernel WHERE job = ? AND began IS NOT NULL "
      "ORDER BY tenant, began");
  rows.bind(number);
  while (rows.step()) {
    const Span next{rows.number(0), rows.text(1), rows.number(2), rows.number(3), 1};
    const auto [found, first] = latest.try_emplace({next.tenant, next.name}, spans.size());
    if (!first && next.from <= spans[found->second].to + pixel) {
      Span& last = spans[found->second];
      last.to = std::max(last.to, next.to);
      ++last.launches;
      continue;
    }
    found->second = spans.size();
    spans.push_back(next);
  }
  Tree list = Tree::list();
  for (const Span& span : spans)
    list.push({{"tenant", span.tenant},
               {"name", span.name},
               {"from", span.from},
               {"to", span.to},
               {"launches", span.launches}});
  return list;
}

Tree StoredRuns::decisions(u64 number) {
  Tree list = Tree::list();
  Statement rows(store_.database(), "SELECT cycle, tenant, text, sms FROM decision WHERE job = ? ORDER BY decision");
  rows.bind(number);
  while (rows.step()) {
    Tree tree = row_tree(rows);
    tree["sms"] = parse_json(rows.text(3), store_.path());
    list.push(std::move(tree));
  }
  return list;
}

void StoredRuns::add_stats(u64 number, u32 tenants, Tree& page) {
  Tree stats = Tree::table();
  BlameSummary blame(tenants);
  Statement rows(store_.database(), "SELECT name, value FROM stat WHERE job = ?");
  rows.bind(number);
  while (rows.step()) {
    if (const auto shown = shown_.find(rows.number(0)); shown != shown_.end())
      add_number(stats, shown->second, tenants, rows.real(1));
    if (const auto cell = blame_.find(rows.number(0)); cell != blame_.end())
      blame.add_cell(cell->second, rows.number(1));
  }
  Tree parts = Tree::list();
  for (const BlameSummary::PartMatrix& part : blame.parts()) {
    Tree matrix = Tree::list();
    for (const auto& row : part.cycles) matrix.push(list_of(row));
    parts.push({{"title", part.title}, {"cycles", std::move(matrix)}});
  }
  page["stats"] = std::move(stats);
  page["blame"] = std::move(parts);
}

Tree StoredRuns::over_time(u64 number) {
  Statement interval(store_.database(), "SELECT every, ends FROM interval WHERE job = ?");
  if (!interval.bind(number).step()) return {};
  const Tree ends = parse_json(interval.text(1), store_.path());
  const std::size_t by = (ends.items().size() + kMostPoints - 1) / kMostPoints;
  Tree series = Tree::table();
  std::map<std::string, std::vector<u64>> waits;  // of each tenant for others, at all structures together
  Statement rows(store_.database(), "SELECT name, growth FROM series WHERE job = ?");
  rows.bind(number);
  while (rows.step()) {
    const auto shown = shown_.find(rows.number(0));
    const auto cell = blame_.find(rows.number(0));
    if (shown == shown_.end() && cell == blame_.end()) continue;
    const std::vector<u64> growth = joined(parse_json(rows.text(1), store_.path()), by, true);
    if (shown != shown_.end()) series[shown->second] = list_of(growth);
    if (cell == blame_.end()) continue;
    std::vector<u64>& sum = waits[cell->second.substr(cell->second.find('{'))];
    sum.resize(growth.size());
    for (std::size_t i = 0; i < growth.size(); ++i) sum[i] += growth[i];
  }
  for (const auto& [cells, sum] : waits) series["waits" + cells] = list_of(sum);
  return {
      {"every", interval.number(0) * by}, {"ends", list_of(joined(ends, by, false))}, {"series", std::move(series)}};
}

Tree StoredRuns::page(const std::string& id) {
  Statement job(store_.database(),
                "SELECT number, message, revision, compiler, digest, warp_instructions, thread_instructions, "
                "simulation_seconds, peak_rss_bytes FROM job LEFT JOIN effort ON effort.job = job.number WHERE id = ?");
  SIM_CHECK(job.bind(id).step(), "run {} is listed and not stored", id);
  const u64 number = job.number(0);
  const auto found = uses_.find(id);
  const Use* use = found == uses_.end() ? nullptr : &found->second.front();
  Tree page = entries_.at(id);
  const Tree columns = row_tree(job, 1);
  for (const auto& [key, value] : columns.members()) page[key] = value;
  page["tenants"] = tenants(number, use);
  const auto count = static_cast<u32>(page.find("tenants")->items().size());
  if (use != nullptr && !use->alone) {
    Tree metrics = Tree::table();
    for (const auto& [name, value] : point_metrics(store_, use->point)) metrics[name] = Tree(value);
    page["metrics"] = std::move(metrics);
  }
  page["kernels"] = kernels(number);
  page["spans"] = spans(number);
  page["decisions"] = decisions(number);
  add_stats(number, count, page);
  page["over_time"] = over_time(number);
  return page;
}

}  // namespace terrace
