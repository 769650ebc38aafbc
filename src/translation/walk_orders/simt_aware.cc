// SIMT-aware order: the walks of one instruction go one after the other (batching), and instructions that need few
// reads go before those that need many (shortest job first), since a warp waits for the last of its pages.
//
// A walk's score is the reads that all waiting walks of its instruction are expected to need, as the walk caches said
// when each arrived. It never falls while any of them waits (SIMT-A3). Batching goes by the instruction whose walk was
// started most recently, whether it waited or not (SIMT-A4). A walk that was passed by `ageing_threshold` younger ones
// goes first (SIMT-A5).
//
// Paper:  Scheduling Page Table Walks for Irregular GPU Applications, ISCA 2018, §IV. Notes: SIMT-A3 to A8.
// Slot:   WalkOrder (translation/walk_order.h).   Overlay: configs/designs/simt_aware.toml
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include "engine/check.h"
#include "translation/walk_order.h"

namespace terrace {
namespace {

class SimtAwareWalkOrder final : public WalkOrder {
 public:
  struct Params {
    u32 score_limit = 256;             // §IV: the score saturates
    u64 ageing_threshold = 2'000'000;  // §IV
    u32 selection_cycles = 4;          // SIMT-A2, chosen
    bool batching = true;
    bool shortest_first = true;
    void describe(Fields& v) {
      v("score_limit", score_limit, in(1, 1 << 20), "upper limit of a score");
      v("ageing_threshold", ageing_threshold, in(1, Range::kHighest),
        "a walk that this many younger walks have overtaken goes first");
      v("selection_cycles", selection_cycles, in(0, 255), "cycles to select a walk for an idle walker");
      v("batching", batching, "serve walks of the same instruction as the last walk first");
      v("shortest_first", shortest_first,
        "then serve the instruction with the lowest score; if false, the oldest walk");
    }
  };

  SimtAwareWalkOrder(const Context& context, Params params)
      : params_(params), walk_cache_(context.walk_cache), walks_(context.entries), groups_(context.entries) {
    for (u32 i = context.entries; i-- > 0;) {
      walks_[i].next = std::exchange(free_walk_, i);
      free_groups_.push_back(i);
    }
    active_.reserve(context.entries);
  }

  void push(Walk walk, Cycle) override {
    const u32 needed = walk_cache_ ? walk_cache_->score(walk) : 1;
    walk.scored = walk_cache_ != nullptr;
    u32 group = find(walk.inst);
    if (group == kNone) group = open(walk.inst);
    Group& its = groups_[group];
    its.score = std::min(its.score + needed, params_.score_limit);
    const u32 place = std::exchange(free_walk_, walks_[free_walk_].next);
    // A walk is passed by younger ones only: those that go later but arrived earlier are the ones that wait now.
    walks_[place] = {walk, kNone, started_ + size_};
    (its.first == kNone ? its.first : walks_[its.last].next) = place;
    its.last = place;
    ++size_;
  }

  Walk pop(Cycle) override {
    const u32 group = choose();
    Group& its = groups_[group];
    const u32 place = its.first;
    Walk walk = walks_[place].walk;
    its.first = walks_[place].next;
    walks_[place].next = std::exchange(free_walk_, place);
    --size_;
    if (its.first == kNone) close(group);
    started(walk);
    walk.selection_cycles = static_cast<u8>(params_.selection_cycles);
    return walk;
  }
  u32 size() const override { return size_; }
  u64 most_passed() const override { return params_.ageing_threshold; }
  void started(const Walk& walk) override {
    ++started_;
    latest_inst_ = walk.inst;
  }
  void archive(Archive& a) override {
    a(walks_, groups_, free_groups_, active_, free_walk_, size_, started_, latest_inst_);
  }

 private:
  static constexpr u32 kNone = ~u32{0};
  struct Waiting {
    Walk walk;
    u32 next = kNone;
    u64 passed_from = 0;  // starts up to here are not of younger walks that passed it
  };
  struct Group {  // the waiting walks of one instruction, oldest first
    u32 inst = 0;
    u32 score = 0;
    u32 first = kNone, last = kNone;
    u32 at = 0;  // in active_
  };

  u32 find(u32 inst) const {
    for (const u32 group : active_) {
      if (groups_[group].inst == inst) return group;
    }
    return kNone;
  }
  u32 open(u32 inst) {
    const u32 group = free_groups_.back();
    free_groups_.pop_back();
    groups_[group] = {inst, 0, kNone, kNone, static_cast<u32>(active_.size())};
    active_.push_back(group);
    return group;
  }
  void close(u32 group) {
    const u32 hole = groups_[group].at;
    active_[hole] = active_.back();
    groups_[active_[hole]].at = hole;
    active_.pop_back();
    free_groups_.push_back(group);
  }
  u64 oldest_order(u32 group) const { return walks_[groups_[group].first].walk.order; }

  u32 choose() const {
    const u32 oldest = *std::min_element(active_.begin(), active_.end(),
                                         [&](u32 a, u32 b) { return oldest_order(a) < oldest_order(b); });
    // No walk has been passed more often than the oldest: whoever passed a younger one passed it as well.
    if (started_ >= walks_[groups_[oldest].first].passed_from + params_.ageing_threshold) return oldest;
    if (params_.batching) {
      if (const u32 batch = find(latest_inst_); batch != kNone) return batch;
    }
    if (!params_.shortest_first) return oldest;
    return *std::min_element(active_.begin(), active_.end(), [&](u32 a, u32 b) {
      if (groups_[a].score != groups_[b].score) return groups_[a].score < groups_[b].score;
      return oldest_order(a) < oldest_order(b);
    });
  }

  Params params_;
  WalkCacheView* walk_cache_;
  std::vector<Waiting> walks_;
  std::vector<Group> groups_;
  std::vector<u32> free_groups_;
  std::vector<u32> active_;  // groups in use, in no order
  u32 free_walk_ = kNone;
  u32 size_ = 0;
  u64 started_ = 0;
  u32 latest_inst_ = kNone;
};

REGISTER_POLICY(WalkOrder, SimtAwareWalkOrder, "simt_aware",
                .summary = "batches the walks of an instruction, cheapest instruction first", .paper = "ISCA 2018");

}  // namespace
}  // namespace terrace
