// SPDX-License-Identifier: MIT
#include "report/report.h"

#include <filesystem>
#include <system_error>

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
  return said + write_site(store, report.pages, options.board, folder);
}

}  // namespace terrace
