// SPDX-License-Identifier: MIT
#include "stats/summed_series.h"

#include <map>

#include "engine/archive.h"
#include "text/unit_names.h"

namespace terrace {

SummedSeries::SummedSeries(const StatTree& tree, Cycle every) : tree_(tree), every_(every), due_(every) {
  std::map<std::string, std::size_t> known;
  for (const StatCell& cell : flat_cells(tree, tree.snapshot(), true)) {
    // Buckets of histograms would be most of all series; their counts and sums are kept.
    if (cell.name.find("{from=") != std::string::npos) continue;
    const auto [found, fresh] = known.try_emplace(over_all_units(cell.name), names_.size());
    if (fresh) {
      names_.push_back(found->first);
      last_.push_back(0);
    }
    cells_.push_back(cell.index);
    series_.push_back(found->second);
    last_[found->second] += cell.value;
  }
}

void SummedSeries::sample(Cycle now) {
  if (!ends_.empty() && ends_.back() == now) return;
  if (ends_.size() == kMostIntervals) halve();
  const StatSnapshot values = tree_.snapshot();
  std::vector<u64> sums(names_.size());
  for (std::size_t i = 0; i < cells_.size(); ++i) sums[series_[i]] += values[cells_[i]];
  ends_.push_back(now);
  for (std::size_t i = 0; i < sums.size(); ++i) records_.push_back(sums[i] - last_[i]);
  last_ = std::move(sums);
  due_ = (now / every_ + 1) * every_;
}

void SummedSeries::archive(Archive& a) {
  a.expect(cells_.size(), "the number of statistics that are kept over time");
  a(every_, due_, last_, ends_, records_);
}

void SummedSeries::halve() {
  const std::size_t width = names_.size(), half = ends_.size() / 2;
  for (std::size_t interval = 0; interval < half; ++interval) {
    ends_[interval] = ends_[2 * interval + 1];
    for (std::size_t i = 0; i < width; ++i)
      records_[interval * width + i] = records_[2 * interval * width + i] + records_[(2 * interval + 1) * width + i];
  }
  ends_.resize(half);
  records_.resize(half * width);
  every_ *= 2;
}

Tree SummedSeries::json() const {
  Tree::List ends(ends_.begin(), ends_.end());
  Tree series = Tree::table();
  for (std::size_t i = 0; i < names_.size(); ++i) {
    Tree::List values;
    bool any = false;
    for (std::size_t interval = 0; interval < ends_.size(); ++interval) {
      values.emplace_back(records_[interval * names_.size() + i]);
      any |= records_[interval * names_.size() + i] != 0;
    }
    if (any) series[names_[i]] = Tree(std::move(values));
  }
  return {{"every", every_}, {"ends", Tree(std::move(ends))}, {"series", std::move(series)}};
}

}  // namespace terrace
