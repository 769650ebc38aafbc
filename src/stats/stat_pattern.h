// Patterns of statistics' names, as identities and sweep files write them: "l2.*.hits".
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace terrace {

/// Whether a pattern names this statistic, or this cell of one ("gpu.l2.3.hits{tenant=1}"). A star stands for exactly
/// one part between dots. A pattern without braces names a counter with all its tenants, but not the buckets of a
/// histogram; one with braces names the cell with exactly that label, and "{from<4096}" all buckets of a histogram that begin
/// below that.
bool names_stat(std::string_view pattern, std::string_view name);

}  // namespace terrace
