// SPDX-License-Identifier: MIT
#include "text/suggest.h"

#include <fmt/format.h>

#include <algorithm>

namespace terrace {

namespace {

/// Options and keys that have another name now.
struct Renamed {
  std::string_view before, now;
};
constexpr Renamed kRenamed[] = {{"epochs", "stats_every"}, {"series", "stats_every"}, {"--slots", "--tenants"}};

}  // namespace

u32 edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table of distances between prefixes: a swap looks two rows back.
  std::vector<u32> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (u32 j = 0; j <= b.size(); ++j) above[j] = j;
  for (u32 i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (u32 j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string nearest(std::string_view given, std::span<const std::string> known) {
  for (const Renamed& each : kRenamed)
    if (given == each.before && std::ranges::find(known, each.now) != known.end()) return std::string(each.now);
  std::string best;
  u32 best_distance = ~u32{0};
  for (const std::string& name : known) {
    const u32 distance = edit_distance(given, name);
    const auto tolerated = static_cast<u32>(std::max(given.size(), name.size()) + 2) / 3;
    if (distance <= tolerated && distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view given, std::span<const std::string> known) {
  const std::string best = nearest(given, known);
  return best.empty() ? "" : fmt::format("; did you mean \"{}\"?", best);
}

}  // namespace terrace
