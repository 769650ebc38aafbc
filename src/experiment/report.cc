// SPDX-License-Identifier: MIT
#include "experiment/report.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "engine/check.h"
#include "experiment/blame_table.h"
#include "experiment/plot.h"
#include "experiment/sweep_file.h"
#include "text/output.h"
#include "text/table.h"

namespace terrace {

namespace {

namespace fs = std::filesystem;

struct Export {
  const char* name;
  const char* sql;
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
    {"stats", "SELECT job, name, value, unit FROM stats ORDER BY job, name"},
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

/// {"schema": ..., "jobs": [...], "tenants": [...], ...}: the tables of the CSV files, one object for each row.
void write_json(Database& database, const fs::path& path) {
  OutputFile file(path.string());
  file.write("{\"schema\": \"terrace.store/1\"");
  for (const Export& table : kExports) {
    file.write(fmt::format(",\n\"{}\": [", table.name));
    Statement rows(database, table.sql);
    bool first = true;
    while (rows.step()) {
      std::string line = first ? "\n{" : ",\n{";
      first = false;
      for (u32 i = 0; i < rows.columns(); ++i) {
        std::string value = json_text(tree_of(rows.cell(i)));
        value.pop_back();
        line += fmt::format("{}\"{}\": {}", i == 0 ? "" : ", ", rows.name(i), value);
      }
      file.write(line + "}");
    }
    file.write("]");
  }
  file.write("}\n");
  file.commit();
}

std::string label_at(const Values& values, const std::vector<std::string>& row, const std::string& label,
                     const std::string& what) {
  if (label.empty()) return "";
  for (std::size_t i = 0; i < values.labels.size(); ++i)
    if (values.labels[i] == label) return row[i];
  input_error("{}: its values have no label \"{}\"", what, label);
}

/// As many digits as tell: small numbers have more behind the point.
std::string cell_text(double value) {
  const double size = value < 0 ? -value : value;
  constexpr double kExact = 9e15;  // whole numbers below are exact in a double
  if (size < kExact && value == static_cast<double>(static_cast<i64>(value)))
    return fmt::format("{}", static_cast<i64>(value));
  return size >= 1000 ? fmt::format("{:.0f}", value)
         : size >= 10 ? fmt::format("{:.1f}", value)
                      : fmt::format("{:.3f}", value);
}

TextTable table_of(const ResultTable& table, ResultSource& results) {
  TextTable text{{table.rows}, {}, {false}};
  std::map<std::string, std::vector<std::string>> rows;
  std::vector<std::string> order;  // as the points stand in the sweep
  for (std::size_t i = 0; i < results.points(); ++i) {
    const auto label = results.labels(i).find(table.rows);
    if (label != results.labels(i).end() && rows.try_emplace(label->second).second) order.push_back(label->second);
  }
  for (const ResultTable::Column& column : table.columns) {
    text.header.push_back(column.title);
    text.right.push_back(true);
    const std::string what = fmt::format("table {}, column {}", table.name, column.title);
    const Values values = Expression(column.value).evaluate(results);
    for (const auto& [row, value] : values.rows) {
      std::vector<std::string>& cells = rows[label_at(values, row, table.rows, what)];
      if (cells.size() + 1 == text.header.size()) input_error("{}: has several values in a row; take a mean", what);
      cells.push_back(cell_text(value));
    }
    for (auto& [label, cells] : rows) cells.resize(text.header.size() - 1, "-");
  }
  for (const std::string& label : order) {
    // Points of other grids have no value in any column.
    if (std::ranges::all_of(rows[label], [](const std::string& cell) { return cell == "-"; })) continue;
    text.rows.push_back({label});
    text.rows.back().insert(text.rows.back().end(), rows[label].begin(), rows[label].end());
  }
  return text;
}

std::string html_of(const TextTable& table) {
  std::string html = "<table><tr>";
  for (const std::string& title : table.header) html += fmt::format("<th>{}</th>", escaped(title));
  for (const auto& row : table.rows) {
    html += "</tr>\n<tr>";
    for (const std::string& cell : row) html += fmt::format("<td>{}</td>", escaped(cell));
  }
  return html + "</tr></table>\n";
}

Chart chart_of(const Plot& plot, const Values& values) {
  Chart chart{plot.title, plot.x_title, plot.y_title, plot.bars, {}};
  for (const auto& [row, value] : values.rows) {
    const std::string what = "plot " + plot.name, x = label_at(values, row, plot.x, what);
    auto& points = chart.panels[label_at(values, row, plot.panel, what)][label_at(values, row, plot.series, what)];
    for (const ChartPoint& point : points)
      if (point.x == x)
        input_error("plot {}: has several values at {} = {}; choose with brackets, or take a mean", plot.name, plot.x,
                    x);
    points.push_back({x, value});
  }
  return chart;
}

/// Who waited for whom at each point that counted it: a table each, folded up.
std::string blame_of(Store& store, const std::string& sweep) {
  Statement tenants(store.database(),
                    "SELECT name FROM tenant JOIN job ON job.number = tenant.job WHERE job.id = ? ORDER BY tenant");
  Statement cells(store.database(), "SELECT name, value FROM stats WHERE job = ? AND name LIKE '%.blame.%'");
  std::string html;
  for (const Point& point : store.points(sweep)) {
    std::vector<std::string> names;
    tenants.bind(point.job);
    while (tenants.step()) names.push_back(tenants.text(0));
    BlameSummary blame(static_cast<u32>(names.size()));
    cells.bind(point.job);
    while (cells.step()) blame.add_cell(cells.text(0), cells.number(1));
    if (blame.empty()) continue;
    std::string where;
    for (const auto& [key, value] : point.labels)
      if (!value.empty()) where += fmt::format("{}{} {}", where.empty() ? "" : ", ", key, value);
    html += fmt::format("<details><summary>{}</summary>\n{}</details>\n", escaped(where), blame.html(names));
  }
  if (html.empty()) return html;
  return "<h3>Who waits for whom</h3>\n<p>Cycles that requests waited, and which share of them for what whom held "
         "(red: others).</p>\n" +
         html;
}

struct SweepReport {
  std::string claims;  // lines of CSV
  std::string html;
  std::string tables;
  std::string said;
};

SweepReport report_sweep(Store& store, const std::string& name, const fs::path& out) {
  SweepReport report;
  Mistakes ignored(name);  // it was checked when it ran; another version may know less
  const SweepFile file = parse_sweep(name + ".toml", store.sweep_file(name), "", ignored);
  const auto results = stored_results(store, name);
  report.html += fmt::format("<h2>{}</h2>\n", escaped(name));
  std::string rows;
  for (const Claim& claim : file.claims) {
    std::string value, problem;
    try {
      const Values values = Expression(claim.value).evaluate(*results);
      if (!values.scalar()) input_error("has {} values, and a claim is one number; take a mean", values.rows.size());
      value = fmt::format("{}", values.rows.begin()->second);
    } catch (const InputError& error) {
      problem = error.what();
    }
    report.claims += fmt::format("{},{},{},{},{}\n", csv_text(name), csv_text(claim.id), value, csv_text(problem),
                                 csv_text(claim.value));
    rows += fmt::format("<tr><td>{}</td><td>{}</td><td><code>{}</code></td></tr>\n", escaped(claim.id),
                        value.empty() ? escaped(problem) : value, escaped(claim.value));
  }
  if (!rows.empty())
    report.html += "<table><tr><th>claim</th><th>value</th><th>computed as</th></tr>\n" + rows + "</table>\n";
  for (const ResultTable& table : file.tables) {
    try {
      const TextTable text = table_of(table, *results);
      report.html += fmt::format("<h3>{}</h3>\n{}", escaped(table.title), html_of(text));
      report.tables += fmt::format("{}\n\n{}\n", table.title, text.plain());
    } catch (const InputError& error) {
      report.html += fmt::format("<p>{}: {}</p>\n", escaped(table.title), escaped(error.what()));
      report.tables += fmt::format("{}: {}\n", table.title, error.what());
    }
  }
  for (const Plot& plot : file.plots) {
    const std::string image = fmt::format("{}_{}.svg", name, plot.name);
    try {
      const Values values = Expression(plot.y).evaluate(*results);
      const std::string svg = chart_svg(chart_of(plot, values));
      write_whole(out / image, svg);
      // Inside the page, so that it can be passed on alone.
      report.html += fmt::format("<p>{}</p>\n", svg.substr(std::min(svg.find("<svg"), svg.size())));
      report.said += fmt::format("{}\n", (out / image).string());
    } catch (const InputError& error) {
      report.html += fmt::format("<p>{}: {}</p>\n", escaped(plot.title), escaped(error.what()));
      report.said += fmt::format("{} is not drawn: {}\n", image, error.what());
    }
  }
  report.html += blame_of(store, name);
  return report;
}

}  // namespace

std::string write_report(const std::string& store_path, const std::string& out) {
  Store store = Store::existing(store_path);
  const fs::path folder(out);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) input_error("{}: cannot be made: {}", out, error.message());
  std::string said, tables;
  for (const Export& table : kExports) {
    const fs::path path = folder / fmt::format("{}.csv", table.name);
    write_csv(store.database(), table.sql, path);
    said += path.string() + "\n";
  }
  write_json(store.database(), folder / "results.json");
  said += (folder / "results.json").string() + "\n";
  std::string claims = "sweep,claim,value,problem,expression\n";
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Terrace results</title>\n"
      "<style>body{font-family:sans-serif;margin:2em;max-width:80em} table{border-collapse:collapse} "
      "td,th{padding:.3em .8em;text-align:right;border-bottom:1px solid #ddd} "
      "td:first-child,th:first-child{text-align:left} "
      "code{font-size:80%}</style>\n<h1>Results</h1>\n";
  for (const std::string& sweep : store.sweeps()) {
    const SweepReport report = report_sweep(store, sweep, folder);
    claims += report.claims;
    html += report.html;
    said += report.said;
    tables += report.tables;
  }
  write_whole(folder / "claims.csv", claims);
  write_whole(folder / "index.html", html + "</html>\n");
  return tables + said + (folder / "claims.csv").string() + "\n" + (folder / "index.html").string() + "\n";
}

}  // namespace terrace
