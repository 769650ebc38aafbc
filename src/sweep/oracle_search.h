// The best way to share SMs between tenants, by trying: every split of two tenants; beyond two, coordinate descent: two
// tenants at a time try every split of what they have together, the others keep theirs, and rounds over all pairs go on
// until none gains. The search never waits: it is asked again when more is known, and does the same steps again.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/types.h"

namespace terrace {

/// What is known about one split.
struct SplitScore {
  bool settled = false;         // false: it is being tried, ask again
  std::optional<double> value;  // higher is better; none: the run failed
};

struct SplitSearch {
  bool finished = false;
  std::vector<u64> best;
  std::optional<double> value;
  u64 tried = 0;
};

/// `score` is called for every split that must be tried next, once each; splits of one line can run at the same time.
SplitSearch search_split(u32 sms, u32 tenants, const std::function<SplitScore(const std::vector<u64>&)>& score);

}  // namespace terrace
