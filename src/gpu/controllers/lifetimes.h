// How long entries of TLBs and lines of caches live (ASPLOS'18, Figure 12): from when they come until they go, and until they are
// used last. Only when run.lifetimes is on. An entry that is still there when the run ends has no lifetime yet; all that is
// known is whether it is older than the 5 us of that figure. Looking changes nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "cache/l2_slice.h"
#include "engine/archive.h"
#include "engine/out_of_line.h"
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
  Counter left_by_5us, older_than_5us, used_after_5us;
  void describe(StatFields& v) {
    v("entries", entries, "entries", "entries that left");
    v("residence", residence, "cycles", "from when an entry came until it left");
    v("use", use, "cycles", "from when an entry came until it was used last");
    v("residence_cycles", residence_cycles, "cycles", "from when entries came until they left, summed");
    v("use_cycles", use_cycles, "cycles", "from when entries came until they were used last, summed");
    v("left_by_5us", left_by_5us, "entries", "entries that left 5 us after they came, or earlier");
    v("older_than_5us", older_than_5us, "entries", "entries that stayed for longer, whether or not they have left");
    v("used_after_5us", used_after_5us, "entries", "of these, entries that were used more than 5 us after they came");
    v.ratio("mean_residence", sum(residence_cycles), sum(entries), "cycles from when an entry came until it left");
    v.ratio("mean_use", sum(use_cycles), sum(entries), "cycles from when an entry came until it was used last");
  }
};

class Lifetimes final : public Controller {
 public:
  Lifetimes(const Scheduler& clock, u32 core_mhz, const std::vector<std::unique_ptr<Sm>>& sms,
            const std::vector<std::unique_ptr<L2Slice>>& slices, bool sms_translate)
      : five_us_(Cycle{5} * core_mhz) {
    for (const auto& sm : sms) {
      if (sms_translate) sm->load_store().translator().observe(add(clock, l1_tlb_));
      sm->load_store().observe_l1(add(clock, l1_));
    }
    for (const auto& slice : slices) slice->observe(add(clock, l2_));
    has_tlbs_ = sms_translate;
  }
  Cycle next(Cycle) const override { return kNever; }
  void act(Cycle) override {}
  void archive(Archive& a) override {
    for (const auto& book : books_) a(*book);
  }
  void describe(StatTree& stats) override {
    if (has_tlbs_) stats.add("gpu.lifetimes.l1_tlb", l1_tlb_);
    stats.add("gpu.lifetimes.l1", l1_);
    stats.add("gpu.lifetimes.l2", l2_);
  }
  void settle(Cycle now) override {
    for (const auto& book : books_) book->settle(now);
  }

 private:
  /// Of one TLB or cache.
  class Book final : public TagObserver {
   public:
    Book(const Scheduler& clock, Cycle five_us, LifetimeStats& stats)
        : clock_(clock), five_us_(five_us), stats_(stats) {}
    TERRACE_OUT_OF_LINE void filled(u32 entry) override {
      if (entry >= lives_.size()) lives_.resize(entry + 1);
      lives_[entry] = {.came = clock_.now(), .used = clock_.now(), .here = true};
    }
    TERRACE_OUT_OF_LINE void used(u32 entry) override {
      Life& life = lives_[entry];
      const Cycle before = life.used - life.came;
      life.used = clock_.now();
      stats_.used_after_5us += before <= five_us_ && life.used - life.came > five_us_;
    }
    TERRACE_OUT_OF_LINE void gone(u32 entry) override {
      Life& life = lives_[entry];
      const Cycle residence = clock_.now() - life.came, use = life.used - life.came;
      ++stats_.entries;
      stats_.residence.add(residence);
      stats_.use.add(use);
      stats_.residence_cycles += residence;
      stats_.use_cycles += use;
      stats_.left_by_5us += residence <= five_us_;
      note_age(life, clock_.now());
      life.here = false;
    }
    void archive(Archive& a) { a(lives_); }
    void settle(Cycle now) {
      for (Life& life : lives_) {
        if (life.here) note_age(life, now);
      }
    }

   private:
    struct Life {
      Cycle came = 0, used = 0;
      bool here = false, older = false;  // it has been counted as older than 5 us
    };
    void note_age(Life& life, Cycle now) {
      if (life.older || now - life.came <= five_us_) return;
      life.older = true;
      ++stats_.older_than_5us;
    }
    const Scheduler& clock_;
    const Cycle five_us_;
    LifetimeStats& stats_;
    std::vector<Life> lives_;  // by entry
  };

  TagObserver* add(const Scheduler& clock, LifetimeStats& stats) {
    books_.push_back(std::make_unique<Book>(clock, five_us_, stats));
    return books_.back().get();
  }

  const Cycle five_us_;  // in cycles
  LifetimeStats l1_tlb_, l1_, l2_;
  std::vector<std::unique_ptr<Book>> books_;
  bool has_tlbs_ = false;
};

}  // namespace terrace
