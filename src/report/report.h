// A store for other programs and for people: tables as CSV, everything as JSON, each sweep's claims computed and its
// plots drawn as its file describes them.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "store/store.h"
#include "sweep/expression.h"

namespace terrace {

/// A job has thousands of statistics, most of them a unit's. Those of more jobs than this are written on request only: a
/// thousand jobs make more than a gigabyte of text, which the store holds in a tenth.
inline constexpr u64 kMostJobsWithStats = 100;

/// Writes into the folder `out` and returns what it wrote, for a person. `stats`: of however many jobs.
std::string write_report(const std::string& store_path, const std::string& out, bool stats);

/// The points of a stored sweep, for expressions.
std::unique_ptr<ResultSource> stored_results(Store& store, const std::string& sweep);

}  // namespace terrace
