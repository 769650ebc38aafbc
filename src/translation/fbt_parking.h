// Look-ups of the forward-backward table that wait until a page has left it, and the books of who waits for whose page.
// Pages on their way out have places. A look-up waits for the page at one place, or, when it has none to wait for, for any:
// then the pages at all places are in its way, a part for each.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "blame/blame.h"
#include "engine/archive.h"
#include "engine/types.h"

namespace terrace {

template <class Ref>
class FbtParking final : public WaitBook {
 public:
  static constexpr u32 kNowhere = ~u32{0};

  explicit FbtParking(u32 places) : parked_(places + 1), pages_(places + 1) {}
  /// The place of those that wait for any page to leave.
  u32 any() const { return static_cast<u32>(parked_.size()) - 1; }

  /// Where a look-up of this frame waits already; kNowhere if none does.
  u32 place_of(u64 frame) const {
    const auto its = frames_.find(frame);
    return its == frames_.end() ? kNowhere : its->second.place;
  }
  void park(Ref look_up, u64 frame, TenantId tenant, u32 place, Cycle now) {
    parked_[place].push_back({look_up, frame, ++turns_, now, place, tenant});
    ++frames_.try_emplace(frame, Frame{place, 0}).first->second.look_ups;
    if (counted()) blame_->enter(group_ + place, tenant, now);
  }
  /// A page of this tenant begins to leave, at a place that is free.
  void begins(u32 place, TenantId tenant) {
    pages_[place].only(tenant);
    pages_[any()].add(tenant);
  }
  /// It has left: `each(look_up)` for those that waited for it or for any, in the order in which they came.
  template <class F>
  void left(u32 place, TenantId tenant, F&& each) {
    std::vector<Parked> freed = std::exchange(parked_[any()], {});
    freed.insert(freed.end(), parked_[place].begin(), parked_[place].end());
    parked_[place].clear();
    std::ranges::sort(freed, {}, &Parked::turn);
    for (const Parked& parked : freed) {
      const auto frame = frames_.find(parked.frame);
      if (--frame->second.look_ups == 0) frames_.erase(frame);
      if (counted()) blame_->leave(group_ + parked.place, parked.tenant, parked.since);
    }
    pages_[any()].remove(tenant);
    for (const Parked& parked : freed) {
      // Another one of its frame may wait elsewhere.
      if (const auto frame = frames_.find(parked.frame); frame != frames_.end())
        frame->second.place = place_among_parked(parked.frame);
      each(parked.look_up);
    }
  }
  u32 size() const {
    u32 all = 0;
    for (const std::vector<Parked>& at_place : parked_) all += static_cast<u32>(at_place.size());
    return all;
  }

  void keep(Blame& blame, const char* name, const char* doc) {
    blame_ = &blame;
    for (u32 place = 0; place < pages_.size(); ++place) {
      blame.count(pages_[place], name, doc, place == any() ? 0 : 1);
      const Blame::Group group = blame.add_group(pages_[place]);
      if (place == 0) group_ = group;
    }
    blame.keep(*this);
  }

  void archive(Archive& a) { a(parked_, pages_, frames_, turns_); }

 private:
  struct Parked {
    Ref look_up;
    u64 frame;
    u64 turn;  // among all that were parked
    Cycle since;
    u32 place;
    TenantId tenant;
  };
  struct Frame {
    u32 place;  // where one of them waits
    u32 look_ups;
  };
  u32 place_among_parked(u64 frame) const {
    for (const std::vector<Parked>& at_place : parked_) {
      const auto its = std::ranges::find(at_place, frame, &Parked::frame);
      if (its != at_place.end()) return its->place;
    }
    return kNowhere;
  }
  void enter_late(Cycle) override {}  // each enters when it is parked
  void visit(Cycle now, const Waiting& waits) const override {
    for (const std::vector<Parked>& at_place : parked_) {
      for (const Parked& parked : at_place) {
        if (parked.since < now) waits(parked.tenant, parked.since);
      }
    }
  }

  std::vector<std::vector<Parked>> parked_;  // by place
  std::vector<Resource> pages_;              // by place: the page that leaves; of those that wait for any, all that do
  std::unordered_map<u64, Frame> frames_;    // never iterated
  u64 turns_ = 0;
  Blame::Group group_ = 0;  // of the first place; the others follow
};

}  // namespace terrace
