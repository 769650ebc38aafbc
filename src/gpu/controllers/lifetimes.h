// How long entries of TLBs and lines of caches live (ASPLOS'18, Figure 12): from when they come until they go, and until they are
// used last. Only when run.lifetimes is on; an entry that is still there when the run ends is not counted. Looking changes
// nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "cache/l2_slice.h"
#include "engine/scheduler.h"
#include "engine/tag_array.h"
#include "gpu/controller.h"
#include "sm/sm.h"
#include "stats/stat_tree.h"

namespace terrace {

struct LifetimeStats {
  // Buckets of 64 cycles up to 2,048, then doubling: about 0.1 us and 3 us at the clocks of the machines here.
  Histogram residence{6}, use{6};
  Counter entries, residence_cycles, use_cycles;
  void describe(StatFields& v) {
    v("entries", entries, "entries", "entries that left");
    v("residence", residence, "cycles", "from when an entry came until it left");
    v("use", use, "cycles", "from when an entry came until it was used last");
    v("residence_cycles", residence_cycles, "cycles", "from when entries came until they left, summed");
    v("use_cycles", use_cycles, "cycles", "from when entries came until they were used last, summed");
    v.ratio("mean_residence", sum(residence_cycles), sum(entries), "cycles from when an entry came until it left");
    v.ratio("mean_use", sum(use_cycles), sum(entries), "cycles from when an entry came until it was used last");
  }
};

class Lifetimes final : public Controller {
 public:
  Lifetimes(const Scheduler& clock, const std::vector<std::unique_ptr<Sm>>& sms,
            const std::vector<std::unique_ptr<L2Slice>>& slices, bool sms_translate) {
    for (const auto& sm : sms) {
      if (sms_translate) sm->load_store().translator().observe(add(clock, l1_tlb_));
      sm->load_store().observe_l1(add(clock, l1_));
    }
    for (const auto& slice : slices) slice->observe(add(clock, l2_));
    has_tlbs_ = sms_translate;
  }
  Cycle next(Cycle) const override { return kNever; }
  void act(Cycle) override {}
  void describe(StatTree& stats) override {
    if (has_tlbs_) stats.add("gpu.lifetimes.l1_tlb", l1_tlb_);
    stats.add("gpu.lifetimes.l1", l1_);
    stats.add("gpu.lifetimes.l2", l2_);
  }

 private:
  /// Of one TLB or cache.
  class Book final : public TagObserver {
   public:
    Book(const Scheduler& clock, LifetimeStats& stats) : clock_(clock), stats_(stats) {}
    void filled(u32 entry) override {
      if (entry >= lives_.size()) lives_.resize(entry + 1);
      lives_[entry] = {clock_.now(), clock_.now()};
    }
    void used(u32 entry) override { lives_[entry].used = clock_.now(); }
    void gone(u32 entry) override {
      const Cycle residence = clock_.now() - lives_[entry].came, use = lives_[entry].used - lives_[entry].came;
      ++stats_.entries;
      stats_.residence.add(residence);
      stats_.use.add(use);
      stats_.residence_cycles += residence;
      stats_.use_cycles += use;
    }

   private:
    struct Life {
      Cycle came = 0, used = 0;
    };
    const Scheduler& clock_;
    LifetimeStats& stats_;
    std::vector<Life> lives_;  // by entry
  };

  TagObserver* add(const Scheduler& clock, LifetimeStats& stats) {
    books_.push_back(std::make_unique<Book>(clock, stats));
    return books_.back().get();
  }

  LifetimeStats l1_tlb_, l1_, l2_;
  std::vector<std::unique_ptr<Book>> books_;
  bool has_tlbs_ = false;
};

}  // namespace terrace
