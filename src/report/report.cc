// SPDX-License-Identifier: MIT
#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "claims/board_text.h"
#include "engine/check.h"
#include "report/exports.h"
#include "report/site/site.h"
#include "report/sweep_report.h"
#include "text/output.h"

namespace terrace {

namespace fs = std::filesystem;

std::string write_report(const ReportOptions& options) {
  Store store = Store::existing(options.store);
  const fs::path folder(options.out);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) input_error("{}: cannot be created: {}", options.out, error.message());
  SweepReport report;
  for (const std::string& sweep : store.sweeps()) report_sweep(store, sweep, report);
  std::string said = report.text + write_exports(store, report, folder, options.stats);
  for (const auto& [name, svg] : report.pictures) {
    write_whole((folder / name).string(), svg);
    said += (folder / name).string() + "\n";
  }
  for (const std::string& problem : report.problems) said += problem + "\n";
  for (const std::string& sweep : store.sweeps()) {
    std::vector<BoardRow> rows;
    std::copy_if(options.board.begin(), options.board.end(), std::back_inserter(rows),
                 [&](const BoardRow& row) { return row.sweep == sweep; });
    if (rows.empty()) continue;
    const fs::path page = folder / fmt::format("board_{}.md", sweep),
                   json = folder / fmt::format("board_{}.json", sweep);
    write_whole(page.string(), board_markdown(rows, fmt::format("Sweep {} of {}.", sweep, options.store)));
    write_whole(json.string(), board_json(rows));
    said += fmt::format("{}\n{}\n", page.string(), json.string());
  }
  return said + write_site(store, report.pages, options.board, options.papers, folder);
}

}  // namespace terrace
