// Names of units and of their statistics, such as sm.3 and gpu.sm.3.l1.hits: parts between dots, some of which are numbers.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace terrace {

/// Whether a part of a name is a number: nothing but digits.
bool is_number(std::string_view part);

/// The name with "*" for each number: units that differ in a number alone have the same. A label, {tenant=1}, stays as it is.
std::string over_all_units(std::string_view name);

/// "dispatcher, sm.0 to sm.29, dram.0": of names that differ in a number alone, the first and the last.
std::string in_ranges(std::span<const std::string> names);

}  // namespace terrace
