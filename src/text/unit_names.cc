// SPDX-License-Identifier: MIT
#include "text/unit_names.h"

#include <algorithm>
#include <vector>

namespace terrace {

bool is_number(std::string_view part) {
  return !part.empty() && part.find_first_not_of("0123456789") == part.npos;
}

std::string over_all_units(std::string_view name) {
  const std::size_t label = std::min(name.find('{'), name.size());
  std::string all;
  for (std::size_t at = 0; at < label;) {
    const std::size_t end = std::min(name.find('.', at), label);
    const std::string_view part = name.substr(at, end - at);
    all += is_number(part) ? "*" : part;
    if (end < label) all += '.';
    at = end + 1;
  }
  return all.append(name.substr(label));
}

std::string in_ranges(std::span<const std::string> names) {
  struct Kind {
    std::string all, first, last;
  };
  std::vector<Kind> kinds;
  for (const std::string& name : names) {
    const std::string all = over_all_units(name);
    const auto known = std::ranges::find(kinds, all, &Kind::all);
    if (known == kinds.end())
      kinds.push_back({all, name, name});
    else
      known->last = name;
  }
  std::string text;
  for (const auto& [all, first, last] : kinds)
    text += (text.empty() ? "" : ", ") + first + (first == last ? "" : " to " + last);
  return text;
}

}  // namespace terrace
