// SPDX-License-Identifier: MIT
#include "report/report.h"

#include <filesystem>
#include <system_error>

#include "engine/check.h"
#include "report/sweep_report.h"
#include "text/output.h"

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
     "tenant.thread_instructions, ipc, warp_ipc, completed_runs, capped, fault FROM tenant JOIN job ON job.number = "
     "tenant.job "
     "ORDER BY job.id, tenant"},
    {"kernels",
     "SELECT id AS job, kernel, tenant, name, kernel.cycles, kernel.warp_instructions, kernel.thread_instructions, ipc "
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

Tree tree_of(const Cell& cell) {
  if (const auto* whole = std::get_if<i64>(&cell)) return Tree(*whole);
  if (const auto* real = std::get_if<double>(&cell)) return Tree(*real);
  if (const auto* text = std::get_if<std::string>(&cell)) return Tree(*text);
  return Tree();
}

void write_whole(const fs::path& path, const std::string& text) {
  OutputFile file(path.string());
  file.write(text);
  file.commit();
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
    std::string value = json_text(tree_of(cells[i]));
    value.pop_back();
    text += fmt::format("{}\"{}\": {}", i == 0 ? "" : ", ", names[i], value);
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

std::string page_of(const SweepReport& report) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Terrace results</title>\n"
         "<style>body{font-family:sans-serif;margin:2em;max-width:80em} table{border-collapse:collapse} "
         "td,th{padding:.3em .8em;text-align:right;border-bottom:1px solid #ddd} "
         "td:first-child,th:first-child{text-align:left} td.noise{color:#6b6b6b;font-style:italic} "
         "p.notes{color:#555;font-size:85%} "
         "code{font-size:80%}</style>\n<h1>Results</h1>\n" +
         report.html + "</html>\n";
}

u64 count_jobs(Database& database) {
  Statement count(database, "SELECT count(*) FROM job");
  count.step();
  return static_cast<u64>(std::get<i64>(count.cell(0)));
}

}  // namespace

std::string write_report(const std::string& store_path, const std::string& out, bool stats) {
  Store store = Store::existing(store_path);
  const fs::path folder(out);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) input_error("{}: cannot be created: {}", out, error.message());
  SweepReport report;
  for (const std::string& sweep : store.sweeps()) report_sweep(store, sweep, report);
  std::string said = report.text;
  const auto put = [&](const std::string& name, const std::string& text) {
    write_whole(folder / name, text);
    said += (folder / name).string() + "\n";
  };
  const u64 jobs = count_jobs(store.database());
  const bool with_stats = stats || jobs <= kMostJobsWithStats;
  for (const Export& table : kExports) {
    const fs::path path = folder / fmt::format("{}.csv", table.name);
    if (table.stats && !with_stats) {
      fs::remove(path, error);  // of an earlier report, when the store had fewer jobs
      continue;
    }
    write_csv(store.database(), table.sql, path);
    said += path.string() + "\n";
  }
  write_json(store.database(), report, with_stats, folder / "results.json");
  said += (folder / "results.json").string() + "\n";
  for (const auto& [name, svg] : report.pictures) put(name, svg);
  for (const std::string& problem : report.problems) said += problem + "\n";
  for (const auto& [name, records] : computed(report)) put(fmt::format("{}.csv", name), csv_of(*records));
  put("index.html", page_of(report));
  if (!with_stats)
    said += fmt::format(
        "The statistics of the {} jobs are left out of results.json, and there is no stats.csv: of more than {} jobs "
        "they are written with --stats only; {} holds them all.\n",
        jobs, kMostJobsWithStats, store_path);
  return said;
}

}  // namespace terrace
