// What `terrace list workloads` shows: purpose, origin, footprints, parameters.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace terrace {

std::string workloads_text(bool markdown);

}  // namespace terrace
