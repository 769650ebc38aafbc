// What a user may have meant by a name that does not exist.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types.h"

namespace terrace {

/// How many letters must be added, removed, changed or swapped with their neighbour to make one word of the other.
u32 edit_distance(std::string_view a, std::string_view b);

/// The nearest of the known names, or "" when none is near: at most one mistake in three letters. A name from before a
/// renaming is nearest to what it became.
std::string nearest(std::string_view given, std::span<const std::string> known);

/// `; did you mean "steal_after"?`, or "" when nothing is near: to end a sentence with.
std::string did_you_mean(std::string_view given, std::span<const std::string> known);

}  // namespace terrace
