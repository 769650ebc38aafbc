// SPDX-License-Identifier: MIT
#include "stats/epochs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace terrace {

EpochSeries::EpochSeries(const StatTree& tree, std::vector<std::string> prefixes) : tree_(tree) {
  for (const StatCell& cell : flat_cells(tree, tree.snapshot(), true)) {
    const auto begins = [&](const std::string& prefix) { return cell.name.starts_with(prefix); };
    if (!prefixes.empty() && std::none_of(prefixes.begin(), prefixes.end(), begins)) continue;
    names_.push_back(cell.name);
    columns_.push_back(cell.index);
    last_.push_back(cell.value);
  }
}

void EpochSeries::sample(Cycle now) {
  const StatSnapshot values = tree_.snapshot();
  ends_.push_back(now);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const u64 value = values[columns_[i]];
    records_.push_back(value - last_[i]);
    last_[i] = value;
  }
}

std::string EpochSeries::csv() const {
  std::string text = "cycle";
  // A name with two labels would hold a comma; quoted, it stays one column for any reader of CSV.
  for (const std::string& name : names_) text += ",\"" + name + "\"";
  text += "\n";
  for (std::size_t epoch = 0; epoch < ends_.size(); ++epoch) {
    fmt::format_to(std::back_inserter(text), "{}", ends_[epoch]);
    for (std::size_t i = 0; i < names_.size(); ++i)
      fmt::format_to(std::back_inserter(text), ",{}", records_[epoch * names_.size() + i]);
    text += "\n";
  }
  return text;
}

}  // namespace terrace
