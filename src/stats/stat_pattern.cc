// SPDX-License-Identifier: MIT
#include "stats/stat_pattern.h"

#include <charconv>
#include <optional>

#include "engine/types.h"

namespace terrace {

namespace {

constexpr std::string_view kBelow = "{from<", kFrom = "{from=";

std::optional<u64> number_in(std::string_view label) {
  u64 number = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), number);
  const bool whole = error == std::errc() && std::string_view(end, label.data() + label.size()) == "}";
  return whole ? std::optional(number) : std::nullopt;
}

}  // namespace

bool names_stat(std::string_view pattern, std::string_view name) {
  if (const std::size_t below = pattern.find(kBelow), from = name.find(kFrom); below != pattern.npos) {
    if (from == name.npos) return false;
    const std::optional<u64> limit = number_in(pattern.substr(below + kBelow.size()));
    const std::optional<u64> bucket = number_in(name.substr(from + kFrom.size()));
    if (!limit || !bucket || *bucket >= *limit) return false;
    pattern = pattern.substr(0, below);
    name = name.substr(0, from);
  }
  if (pattern.find('{') == pattern.npos) {
    const std::size_t brace = name.find('{');
    if (brace != name.npos && !name.substr(brace).starts_with("{tenant=")) return false;
    name = name.substr(0, brace);
  }
  while (true) {
    const std::size_t p = pattern.find('.'), n = name.find('.');
    const std::string_view part = pattern.substr(0, p);
    if (part != "*" && part != name.substr(0, n)) return false;
    if (p == pattern.npos || n == name.npos) return p == n;
    pattern.remove_prefix(p + 1);
    name.remove_prefix(n + 1);
  }
}

}  // namespace terrace
