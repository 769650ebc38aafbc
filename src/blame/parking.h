// Requests that wait until something has left its place, and the books of who waits for whose. A request waits for what leaves one
// place, or, when it has none to wait for, for any: then what leaves all places is in its way, a part for each.
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
class Parking final : public WaitBook {
 public:
  static constexpr u32 kNowhere = ~u32{0};

  explicit Parking(u32 places) : parked_(places + 1), leaving_(places + 1) {}
  /// The place of those that wait for anything to leave.
  u32 any() const { return static_cast<u32>(parked_.size()) - 1; }

  /// Where a request of this key waits already; kNowhere if none does.
  u32 place_of(u64 key) const {
    const auto its = keys_.find(key);
    return its == keys_.end() ? kNowhere : its->second.place;
  }
  void park(Ref request, u64 key, TenantId tenant, u32 place, Cycle now) {
    parked_[place].push_back({request, key, ++turns_, now, place, tenant});
    ++keys_.try_emplace(key, OfKey{place, 0}).first->second.requests;
    if (counted()) blame_->enter(group_ + place, tenant, now);
  }
  /// Something of this tenant begins to leave, at a place where nothing does.
  void begins(u32 place, TenantId tenant) {
    leaving_[place].only(tenant);
    leaving_[any()].add(tenant);
  }
  /// It has left: `each(request)` for those that waited for it or for any, in the order in which they came.
  template <class F>
  void left(u32 place, TenantId tenant, F&& each) {
    std::vector<Parked> freed = std::exchange(parked_[any()], {});
    freed.insert(freed.end(), parked_[place].begin(), parked_[place].end());
    parked_[place].clear();
    std::ranges::sort(freed, {}, &Parked::turn);
    for (const Parked& parked : freed) {
      const auto key = keys_.find(parked.key);
      if (--key->second.requests == 0) keys_.erase(key);
      if (counted()) blame_->leave(group_ + parked.place, parked.tenant, parked.since);
    }
    leaving_[any()].remove(tenant);
    for (const Parked& parked : freed) {
      // Another one of its key may wait elsewhere.
      if (const auto key = keys_.find(parked.key); key != keys_.end())
        key->second.place = place_among_parked(parked.key);
      each(parked.request);
    }
  }
  u32 size() const {
    u32 all = 0;
    for (const std::vector<Parked>& at_place : parked_) all += static_cast<u32>(at_place.size());
    return all;
  }

  void keep(Blame& blame, const char* name, const char* doc) {
    blame_ = &blame;
    for (u32 place = 0; place < leaving_.size(); ++place) {
      blame.count(leaving_[place], name, doc, place == any() ? 0 : 1);
      const Blame::Group group = blame.add_group(leaving_[place]);
      if (place == 0) group_ = group;
    }
    blame.keep(*this);
  }

  void archive(Archive& a) { a(parked_, leaving_, keys_, turns_); }

 private:
  struct Parked {
    Ref request;
    u64 key;
    u64 turn;  // among all that were parked
    Cycle since;
    u32 place;
    TenantId tenant;
  };
  struct OfKey {
    u32 place;  // where one of them waits
    u32 requests;
  };
  u32 place_among_parked(u64 key) const {
    for (const std::vector<Parked>& at_place : parked_) {
      const auto its = std::ranges::find(at_place, key, &Parked::key);
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
  std::vector<Resource> leaving_;            // by place: what leaves it; of those that wait for any, all that do
  std::unordered_map<u64, OfKey> keys_;      // never iterated
  u64 turns_ = 0;
  Blame::Group group_ = 0;  // of the first place; the others follow
};

}  // namespace terrace
