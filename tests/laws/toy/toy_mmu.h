// Address translation of the toy machine.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <ostream>
#include <vector>

#include "engine/miss_table.h"
#include "engine/ring.h"
#include "engine/tag_array.h"
#include "toy_sm.h"
#include "toy_world.h"

namespace terrace::toy {

/// A shared TLB in front of walkers that read four levels, one after the other, through the slices.
class Mmu final : public Unit {
 public:
  explicit Mmu(World& world)
      : requests(world.scheduler, world.shape(2)),
        replies(world.scheduler, world.shape(2)),
        world_(world),
        tlb_({.entries = 1024, .ways = 16}),
        misses_(192, 64),
        waiting_(192),
        walkers_(world.config.walkers) {
    idle_ = (u64{1} << world.config.walkers) - 1;
  }
  AccessLink requests, replies;
  std::vector<Sm*> sms;
  Stats stats;

  Cycle tick(Cycle now) override {
    accept_reply(now);
    issue_requests(now);
    start_walks(now);
    send_translations(now);
    const bool looked = look_up(now);
    const bool more =
        looked || wants_request_ != 0 || pending_sms_ != 0 || replies.front(now) || (idle_ != 0 && !waiting_.empty());
    return more ? now + 1 : kNever;
  }
  void explain(std::ostream& out) const override {
    if (!misses_.empty()) out << misses_.size() << " pages are being walked or wait for a walker\n";
  }

 private:
  struct Walker {
    u64 page = 0;
    Cycle since = 0;
    u8 tenant = 0, level = 0;
  };
  void accept_reply(Cycle now) {
    if (!replies.front(now)) return;
    const AccessRef access = replies.pop(now);
    const u32 walker = world_.accesses[access].warp;
    world_.accesses.free(access);
    Walker& walk = walkers_[walker];
    if (++walk.level <= kWalkLevels) return void(wants_request_ |= u64{1} << walker);
    idle_ |= u64{1} << walker;
    ++stats.walks;
    stats.walk_cycles += now - walk.since;
    tlb_.fill(tlb_.victim(walk.page), walk.page);
    misses_.release(walk.page, [&](const Translation& waiter) { answer(waiter); });
  }
  void answer(const Translation& translation) {
    if (answers_.size() < sms.size()) answers_.resize(sms.size());
    answers_[translation.sm].push_back(translation);
    pending_sms_ |= u64{1} << translation.sm;
  }
  void issue_requests(Cycle now) {
    if (wants_request_ == 0 || !requests.can_push(now)) return;
    const u32 walker = static_cast<u32>(std::countr_zero(wants_request_));
    wants_request_ &= wants_request_ - 1;
    const Walker& walk = walkers_[walker];
    // Each level's entry: 16 to a line, levels far apart.
    const u64 line = (u64{walk.level} << 50) + (walk.page >> (9 * (kWalkLevels - walk.level))) / 16;
    const AccessRef access = world_.accesses.make();
    world_.accesses[access] = {
        line, u16(world_.config.sms), u16(line % world_.config.slices), u8(walker), walk.tenant, walk.level};
    requests.push(now, access);
  }
  void start_walks(Cycle now) {
    while (idle_ != 0 && !waiting_.empty()) {
      const u32 walker = static_cast<u32>(std::countr_zero(idle_));
      idle_ &= idle_ - 1;
      const Translation walk = waiting_.pop();
      walkers_[walker] = {walk.page, now, walk.tenant, 1};
      wants_request_ |= u64{1} << walker;
    }
  }
  void send_translations(Cycle now) {
    for (u64 left = pending_sms_; left != 0; left &= left - 1) {
      const u32 sm = static_cast<u32>(std::countr_zero(left));
      if (!sms[sm]->translated.can_push(now)) continue;
      sms[sm]->translated.push(now, answers_[sm].back());
      answers_[sm].pop_back();
      if (answers_[sm].empty()) pending_sms_ &= ~(u64{1} << sm);
    }
  }
  /// One look-up a cycle, round-robin over the SMs.
  bool look_up(Cycle now) {
    for (u32 step = 0; step < sms.size(); ++step) {
      const u32 sm = (pointer_ + step) % static_cast<u32>(sms.size());
      const Translation* head = sms[sm]->translate.front(now);
      if (!head || !accept(*head)) continue;
      sms[sm]->translate.pop(now);
      pointer_ = (sm + 1) % static_cast<u32>(sms.size());
      return true;
    }
    return false;
  }
  bool accept(const Translation& wanted) {
    const i32 entry = tlb_.find(wanted.page);
    if (entry >= 0) {
      tlb_.touch(static_cast<u32>(entry));
      ++stats.shared_tlb_hits;
      answer(wanted);
      return true;
    }
    const Join outlook = misses_.would_join(wanted.page);
    if (outlook == Join::kFull) return false;
    misses_.join(wanted.page, wanted);
    if (outlook == Join::kFirst) waiting_.push(wanted);
    return true;
  }

  World& world_;
  TagArray<char> tlb_;
  MissTable<Translation> misses_;
  Ring<Translation> waiting_;
  std::vector<Walker> walkers_;
  std::vector<std::vector<Translation>> answers_;
  u64 idle_ = 0, wants_request_ = 0, pending_sms_ = 0;
  u32 pointer_ = 0;
};

}  // namespace terrace::toy
