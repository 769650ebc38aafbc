// SPDX-License-Identifier: MIT
#include "report/sweep_report.h"

#include <algorithm>
#include <array>
#include <map>

#include "engine/check.h"
#include "report/estimate.h"
#include "report/report.h"
#include "sweep/mix_name.h"

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

Tree list_of(const std::vector<std::string>& texts) {
  return Tree(Tree::List(texts.begin(), texts.end()));
}

/// What pages show of a label's value.
std::string shown_label(const std::string& label, const std::string& value) {
  if (label == "mix") return shown_mix(value);
  std::string text = value;
  if (label == "list") std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

Tree tree_of(const std::vector<PrintedPoint>& points, const std::string& series, const std::string& x) {
  Tree list = Tree::list();
  for (const PrintedPoint& point : points)
    list.push({{"series", shown_label(series, point.series)},
               {"x", shown_label(x, point.x)},
               {"claim", point.claim},
               {"value", point.value ? Tree(*point.value) : Tree()}});
  return list;
}

/// Of a chart: that of all columns, if they have the same.
Tree neutral_of(const ResultTable& table) {
  const std::optional<double> first = table.columns.front().neutral;
  const bool same =
      std::ranges::all_of(table.columns, [&](const ResultTable::Column& column) { return column.neutral == first; });
  return first && same ? Tree(*first) : Tree();
}

Tree tree_of(const ShownTable& table, const ResultTable& asked) {
  Tree rows = Tree::list(), muted = Tree::list();
  for (std::size_t i = 0; i < table.text.rows.size(); ++i) {
    std::vector<std::string> cells = table.text.rows[i];
    cells.front() = shown_label(asked.rows, cells.front());
    rows.push(list_of(cells));
    muted.push(Tree(Tree::List(table.muted[i].begin(), table.muted[i].end())));
  }
  return {{"name", asked.name},
          {"title", asked.title},
          {"chart", asked.chart},
          {"header", list_of(table.text.header)},
          {"rows", std::move(rows)},
          {"muted", std::move(muted)},
          {"notes", list_of(table.notes)},
          {"mean", asked.mean},
          {"y_title", asked.y_title},
          {"neutral", neutral_of(asked)},
          {"printed", tree_of(asked.printed, "", asked.rows)}};
}

Tree tree_of(const Chart& chart, const Plot& asked) {
  Tree panels = Tree::list();
  for (const auto& [title, all] : chart.panels) {
    Tree series = Tree::list();
    for (const auto& [name, points] : all) {
      Tree list = Tree::list();
      for (const ChartPoint& point : points)
        list.push(
            {{"x", shown_label(asked.x, point.x)}, {"y", point.y}, {"half", point.half_width}, {"muted", point.muted}});
      series.push({{"name", shown_label(asked.series, name)}, {"points", std::move(list)}});
    }
    panels.push({{"title", shown_label(asked.panel, title)}, {"series", std::move(series)}});
  }
  return {{"name", asked.name},
          {"mean", asked.mean},
          {"printed", tree_of(asked.printed, asked.series, asked.x)},
          {"title", chart.title},
          {"x_title", chart.x_title},
          {"y_title", chart.y_title},
          {"kind", chart.stacked ? "stack"
                   : chart.bars  ? "bar"
                                 : "line"},
          {"neutral", chart.neutral ? Tree(*chart.neutral) : Tree()},
          {"note", chart.note},
          {"panels", std::move(panels)}};
}

Tree report_claims(const SweepFile& file, const std::string& sweep, ResultSource& results, SweepReport& report) {
  Tree claims = Tree::list();
  if (!file.paper.empty()) return claims;  // those of a paper are on its board
  for (const Claim& claim : file.claims) {
    Estimate estimate;
    std::string problem;
    try {
      const Estimates values = estimates_of(Expression(claim.value).evaluate(results), {}, claim.neutral);
      if (!values.scalar()) input_error("has {} values, but a claim is one number; take a mean", values.rows.size());
      estimate = values.rows.begin()->second;
    } catch (const InputError& error) {
      problem = error.what();
    }
    std::vector<Cell> record{sweep, claim.id, problem.empty() ? Cell(estimate.value.mean) : Cell(),
                             problem.empty() ? Cell() : Cell(problem), claim.value};
    add_interval(estimate, record);
    report.claims.rows.push_back(std::move(record));
    claims.push({{"id", claim.id},
                 {"text", problem.empty() ? claim_text(estimate) : ""},
                 {"value", problem.empty() ? Tree(estimate.value.mean) : Tree()},
                 {"muted", estimate.noise()},
                 {"problem", problem},
                 {"note", claim.note},
                 {"expression", claim.value}});
  }
  return claims;
}

void add_records(const std::string& sweep, const std::vector<std::vector<Cell>>& records, Records& into) {
  for (const auto& record : records) {
    into.rows.push_back({sweep});
    into.rows.back().insert(into.rows.back().end(), record.begin(), record.end());
  }
}

Tree report_table(const ResultTable& table, const std::string& sweep, ResultSource& results, SweepReport& report) {
  try {
    const ShownTable shown = table_of(table, results);
    add_records(sweep, shown.records, report.tables);
    report.text += fmt::format("{}\n\n{}\n", table.title, shown.text.plain());
    for (const std::string& note : shown.notes) report.text += note + "\n";
    if (!shown.notes.empty()) report.text += "\n";
    return tree_of(shown, table);
  } catch (const InputError& error) {
    report.text += fmt::format("{}: {}\n", table.title, error.what());
    return {{"name", table.name}, {"title", table.title}, {"problem", error.what()}};
  }
}

Tree report_plot(const Plot& plot, const std::string& sweep, ResultSource& results, SweepReport& report) {
  const std::string image = fmt::format("{}_{}.svg", sweep, plot.name);
  try {
    const ShownPlot drawn = plot_of(plot, results);
    add_records(sweep, drawn.records, report.plots);
    report.pictures.emplace_back(image, chart_svg(drawn.chart));
    Tree tree = tree_of(drawn.chart, plot);
    tree["picture"] = Tree(image);
    return tree;
  } catch (const InputError& error) {
    report.problems.push_back(fmt::format("{} cannot be drawn: {}", image, error.what()));
    return {{"name", plot.name}, {"title", plot.title}, {"problem", error.what()}};
  }
}

/// The comment on the file's first line says what it is about.
std::string summary_of(const std::string& file) {
  const std::string first = file.substr(0, file.find('\n'));
  const std::size_t words = first.find_first_not_of("# ");
  return first.starts_with('#') && words != first.npos ? first.substr(words) : "";
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
  ShownPlot drawn{{plot.title, plot.x_title, plot.y_title, plot.bars, plot.stacked, plot.neutral, "", {}}, {}};
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
  Tree page{{"name", name}, {"paper", file.paper}, {"summary", summary_of(file.text)}};
  page["claims"] = report_claims(file, name, *results, report);
  Tree tables = Tree::list(), plots = Tree::list();
  for (const ResultTable& table : file.tables) tables.push(report_table(table, name, *results, report));
  for (const Plot& plot : file.plots) plots.push(report_plot(plot, name, *results, report));
  page["tables"] = std::move(tables);
  page["plots"] = std::move(plots);
  report.pages.push_back(std::move(page));
}

}  // namespace terrace
