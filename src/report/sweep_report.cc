// SPDX-License-Identifier: MIT
#include "report/sweep_report.h"

#include <algorithm>
#include <array>
#include <map>

#include "engine/check.h"
#include "report/estimate.h"
#include "report/report.h"
#include "run/blame_table.h"
#include "text/markup.h"

namespace terrace {

namespace {

std::string label_at(const Estimates& values, const std::vector<std::string>& row, const std::string& label,
                     const std::string& what) {
  if (label.empty()) return "";
  for (std::size_t i = 0; i < values.labels.size(); ++i)
    if (values.labels[i] == label) return row[i];
  input_error("{}: its values have no label \"{}\"", what, label);
}

/// The last three columns of every record.
void add_interval(const Estimate& estimate, std::vector<Cell>& record) {
  const bool known = estimate.value.known();
  record.push_back(known && !estimate.verdict ? Cell(estimate.value.half_width) : Cell());
  record.push_back(known ? Cell(static_cast<i64>(estimate.value.count)) : Cell());
  record.push_back(estimate.within_noise ? Cell(i64{*estimate.within_noise}) : Cell());
}

/// What is shown so far: for the sentences below it.
struct Shown {
  u64 seeds = 1;
  bool noise = false;
  void add(const Estimate& estimate) {
    if (!estimate.verdict) seeds = std::max(seeds, estimate.value.count);
    noise |= estimate.noise() && !estimate.verdict;
  }
};

std::string html_cell(const std::string& text, bool muted) {
  return fmt::format("<td{}>{}</td>", muted ? " class=\"noise\"" : "", escaped(text));
}

std::string html_notes(const std::vector<std::string>& notes) {
  std::string html;
  for (const std::string& note : notes) html += (html.empty() ? "" : "<br>") + escaped(note);
  return html.empty() ? "" : fmt::format("<p class=\"notes\">{}</p>\n", html);
}

std::string html_of(const ShownTable& table) {
  std::string html = "<table><tr>";
  for (const std::string& title : table.text.header) html += fmt::format("<th>{}</th>", escaped(title));
  for (std::size_t i = 0; i < table.text.rows.size(); ++i) {
    html += "</tr>\n<tr>";
    for (std::size_t j = 0; j < table.text.rows[i].size(); ++j)
      html += html_cell(table.text.rows[i][j], table.muted[i][j]);
  }
  return html + "</tr></table>\n" + html_notes(table.notes);
}

/// The interference of each point that measured it: one table each, collapsed.
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
  return "<h3>Interference</h3>\n<p>Cycles that requests spent waiting, by the tenant that held the resource (red: "
         "another tenant).</p>\n" +
         html;
}

void report_claims(const SweepFile& file, const std::string& sweep, ResultSource& results, SweepReport& report) {
  if (file.claims.empty()) return;
  report.html += "<table><tr><th>claim</th><th>value</th><th>computed as</th></tr>\n";
  Shown shown;
  for (const Claim& claim : file.claims) {
    Estimate estimate;
    std::string problem;
    try {
      const Estimates values = estimates_of(Expression(claim.value).evaluate(results), {}, claim.neutral);
      if (!values.scalar()) input_error("has {} values, but a claim is one number; take a mean", values.rows.size());
      estimate = values.rows.begin()->second;
      shown.add(estimate);
    } catch (const InputError& error) {
      problem = error.what();
    }
    std::vector<Cell> record{sweep, claim.id, problem.empty() ? Cell(estimate.value.mean) : Cell(),
                             problem.empty() ? Cell() : Cell(problem), claim.value};
    add_interval(estimate, record);
    report.claims.rows.push_back(std::move(record));
    report.html += fmt::format("<tr><td>{}</td>{}<td><code>{}</code></td></tr>\n", escaped(claim.id),
                               html_cell(problem.empty() ? claim_text(estimate) : problem, estimate.noise()),
                               escaped(claim.value));
  }
  report.html += "</table>\n" + html_notes(sign_notes(shown.seeds, shown.noise));
}

void add_records(const std::string& sweep, const std::vector<std::vector<Cell>>& records, Records& into) {
  for (const auto& record : records) {
    into.rows.push_back({sweep});
    into.rows.back().insert(into.rows.back().end(), record.begin(), record.end());
  }
}

void report_table(const ResultTable& table, const std::string& sweep, ResultSource& results, SweepReport& report) {
  try {
    const ShownTable shown = table_of(table, results);
    add_records(sweep, shown.records, report.tables);
    report.html += fmt::format("<h3>{}</h3>\n{}", escaped(table.title), html_of(shown));
    report.text += fmt::format("{}\n\n{}\n", table.title, shown.text.plain());
    for (const std::string& note : shown.notes) report.text += note + "\n";
    if (!shown.notes.empty()) report.text += "\n";
  } catch (const InputError& error) {
    report.html += fmt::format("<p>{}: {}</p>\n", escaped(table.title), escaped(error.what()));
    report.text += fmt::format("{}: {}\n", table.title, error.what());
  }
}

void report_plot(const Plot& plot, const std::string& sweep, ResultSource& results, SweepReport& report) {
  const std::string image = fmt::format("{}_{}.svg", sweep, plot.name);
  try {
    const ShownPlot drawn = plot_of(plot, results);
    add_records(sweep, drawn.records, report.plots);
    const std::string svg = chart_svg(drawn.chart);
    // Inside the page, so that it can be passed on alone.
    report.html += fmt::format("<p>{}</p>\n", svg.substr(std::min(svg.find("<svg"), svg.size())));
    report.pictures.emplace_back(image, svg);
  } catch (const InputError& error) {
    report.html += fmt::format("<p>{}: {}</p>\n", escaped(plot.title), escaped(error.what()));
    report.problems.push_back(fmt::format("{} cannot be drawn: {}", image, error.what()));
  }
}

}  // namespace

ShownTable table_of(const ResultTable& table, ResultSource& results) {
  ShownTable shown{{{table.rows}, {}, {false}}, {}, {}, {}};
  std::map<std::string, std::vector<std::pair<std::string, bool>>> rows;  // text, muted
  std::vector<std::string> order;                                         // as the points stand in the sweep
  for (std::size_t i = 0; i < results.points(); ++i) {
    const auto label = results.labels(i).find(table.rows);
    if (label != results.labels(i).end() && rows.try_emplace(label->second).second) order.push_back(label->second);
  }
  Shown signs;
  for (const ResultTable::Column& column : table.columns) {
    shown.text.header.push_back(column.title);
    shown.text.right.push_back(true);
    const std::string what = fmt::format("table {}, column {}", table.name, column.title);
    const Values values = Expression(column.value).evaluate(results);
    const Estimates estimates = estimates_of(values, std::array{table.rows}, column.neutral);
    for (const auto& [row, estimate] : estimates.rows) {
      const std::string label = label_at(estimates, row, table.rows, what);
      auto& cells = rows[label];
      if (cells.size() + 1 == shown.text.header.size())
        input_error("{}: has several values in a row; take a mean", what);
      cells.emplace_back(cell_text(estimate), estimate.noise());
      signs.add(estimate);
      shown.records.push_back({table.name, label, column.title, estimate.value.mean});
      add_interval(estimate, shown.records.back());
    }
    for (auto& [label, cells] : rows) cells.resize(shown.text.header.size() - 1, {"-", false});
  }
  for (const std::string& label : order) {
    // Points of other grids have no value in any column.
    if (std::ranges::all_of(rows[label], [](const auto& cell) { return cell.first == "-"; })) continue;
    shown.text.rows.push_back({label});
    shown.muted.push_back({false});
    for (const auto& [text, muted] : rows[label]) {
      shown.text.rows.back().push_back(text);
      shown.muted.back().push_back(muted);
    }
  }
  shown.notes = sign_notes(signs.seeds, signs.noise);
  return shown;
}

ShownPlot plot_of(const Plot& plot, ResultSource& results) {
  ShownPlot drawn{{plot.title, plot.x_title, plot.y_title, plot.bars, plot.neutral, "", {}}, {}};
  const std::array shown{plot.x, plot.series, plot.panel};
  const Estimates values = estimates_of(Expression(plot.y).evaluate(results), shown, plot.neutral);
  const std::string what = "plot " + plot.name;
  Shown signs;
  for (const auto& [row, estimate] : values.rows) {
    const std::string x = label_at(values, row, plot.x, what), panel = label_at(values, row, plot.panel, what),
                      series = label_at(values, row, plot.series, what);
    auto& points = drawn.chart.panels[panel][series];
    for (const ChartPoint& point : points)
      if (point.x == x)
        input_error("plot {}: has several values at {} = {}; select with brackets, or take a mean", plot.name, plot.x,
                    x);
    points.push_back({x, estimate.value.mean, estimate.value.half_width, estimate.noise()});
    signs.add(estimate);
    drawn.records.push_back({plot.name, panel, series, x, estimate.value.mean});
    add_interval(estimate, drawn.records.back());
  }
  if (signs.seeds > 1)
    drawn.chart.note = fmt::format("Error bars: 95 % interval of the mean over {} seeds.{}", signs.seeds,
                                   !signs.noise ? ""
                                   : plot.bars  ? " Pale: within noise."
                                                : " Hollow: within noise.");
  return drawn;
}

void report_sweep(Store& store, const std::string& name, SweepReport& report) {
  Mistakes ignored(name);  // it was checked when it ran; another version may know less
  const SweepFile file = parse_sweep(name + ".toml", store.sweep_file(name), "", ignored);
  const auto results = stored_results(store, name);
  report.html += fmt::format("<h2>{}</h2>\n", escaped(name));
  report_claims(file, name, *results, report);
  for (const ResultTable& table : file.tables) report_table(table, name, *results, report);
  for (const Plot& plot : file.plots) report_plot(plot, name, *results, report);
  report.html += blame_of(store, name);
}

}  // namespace terrace
