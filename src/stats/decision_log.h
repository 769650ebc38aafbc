// What the decision log says when an SM partitioner has stopped searching. Verdicts of claims are looked up by it.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace terrace {

inline constexpr std::string_view kSearchEnded = "the search has ended";

}  // namespace terrace
