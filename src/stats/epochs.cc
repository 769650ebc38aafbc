// SPDX-License-Identifier: MIT
#include "stats/epochs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/archive.h"

namespace terrace {

namespace {

u64 total(const StatSnapshot& values, const std::vector<std::size_t>& cells) {
  u64 sum = 0;
  for (const std::size_t cell : cells) sum += values[cell];
  return sum;
}

}  // namespace

EpochSeries::EpochSeries(const StatTree& tree, std::vector<std::string> prefixes) : tree_(tree) {
  const auto wanted = [&](const std::string& name) {
    const auto begins = [&](const std::string& prefix) { return name.starts_with(prefix); };
    return prefixes.empty() || std::any_of(prefixes.begin(), prefixes.end(), begins);
  };
  for (StatRatio& ratio : tree.derived_ratios())
    if (wanted(ratio.name)) ratios_.push_back({std::move(ratio)});
  for (const StatCell& cell : flat_cells(tree, tree.snapshot(), true)) {
    if (!wanted(cell.name)) continue;
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
  for (Ratio& ratio : ratios_) {
    const u64 above = total(values, ratio.of.numerator), below = total(values, ratio.of.denominator);
    ratio.records.push_back(static_cast<double>(above - ratio.above) / static_cast<double>(below - ratio.below));
    ratio.above = above;
    ratio.below = below;
  }
}

void EpochSeries::archive(Archive& a) {
  a.expect(columns_.size(), "the number of statistics that are sampled");
  a(last_, ends_, records_);
  for (Ratio& ratio : ratios_) a(ratio.above, ratio.below, ratio.records);
}

std::string EpochSeries::csv(const Notes& notes) const {
  std::string text = "cycle";
  // A name with two labels would hold a comma; quoted, it stays one column for any reader of CSV.
  for (const std::string& name : names_) text += ",\"" + name + "\"";
  for (const Ratio& ratio : ratios_) text += ",\"" + ratio.of.name + "\"";
  text += notes ? ",decisions\n" : "\n";
  for (std::size_t epoch = 0; epoch < ends_.size(); ++epoch) {
    fmt::format_to(std::back_inserter(text), "{}", ends_[epoch]);
    for (std::size_t i = 0; i < names_.size(); ++i)
      fmt::format_to(std::back_inserter(text), ",{}", records_[epoch * names_.size() + i]);
    for (const Ratio& ratio : ratios_) fmt::format_to(std::back_inserter(text), ",{:.3f}", ratio.records[epoch]);
    if (notes) text += ",\"" + notes(epoch == 0 ? 0 : ends_[epoch - 1], ends_[epoch]) + "\"";
    text += "\n";
  }
  return text;
}

}  // namespace terrace
