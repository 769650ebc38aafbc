// A store for other programs: its tables as CSV, and everything as one JSON file.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

#include "report/sweep_report.h"
#include "store/store.h"

namespace terrace {

/// Returns what it wrote, for a person. `stats`: of however many jobs.
std::string write_exports(Store& store, const SweepReport& report, const std::filesystem::path& folder, bool stats);

}  // namespace terrace
