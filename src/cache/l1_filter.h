// Which pages a virtual L1 holds lines of, and how many: the invalidation filter of GPU virtual caching (ASPLOS'18 §4.2). When
// a page goes, an L1 without lines of it is left alone.
// SPDX-License-Identifier: MIT
#pragma once

#include <unordered_map>

#include "engine/archive.h"
#include "engine/types.h"
#include "stats/stat_fields.h"

namespace terrace {

struct L1FilterStats {
  Counter checks, matches, overflows, denied;
  void describe(StatFields& v) {
    v("checks", checks, "times", "invalidations of a page that reached the filter");
    v("matches", matches, "times", "of those, pages that had lines in this L1 or on their way to it: it was emptied");
    v("overflows", overflows, "times", "times the L1 was emptied because the filter had no entry for a page");
    v("denied", denied, "lines",
      "stores and atomics that found a line of a page without write permission: the forward-backward table is asked");
  }
};

class L1Filter {
 public:
  explicit L1Filter(u32 entries) : entries_(entries) {}

  /// A line of the page comes. False if there is no entry for it: then nothing changes.
  bool add(u64 page) {
    if (const auto its = lines_.find(page); its != lines_.end()) return ++its->second, true;
    if (lines_.size() == entries_) return false;
    lines_.emplace(page, 1);
    return true;
  }
  void remove(u64 page) {
    const auto its = lines_.find(page);
    if (--its->second == 0) lines_.erase(its);
  }
  bool holds(u64 page) const { return lines_.contains(page); }
  void clear() { lines_.clear(); }
  void archive(Archive& a) { a(lines_); }

  L1FilterStats stats;

 private:
  const u32 entries_;
  std::unordered_map<u64, u32> lines_;  // by page; never iterated
};

}  // namespace terrace
