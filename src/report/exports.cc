// SPDX-License-Identifier: MIT
#include "report/exports.h"

#include <system_error>

#include "report/cells.h"
#include "report/report.h"
#include "text/output.h"
#include "text/tree.h"

namespace terrace {

namespace {

namespace fs = std::filesystem;

struct Export {
  const char* name;
  const char* sql;
  bool stats = false;
};
/// In an order that depends on contents alone, so that two stores with the same results give the same files.
constexpr Export kExports[] = {
    {"jobs",
     "SELECT id, state, machine, tenants, size, seed, sms, revision, code, compiler, digest, cycles, "
     "warp_instructions, "
     "thread_instructions, total_ipc, exit_code, message FROM job ORDER BY machine, tenants, size, seed, sms, id"},
    {"tenants",
     "SELECT id AS job, tenant, name, workload, ptx_hash, tenant.sms, tenant.cycles, tenant.warp_instructions, "
     "tenant.thread_instructions, ipc, warp_ipc, completed_runs, first_completion, capped, fault FROM tenant JOIN job "
     "ON job.number = "
     "tenant.job "
     "ORDER BY job.id, tenant"},
    {"kernels",
     "SELECT id AS job, kernel, tenant, name, began, ended, kernel.cycles, kernel.warp_instructions, "
     "kernel.thread_instructions, ipc "
     "FROM "
     "kernel JOIN job ON job.number = kernel.job ORDER BY job.id, kernel"},
    {"results", "SELECT * FROM results ORDER BY sweep, grid, gpu, design, mix, list, size, seed, sms, until, settings"},
    {"metrics",
     "SELECT point.sweep, grid, gpu, design, mix, list, size, seed, sms, until, settings, point.job, name, value, "
     "reference "
     "FROM metric JOIN point USING (sweep, point) ORDER BY sweep, point.point, name"},
    {"searches", "SELECT * FROM search ORDER BY sweep, grid, gpu, design, mix, size, seed, settings"},
    {"stats", "SELECT job, name, value, unit FROM stats ORDER BY job, name", true},
    {"effort",
     "SELECT id AS job, simulation_seconds, process_seconds, warp_instructions_per_second, cycles_per_second, "
     "peak_rss_bytes, "
     "stored_at FROM effort JOIN job ON job.number = effort.job ORDER BY job.id"},
};

std::string csv_text(const Cell& cell) {
  if (const auto* whole = std::get_if<i64>(&cell)) return fmt::format("{}", *whole);
  if (const auto* real = std::get_if<double>(&cell)) return fmt::format("{}", *real);
  const auto* text = std::get_if<std::string>(&cell);
  if (!text) return "";
  if (text->find_first_of(",\"\n\r") == text->npos) return *text;
  std::string quoted = "\"";
  for (const char c : *text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

/// What the sweeps' files asked for, by the names of its files.
std::vector<std::pair<const char*, const Records*>> computed(const SweepReport& report) {
  return {{"claims", &report.claims}, {"tables", &report.tables}, {"plots", &report.plots}};
}

/// Row by row: a store may hold more than memory does.
void write_csv(Database& database, const char* sql, const fs::path& path) {
  OutputFile file(path.string());
  Statement rows(database, sql);
  std::string line;
  for (u32 i = 0; i < rows.columns(); ++i) line += (i == 0 ? "" : ",") + rows.name(i);
  file.write(line + "\n");
  while (rows.step()) {
    line.clear();
    for (u32 i = 0; i < rows.columns(); ++i) line += (i == 0 ? "" : ",") + csv_text(rows.cell(i));
    file.write(line + "\n");
  }
  file.commit();
}

/// One object: {"name": value, ...}.
std::string json_object(const std::vector<std::string>& names, const std::vector<Cell>& cells) {
  std::string text = "{";
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += fmt::format("{}\"{}\": {}", i == 0 ? "" : ", ", names[i], json_line(tree_of(cells[i])));
  }
  return text + "}";
}

/// {"schema": ..., "jobs": [...], "tenants": [...], ...}: the tables of the CSV files, one object for each row. Statistics
/// that are left out are null: an empty list would say that there are none.
void write_json(Database& database, const SweepReport& report, bool stats, const fs::path& path) {
  OutputFile file(path.string());
  file.write("{\"schema\": \"terrace.store/1\"");
  for (const Export& table : kExports) {
    if (table.stats && !stats) {
      file.write(fmt::format(",\n\"{}\": null", table.name));
      continue;
    }
    file.write(fmt::format(",\n\"{}\": [", table.name));
    Statement rows(database, table.sql);
    std::vector<std::string> names;
    for (u32 i = 0; i < rows.columns(); ++i) names.push_back(rows.name(i));
    bool first = true;
    while (rows.step()) {
      std::vector<Cell> cells;
      for (u32 i = 0; i < rows.columns(); ++i) cells.push_back(rows.cell(i));
      file.write((first ? "\n" : ",\n") + json_object(names, cells));
      first = false;
    }
    file.write("]");
  }
  for (const auto& [name, records] : computed(report)) {
    file.write(fmt::format(",\n\"{}\": [", name));
    for (std::size_t i = 0; i < records->rows.size(); ++i)
      file.write((i == 0 ? "\n" : ",\n") + json_object(records->header, records->rows[i]));
    file.write("]");
  }
  file.write("}\n");
  file.commit();
}

std::string csv_line(const std::vector<Cell>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i == 0 ? "" : ",") + csv_text(cells[i]);
  return line + "\n";
}

std::string csv_of(const Records& records) {
  std::string text = csv_line({records.header.begin(), records.header.end()});
  for (const auto& row : records.rows) text += csv_line(row);
  return text;
}

u64 count_jobs(Database& database) {
  Statement count(database, "SELECT count(*) FROM job");
  count.step();
  return static_cast<u64>(std::get<i64>(count.cell(0)));
}

}  // namespace

std::string write_exports(Store& store, const SweepReport& report, const fs::path& folder, bool stats) {
  std::string said;
  const auto wrote = [&](const fs::path& path) { said += path.string() + "\n"; };
  const u64 jobs = count_jobs(store.database());
  const bool with_stats = stats || jobs <= kMostJobsWithStats;
  for (const Export& table : kExports) {
    const fs::path path = folder / fmt::format("{}.csv", table.name);
    if (table.stats && !with_stats) {
      std::error_code ignored;
      fs::remove(path, ignored);  // of an earlier report, when the store had fewer jobs
      continue;
    }
    write_csv(store.database(), table.sql, path);
    wrote(path);
  }
  write_json(store.database(), report, with_stats, folder / "results.json");
  wrote(folder / "results.json");
  for (const auto& [name, records] : computed(report)) {
    const fs::path path = folder / fmt::format("{}.csv", name);
    write_whole(path.string(), csv_of(*records));
    wrote(path);
  }
  if (!with_stats)
    said += fmt::format(
        "The statistics of the {} jobs are left out of results.json, and there is no stats.csv: of more than {} jobs "
        "they are written with --stats only; {} holds them all.\n",
        jobs, kMostJobsWithStats, store.path());
  return said;
}

}  // namespace terrace
