// What a field may hold, in words: the same phrase stands in error messages and in the reference.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/fields.h"

namespace terrace {

std::string integer_phrase(Range range);                                 // "a whole number from 1 to 1024"
std::string fraction_phrase(Range millionths);                           // "a decimal from 0 to 1"
std::string list_phrase(Range each);                                     // "a list of whole numbers from 1 to 64"
std::string choice_phrase(std::span<const std::string_view> spellings);  // "one of "l2", "dram""
inline constexpr std::string_view kBoolPhrase = "true or false";
inline constexpr std::string_view kStringPhrase = "text";

/// Millionths as the shortest decimal: 510000 -> "0.51".
std::string fraction_text(Fraction value);

/// Decimal or 0x, with '_' between digits as TOML allows; nothing when it is anything else or too large.
std::optional<u64> parse_integer(std::string_view text);
/// "0.51", "2", ".5": at most six digits after the point.
std::optional<Fraction> parse_fraction(std::string_view text);

}  // namespace terrace
