// A store for people and for other programs: pages with charts, tables as CSV, everything as JSON, each sweep's claims
// computed and its plots drawn as its file describes them.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "report/site/board.h"
#include "store/store.h"
#include "sweep/expression.h"

namespace terrace {

/// A job has thousands of statistics, most of them a unit's. Those of more jobs than this are written on request only: they
/// would make a report larger than 20 MB, and the store holds them in a tenth of that.
inline constexpr u64 kMostJobsWithStats = 10;

struct ReportOptions {
  std::string store, out;            // a file and a folder
  bool stats = false;                // those of however many jobs
  std::vector<BoardRow> board = {};  // claims of papers with their verdicts, when there are some
  std::vector<PaperTitle> papers = {};
};

/// Returns what it wrote, for a person.
std::string write_report(const ReportOptions& options);

/// The points of a stored sweep, for expressions.
std::unique_ptr<ResultSource> stored_results(Store& store, const std::string& sweep);

}  // namespace terrace
