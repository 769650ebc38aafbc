// The input that both Floyd-Warshalls start from.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "engine/types.h"

namespace terrace {

inline constexpr i32 kNoEdge = 999'999;  // the original's

/// dim x dim distances: each pair has an edge with a chance of one in four, of weight 0 to 100; a vertex is at distance 0
/// from itself.
std::vector<i32> draw_distances(u32 dim, u64 seed);

}  // namespace terrace
