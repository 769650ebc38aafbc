// Which names lead for the synonyms that an SM has met: dynamic synonym remapping, an option of GPU virtual caching (ASPLOS'18
// §4.3). A load through a name that is known here looks for the leading one in L1 and L2, instead of missing in both and
// being replayed by the forward-backward table each time. Only names under which kernels may not write are learnt: a store
// goes by its own name, so that read-write synonyms are still found out, and no load may overtake it.
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/tag_array.h"
#include "stats/stat_fields.h"
#include "wire/line_key.h"

namespace terrace {

struct L1SynonymStats {
  PerTenant<Counter> learnt, remapped;
  void describe(StatFields& v) {
    v("learnt", learnt, "pages", "synonyms that were replayed, and whose leading page is known from then on");
    v("remapped", remapped, "lines", "line loads that looked for the leading name at once");
  }
};

class L1Synonyms {
 public:
  /// Without entries it knows nothing.
  L1Synonyms(u32 entries, u32 lines_per_page_shift) : page_shift_(lines_per_page_shift) {
    if (entries > 0) pages_ = TagArray<u64>({.entries = entries, .ways = entries});
  }
  bool on() const { return pages_.entries() > 0; }

  /// The name that a load of this line looks for.
  LineKey leading(LineKey line) const {
    const i32 entry = pages_.find(line.raw() >> page_shift_);
    if (entry < 0) return line;
    const u64 in_page = line.raw() & ((u64{1} << page_shift_) - 1);
    return LineKey::from_raw(pages_.meta(static_cast<u32>(entry)) << page_shift_ | in_page);
  }
  void learn(LineKey line, LineKey leading, TenantId tenant) {
    ++stats.learnt[tenant];
    const u64 page = line.raw() >> page_shift_;
    const i32 known = pages_.find(page);
    const u32 entry = known >= 0 ? static_cast<u32>(known) : pages_.victim(page);
    pages_.fill(entry, page) = leading.raw() >> page_shift_;
  }
  /// A page leads no more.
  void drop(LineKey first_line) {
    for (u32 entry = 0; entry < pages_.entries(); ++entry) {
      if (pages_.valid(entry) && pages_.meta(entry) == first_line.raw() >> page_shift_) pages_.invalidate(entry);
    }
  }
  /// Mappings may have changed.
  void clear() { pages_.clear(); }
  void archive(Archive& a) { a(pages_); }

  L1SynonymStats stats;

 private:
  TagArray<u64> pages_;  // leading pages, by page
  u32 page_shift_;
};

}  // namespace terrace
