// SPDX-License-Identifier: MIT
#include "sweep/oracle_search.h"

#include <map>

#include "engine/check.h"
#include "engine/even_share.h"

namespace terrace {

namespace {

class Search {
 public:
  Search(u32 sms, u32 tenants, const std::function<SplitScore(const std::vector<u64>&)>& score) : score_(score) {
    SIM_CHECK(tenants >= 2 && sms >= tenants, "{} tenants cannot share {} SMs", tenants, sms);
    found_.best = even_counts(sms, tenants);
  }

  SplitSearch run() {
    bool gained = true;
    while (gained) {
      gained = false;
      for (u32 first = 0; first + 1 < found_.best.size(); ++first) {
        for (u32 second = first + 1; second < found_.best.size(); ++second) {
          const std::optional<bool> better = try_line(first, second);
          if (!better) return result(false);
          gained |= *better;
        }
      }
      // One line holds every split of two tenants.
      if (found_.best.size() == 2) gained = false;
    }
    return result(true);
  }

 private:
  SplitSearch result(bool finished) {
    found_.finished = finished;
    found_.tried = known_.size();
    return found_;
  }

  /// Whether a split of what the two have together is better than the present one; nothing while some are being tried.
  std::optional<bool> try_line(u32 first, u32 second) {
    const u64 together = found_.best[first] + found_.best[second];
    std::vector<std::vector<u64>> line;
    bool settled = true;
    for (u64 share = 1; share < together; ++share) {
      line.push_back(found_.best);
      line.back()[first] = share;
      line.back()[second] = together - share;
      settled &= score(line.back()).settled;
    }
    if (!settled) return std::nullopt;
    bool better = false;
    found_.value = score(found_.best).value;
    for (const std::vector<u64>& split : line) {
      const std::optional<double> value = score(split).value;
      if (!value || (found_.value && !(*value > *found_.value))) continue;
      found_.best = split;
      found_.value = value;
      better = true;
    }
    return better;
  }

  const SplitScore& score(const std::vector<u64>& split) {
    const auto found = known_.find(split);
    return found != known_.end() ? found->second : known_.emplace(split, score_(split)).first->second;
  }

  const std::function<SplitScore(const std::vector<u64>&)>& score_;
  std::map<std::vector<u64>, SplitScore> known_;
  SplitSearch found_;
};

}  // namespace

SplitSearch search_split(u32 sms, u32 tenants, const std::function<SplitScore(const std::vector<u64>&)>& score) {
  return Search(sms, tenants, score).run();
}

}  // namespace terrace
