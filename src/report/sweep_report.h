// What a stored sweep's file asks for: its claims computed, its tables filled, its plots drawn. The same numbers go to
// people (text, pages, SVG) and to other programs (records, for CSV and JSON).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "report/plot.h"
#include "store/database.h"
#include "store/store.h"
#include "sweep/expression.h"
#include "sweep/sweep_file.h"
#include "text/table.h"

namespace terrace {

/// Rows for other programs.
struct Records {
  std::vector<std::string> header;
  std::vector<std::vector<Cell>> rows = {};
};

struct SweepReport {
  // half_width and seeds are empty where one seed was run; within_noise also where no value means no difference.
  Records claims{{"sweep", "claim", "value", "problem", "expression", "half_width", "seeds", "within_noise"}};
  Records tables{{"sweep", "table", "row", "column", "value", "half_width", "seeds", "within_noise"}};
  Records plots{{"sweep", "plot", "panel", "series", "x", "value", "half_width", "seeds", "within_noise"}};
  std::vector<Tree> pages;                                    // what each sweep's page shows (site/site.h)
  std::string text;                                           // the tables, for a terminal
  std::vector<std::pair<std::string, std::string>> pictures;  // names of files with what they hold
  std::vector<std::string> problems;                          // plots that could not be drawn, with the reason
};

/// Adds a sweep to the report.
void report_sweep(Store& store, const std::string& name, SweepReport& report);

/// A table as it is shown.
struct ShownTable {
  TextTable text;
  std::vector<std::vector<bool>> muted;  // cells of rows that are within noise
  std::vector<std::string> notes;        // what the signs in it mean, a sentence each
  std::vector<std::vector<Cell>> records;
};
struct ShownPlot {
  Chart chart;
  std::vector<std::vector<Cell>> records;
};

/// What cannot be shown is an InputError.
ShownTable table_of(const ResultTable& table, ResultSource& results);
ShownPlot plot_of(const Plot& plot, ResultSource& results);

}  // namespace terrace
