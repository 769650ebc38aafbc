// SPDX-License-Identifier: MIT
#include "store/store.h"

#include <algorithm>
#include <array>

#include "engine/check.h"
#include "run/metrics.h"
#include "stats/result_leaves.h"
#include "store/store_schema.h"
#include "text/unit_names.h"
#include "version.h"

namespace terrace {

namespace {

/// The labels that have a column of their own.
constexpr std::array<std::string_view, 8> kLabelColumns = {"gpu",  "design", "mix", "list",
                                                           "size", "seed",   "sms", "until"};

std::string label(const Labels& labels, std::string_view name) {
  const auto found = labels.find(std::string(name));
  return found == labels.end() ? "" : found->second;
}

/// The others, as JSON on one line.
std::string settings_of(const Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    if (name == "grid" || std::find(kLabelColumns.begin(), kLabelColumns.end(), name) != kLabelColumns.end()) continue;
    text += (text.empty() ? "" : ", ") + json_line(Tree(name)) + ": " + json_line(Tree(value));
  }
  return "{" + text + "}";
}

const Tree& part(const Tree& tree, std::string_view key) {
  const Tree* found = tree.find(key);
  if (!found) input_error("a result has no \"{}\"; it is not a result of terrace run", key);
  return *found;
}

Cell cell_of(const Tree& tree) {
  if (const auto* n = std::get_if<u64>(&tree.value)) return static_cast<i64>(*n);
  if (const auto* n = std::get_if<i64>(&tree.value)) return *n;
  if (const auto* x = std::get_if<double>(&tree.value)) return *x;
  if (const auto* b = std::get_if<bool>(&tree.value)) return i64{*b};
  if (const auto* text = std::get_if<std::string>(&tree.value)) return *text;
  return {};
}

std::vector<ResultLeaf> stats_of(const Tree& result) {
  std::vector<ResultLeaf> leaves;
  flatten_result(part(result, "stats"), "", leaves);
  return leaves;
}

/// Binds the named members in order.
void bind_members(Statement& into, const Tree& tree, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) into.bind(cell_of(part(tree, key)));
}

}  // namespace

Store::Store(const std::string& path) : database_(std::make_unique<Database>(path, Database::Access::kReadWrite)) {
  check_store(*database_);
  database_->use_write_ahead_log();
  database_->run("PRAGMA foreign_keys=ON");
  migrate_store(*database_, store_schema());
}

Store Store::existing(const std::string& path) {
  Store store;
  store.database_ = std::make_unique<Database>(path, Database::Access::kReadOnly);
  check_store(*store.database_);
  if (store.database_->number("PRAGMA user_version") != store_schema())
    input_error("{}: has an older schema; any sweep with --store {} upgrades it", path, path);
  return store;
}

std::map<std::string, JobState> Store::states() {
  std::map<std::string, JobState> states;
  Statement all(*database_, "SELECT id, state, exit_code, message FROM job");
  while (all.step()) states[all.text(0)] = {all.text(1) == "done", static_cast<int>(all.number(2)), all.text(3)};
  return states;
}

std::vector<Effort> Store::efforts() {
  std::vector<Effort> efforts;
  Statement all(*database_,
                "SELECT machine, tenants, size, process_seconds, peak_rss_bytes FROM effort JOIN job ON job.number = "
                "effort.job WHERE state = 'done'");
  while (all.step()) efforts.push_back({all.text(0), all.text(1), all.text(2), all.real(3), all.number(4)});
  return efforts;
}

void Store::forget(const Job& job) {
  Statement(*database_, "DELETE FROM job WHERE id = ?").bind(job.id).run();
}

u64 Store::put_job(const Job& job, const JobState& state, const Tree* result) {
  const Tree none;
  const auto of_run = [&](std::string_view key) { return result ? cell_of(part(part(*result, "run"), key)) : Cell(); };
  Statement insert(
      *database_,
      "INSERT INTO job (id, state, machine, tenants, size, seed, sms, config, revision, code, compiler, digest, "
      "cycles, warp_instructions, thread_instructions, total_ipc, exit_code, message) VALUES "
      "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.bind(job.id).bind(state.done ? "done" : "failed").bind(job.machine).bind(job.tenants).bind(job.size);
  insert.bind(job.seed).bind(job.sms).bind(job.config).bind(revision()).bind(code_hash()).bind(compiler());
  for (const std::string_view key : {"digest", "cycles", "warp_instructions", "thread_instructions"})
    insert.bind(of_run(key));
  insert.bind(result ? cell_of(part(part(*result, "metrics"), "total_ipc")) : Cell());
  insert.bind(Cell(i64{state.exit_code})).bind(state.message).run();
  return database_->number("SELECT last_insert_rowid()");
}

void Store::put_tenants(u64 number, const Tree& result) {
  Statement tenant(*database_, "INSERT INTO tenant VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  u64 index = 0;
  for (const Tree& tree : part(result, "tenants").items()) {
    tenant.bind(number).bind(index++);
    bind_members(tenant, tree,
                 {"name", "workload", "ptx_hash", "sms", "cycles", "warp_instructions", "thread_instructions", "ipc",
                  "warp_ipc", "completed_runs", "capped"});
    const auto& faults = part(tree, "faults").items();
    tenant.bind(faults.empty() ? Cell(std::string()) : cell_of(faults.front()));
    const Tree* completion = tree.find("first_completion");
    tenant.bind(completion ? cell_of(*completion) : Cell()).run();
  }
  Statement kernel(*database_, "INSERT INTO kernel VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  index = 0;
  const auto put_kernels = [&](const Tree& list, bool ended) {
    for (const Tree& tree : list.items()) {
      kernel.bind(number).bind(index++);
      bind_members(kernel, tree,
                   {"tenant", "name", "cycles", "warp_instructions", "thread_instructions", "ipc", "began"});
      kernel.bind(ended ? cell_of(part(tree, "ended")) : Cell()).run();
    }
  };
  put_kernels(part(result, "kernels"), true);
  if (const Tree* under_way = result.find("kernels_under_way")) put_kernels(*under_way, false);
}

/// The number of a statistic's name in this file.
u64 Store::stat_number(const std::string& name, const std::string& unit) {
  u64& number = stat_numbers_[name];
  if (number != 0) return number;
  Statement known(*database_, "SELECT number FROM stat_name WHERE name = ?");
  if (known.bind(name).step()) return number = known.number(0);
  Statement(*database_, "INSERT INTO stat_name (name, unit) VALUES (?, ?)").bind(name).bind(unit).run();
  return number = database_->number("SELECT last_insert_rowid()");
}

void Store::put_stats(u64 number, const Tree& result) {
  const std::vector<ResultLeaf> leaves = stats_of(result);
  Statement stat(*database_, "INSERT INTO stat VALUES (?, ?, ?)");
  for (const ResultLeaf& leaf : leaves) {
    const u64 name = stat_number(leaf.name, leaf.unit);
    const Cell value = cell_of(leaf.value);
    if (!std::holds_alternative<std::monostate>(value)) stat.bind(number).bind(name).bind(value).run();
  }
}

/// Statistics over time and decisions, of jobs that have them.
void Store::put_over_time(u64 number, const Tree& result) {
  if (const Tree* over_time = result.find("over_time")) {
    Statement(*database_, "INSERT INTO interval VALUES (?, ?, ?)")
        .bind(number)
        .bind(cell_of(part(*over_time, "every")))
        .bind(json_line(part(*over_time, "ends")))
        .run();
    std::map<std::string, std::string> units;  // those of the statistics that each series adds up
    for (const ResultLeaf& leaf : stats_of(result)) units.emplace(over_all_units(leaf.name), leaf.unit);
    Statement series(*database_, "INSERT INTO series VALUES (?, ?, ?)");
    for (const auto& [name, growth] : part(*over_time, "series").members())
      series.bind(number).bind(stat_number(name, units[name])).bind(json_line(growth)).run();
  }
  const Tree* decisions = result.find("decisions");
  if (!decisions) return;
  Statement decision(*database_, "INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?)");
  u64 index = 0;
  for (const Tree& each : decisions->items()) {
    decision.bind(number).bind(index++);
    bind_members(decision, each, {"cycle", "tenant", "text"});
    decision.bind(json_line(part(each, "sms"))).run();
  }
}

void Store::put_result(const Job& job, const Tree& result, double process_seconds) {
  check_result(job, result);
  // Numbers learnt in a transaction that was undone would name nothing.
  const auto known = stat_numbers_;
  try {
    Database::Transaction transaction(*database_);
    forget(job);
    const u64 number = put_job(job, {true, 0, ""}, &result);
    put_tenants(number, result);
    put_stats(number, result);
    put_over_time(number, result);
    Statement effort(*database_, "INSERT INTO effort VALUES (?, ?, ?, ?, ?, ?, datetime('now'))");
    effort.bind(number).bind(cell_of(part(part(result, "run"), "wall_seconds"))).bind(process_seconds);
    bind_members(effort, part(result, "run"), {"warp_instructions_per_second", "cycles_per_second", "peak_rss_bytes"});
    effort.run();
    transaction.commit();
  } catch (...) {
    stat_numbers_ = known;
    throw;
  }
}

void Store::put_failure(const Job& job, int exit_code, const std::string& message) {
  Database::Transaction transaction(*database_);
  forget(job);
  put_job(job, {false, exit_code, message}, nullptr);
  transaction.commit();
}

void Store::put_sweep(const std::string& name, const std::string& file, const std::vector<Point>& points) {
  Database::Transaction transaction(*database_);
  Statement(*database_, "DELETE FROM sweep WHERE name = ?").bind(name).run();
  Statement(*database_, "INSERT INTO sweep VALUES (?, ?, 0)").bind(name).bind(file).run();
  Statement insert(*database_, "INSERT INTO point VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  Statement alone(*database_, "INSERT INTO alone VALUES (?, ?, ?, ?)");
  u64 number = 0;
  for (const Point& point : points) {
    insert.bind(name).bind(number).bind(point.grid);
    for (const std::string_view column : kLabelColumns) insert.bind(label(point.labels, column));
    insert.bind(settings_of(point.labels)).bind(point.job).bind(point.reference).run();
    for (u64 i = 0; i < point.alone.size(); ++i) alone.bind(name).bind(number).bind(i).bind(point.alone[i]).run();
    ++number;
  }
  transaction.commit();
}

void Store::finish_sweep(const std::string& name, const std::vector<SearchOutcome>& searches, bool complete) {
  const std::vector<Point> all = points(name);
  Database::Transaction transaction(*database_);
  Statement(*database_, "DELETE FROM metric WHERE sweep = ?").bind(name).run();
  Statement(*database_, "DELETE FROM search WHERE sweep = ?").bind(name).run();
  Statement metric(*database_, "INSERT INTO metric VALUES (?, ?, ?, ?)");
  for (u64 i = 0; i < all.size(); ++i)
    for (const auto& [metric_name, value] : point_metrics(*this, all[i]))
      metric.bind(name).bind(i).bind(metric_name).bind(value).run();
  Statement search(*database_, "INSERT INTO search VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const SearchOutcome& outcome : searches) {
    search.bind(name).bind(outcome.grid);
    for (const char* column : {"gpu", "design", "mix", "size", "seed"}) search.bind(label(outcome.labels, column));
    search.bind(settings_of(outcome.labels)).bind(outcome.metric).bind(outcome.sms).bind(outcome.value);
    search.bind(outcome.tried).run();
  }
  Statement(*database_, "UPDATE sweep SET complete = ? WHERE name = ?").bind(u64{complete}).bind(name).run();
  transaction.commit();
}

std::optional<std::vector<double>> Store::tenant_ipcs(const std::string& job) {
  Statement rows(
      *database_,
      "SELECT ipc FROM tenant JOIN job ON job.number = tenant.job WHERE id = ? AND state = 'done' ORDER BY tenant");
  rows.bind(job);
  std::vector<double> ipcs;
  while (rows.step()) ipcs.push_back(rows.real(0));
  if (ipcs.empty()) return std::nullopt;
  return ipcs;
}

std::vector<std::string> Store::sweeps() {
  std::vector<std::string> names;
  Statement all(*database_, "SELECT name FROM sweep ORDER BY name");
  while (all.step()) names.push_back(all.text(0));
  return names;
}

std::string Store::sweep_file(const std::string& sweep) {
  Statement file(*database_, "SELECT file FROM sweep WHERE name = ?");
  return file.bind(sweep).step() ? file.text(0) : "";
}

std::vector<Point> Store::points(const std::string& sweep) {
  std::vector<Point> points;
  Statement all(
      *database_,
      "SELECT grid, gpu, design, mix, list, size, seed, sms, until, settings, job, reference FROM point WHERE "
      "sweep = ? ORDER BY point");
  all.bind(sweep);
  while (all.step()) {
    Point point{all.text(0), {{"grid", all.text(0)}}, all.text(10), {}, all.text(11)};
    for (u32 i = 0; i < kLabelColumns.size(); ++i) point.labels[std::string(kLabelColumns[i])] = all.text(i + 1);
    const Tree settings = parse_json(all.text(9), path());
    for (const auto& [key, value] : settings.members())
      if (const auto* text = std::get_if<std::string>(&value.value)) point.labels[key] = *text;
    points.push_back(std::move(point));
  }
  Statement alone(*database_, "SELECT point, job FROM alone WHERE sweep = ? ORDER BY point, tenant");
  alone.bind(sweep);
  while (alone.step()) points.at(alone.number(0)).alone.push_back(alone.text(1));
  return points;
}

void check_result(const Job& job, const Tree& result) {
  const Tree* schema = result.find("schema");
  if (!schema || *schema != Tree("terrace.run/1")) input_error("a result's schema is not terrace.run/1");
  // The program was rebuilt while the job ran: this is the result of another job.
  for (u64 i = 0; i < job.ptx.size(); ++i)
    if (part(part(result, "tenants").items().at(i), "ptx_hash") != Tree(job.ptx[i]))
      input_error("the device code of {} changed while it ran; repeat the command", job.tenants);
  // Its run exits as a failure, and a sweep that was killed before it saw that must not take it for a result.
  const Tree::List& tenants = part(result, "tenants").items();
  const auto faulted = [](const Tree& tenant) { return !part(tenant, "faults").items().empty(); };
  if (!tenants.empty() && std::all_of(tenants.begin(), tenants.end(), faulted))
    input_error("a fault ended every tenant of {}; correct their programs", job.tenants);
}

std::map<std::string, double> point_metrics(Store& store, const Point& point) {
  std::map<std::string, double> metrics;
  const auto shared = store.tenant_ipcs(point.job);
  if (!shared) return metrics;
  std::vector<TenantRate> rates;
  for (const double ipc : *shared) rates.push_back({ipc, 0});
  metrics["total_ipc"] = total_ipc(rates);
  if (point.alone.size() != rates.size()) return metrics;
  for (u64 i = 0; i < rates.size(); ++i) {
    const auto alone = store.tenant_ipcs(point.alone[i]);
    if (!alone) return metrics;
    rates[i].alone_ipc = alone->front();
  }
  for (const Metric& metric : relative_metrics(rates)) metrics[std::string(metric.name)] = metric.value;
  return metrics;
}

}  // namespace terrace
