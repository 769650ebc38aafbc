// Samples of what waits for translation, every run.sample cycles: how many walks are in service, how many warps of an SM
// wait for each page that its L1 TLB misses, how often the L2 TLB was looked up since the last sample, and how many pages
// have lines in a virtual L2. Looking changes nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "engine/archive.h"
#include "gpu/controller.h"
#include "sm/sm.h"
#include "stats/stat_fields.h"
#include "translation/fbt.h"
#include "translation/l2_tlb.h"
#include "translation/mmu.h"

namespace terrace {

struct SampleStats {
  Counter samples;
  PerTenant<Counter> walks, misses, stalled;
  Histogram concurrent_walks{0}, stalled_warps{0};
  // Extremes as counters that only grow: the fewest walks are all walkers less those that were idle at most.
  Counter most_walks, most_idle_walkers, most_stalled, most_unstalled;
  Counter lookups, squared_lookups, most_lookups, busy, cached_pages, most_cached_pages;
  void describe(StatFields& v) {
    v("samples", samples, "samples", "samples taken");
    v("walks", walks, "walks", "page walks in service, summed over samples");
    v("misses", misses, "pages", "pages that L1 TLBs wait for, summed over samples");
    v("stalled", stalled, "warps", "warps that wait for those pages, summed");
    v("concurrent_walks", concurrent_walks, "walks", "page walks in service, of all tenants, in each sample");
    v("stalled_warps", stalled_warps, "warps", "warps of an SM that wait for a page, for each page in each sample");
    v("most_walks", most_walks, "walks", "page walks in service; the maximum of all samples");
    v("most_idle_walkers", most_idle_walkers, "walkers", "idle walkers; the maximum of all samples");
    v("most_stalled", most_stalled, "warps", "warps of an SM that wait for one page; the maximum of all samples");
    v("most_unstalled", most_unstalled, "warps",
      "warps that an SM has room for, less those that wait for one page; the maximum of all samples");
    v("lookups", lookups, "pages", "look-ups in the L2 TLB, summed over samples");
    v("squared_lookups", squared_lookups, "pages", "square of the look-ups of each sample, summed");
    v("most_lookups", most_lookups, "pages", "look-ups of a sample; the maximum of all samples");
    v("busy", busy, "samples", "samples with more than one look-up per cycle");
    v("cached_pages", cached_pages, "pages", "pages with lines in a virtual L2, summed over samples");
    v("most_cached_pages", most_cached_pages, "pages", "such pages; the maximum of all samples");
    v.ratio("mean_lookups", sum(lookups), sum(samples), "look-ups in the L2 TLB per sample");
    v.ratio("mean_cached_pages", sum(cached_pages), sum(samples), "pages with lines in a virtual L2");
    v.ratio("mean_walks", sum(walks), sum(samples), "page walks in service");
    v.ratio("mean_stalled_warps", sum(stalled), sum(misses), "warps of an SM that wait for one page");
  }
};

class Samples final : public Controller {
 public:
  /// There is no L2 TLB on an ideal machine, and a table only behind a virtual L2.
  Samples(Cycle every, const std::vector<std::unique_ptr<Sm>>& sms, const std::vector<std::unique_ptr<Mmu>>& mmus,
          u32 warps, const L2Tlb* tlb, const Fbt* fbt)
      : every_(every), sms_(sms), mmus_(mmus), warps_(warps), tlb_(tlb), fbt_(fbt) {}

  Cycle next(Cycle now) const override { return (now / every_ + 1) * every_; }
  void act(Cycle now) override;
  void archive(Archive& a) override { a(last_, seen_lookups_); }
  void describe(StatTree& tree) override;

 private:
  void count_lookups();
  void count_cached_pages();

  const Cycle every_;
  const std::vector<std::unique_ptr<Sm>>& sms_;
  const std::vector<std::unique_ptr<Mmu>>& mmus_;
  const u32 warps_;  // of an SM
  const L2Tlb* tlb_;
  const Fbt* fbt_;
  Cycle last_ = 0;
  u64 seen_lookups_ = 0;
  SampleStats stats_;
};

}  // namespace terrace
