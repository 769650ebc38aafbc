// Samples of what waits for translation, every run.sample cycles: how many walks are in service, and how many warps of an
// SM wait for each page that its L1 TLB misses. Looking changes nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "gpu/controller.h"
#include "sm/sm.h"
#include "stats/stat_fields.h"
#include "translation/mmu.h"

namespace terrace {

struct SampleStats {
  Counter samples;
  PerTenant<Counter> walks, misses, stalled;
  Histogram concurrent_walks{0}, stalled_warps{0};
  void describe(StatFields& v) {
    v("samples", samples, "samples", "samples taken");
    v("walks", walks, "walks", "page walks in service, summed over samples");
    v("misses", misses, "pages", "pages that L1 TLBs wait for, summed over samples");
    v("stalled", stalled, "warps", "warps that wait for those pages, summed");
    v("concurrent_walks", concurrent_walks, "walks", "page walks in service, of all tenants, in each sample");
    v("stalled_warps", stalled_warps, "warps", "warps of an SM that wait for a page, for each page in each sample");
    v.ratio("mean_walks", sum(walks), sum(samples), "page walks in service");
    v.ratio("mean_stalled_warps", sum(stalled), sum(misses), "warps of an SM that wait for one page");
  }
};

class Samples final : public Controller {
 public:
  Samples(Cycle every, const std::vector<std::unique_ptr<Sm>>& sms, const std::vector<std::unique_ptr<Mmu>>& mmus)
      : every_(every), sms_(sms), mmus_(mmus) {}

  Cycle next(Cycle now) const override { return (now / every_ + 1) * every_; }
  void act(Cycle now) override;
  void describe(StatTree& tree) override;

 private:
  const Cycle every_;
  const std::vector<std::unique_ptr<Sm>>& sms_;
  const std::vector<std::unique_ptr<Mmu>>& mmus_;
  Cycle last_ = 0;
  SampleStats stats_;
};

}  // namespace terrace
