// Every statistic that there is, whatever machine, design, policy or option brings it.
// SPDX-License-Identifier: MIT
#pragma once

#include "text/table.h"

namespace terrace {

/// One row each, without markup: name, unit, shape, a machine, design or option that has it (empty: the default machine), meaning.
TextTable stats_listing();

}  // namespace terrace
