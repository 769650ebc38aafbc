// The timeline of a run as trace events in JSON, which Perfetto and speedscope open. One microsecond there is one cycle
// here, and every time is a whole number.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "gpu/timeline.h"

namespace terrace {

/// `tenants`: their names.
std::string timeline_json(const TimelineRecords& records, const std::vector<std::string>& tenants);

}  // namespace terrace
