// A core of the toy machine.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "engine/miss_table.h"
#include "engine/ring.h"
#include "engine/rng.h"
#include "engine/tag_array.h"
#include "toy_world.h"

namespace terrace::toy {

/// Issues up to two instructions a cycle from a mask of ready warps; owns an L1 TLB and an L1 cache.
class Sm final : public Unit {
 public:
  Sm(World& world, u16 id)
      : requests(world.scheduler, world.shape(2)),
        replies(world.scheduler, world.shape(2)),
        translate(world.scheduler, world.shape(4)),
        translated(world.scheduler, world.shape(4)),
        world_(world),
        id_(id),
        tenant_(static_cast<u8>(id * world.config.tenants / world.config.sms)),
        rng_(world.config.seed, "sm" + std::to_string(id)),
        tlb_({.entries = 32, .ways = 32}),
        cache_({.entries = 128, .ways = 4}),
        tlb_misses_(world.config.queue, 64),
        cache_misses_(world.config.queue * 2, 16),
        queue_(64) {
    const bool active = id < world.config.mix.active_sms;
    ready_ = active ? (world.config.warps >= 64 ? ~u64{0} : (u64{1} << world.config.warps) - 1) : 0;
    left_ = active ? world.config.instructions / world.config.mix.active_sms : 0;
  }

  Cycle tick(Cycle now) override {
    wake_sleeping_warps(now);
    accept_replies(now);
    accept_translations(now);
    advance_load_store(now);
    issue(now);
    return next_wakeup(now);
  }
  void explain(std::ostream& out) const override {
    if (left_ > 0) out << left_ << " instructions are left to issue\n";
    if (!queue_.empty()) out << queue_.size() << " accesses wait at the load-store unit\n";
    if (!cache_misses_.empty()) out << cache_misses_.size() << " lines are on their way\n";
    if (!tlb_misses_.empty()) out << tlb_misses_.size() << " translations are on their way\n";
  }

  bool finished() const { return left_ == 0; }

  AccessLink requests, replies;
  Link<Translation> translate, translated;
  UnitId unit{};
  Stats stats;

 private:
  struct Pending {
    u64 line = 0;
    Cycle since = 0;
    u8 warp = 0;
  };
  static constexpr u32 kWheel = 64, kAluLatency = 6, kHitLatency = 24;  // invented

  void sleep(u8 warp, Cycle until) {
    wheel_[until % kWheel] |= u64{1} << warp;
    in_use_ |= u64{1} << until % kWheel;
  }
  void wake_sleeping_warps(Cycle now) {
    // Every entry since the last visit has been due.
    if (in_use_ == 0) return void(visited_ = now);
    for (; visited_ < now; ++visited_) {
      const u32 bucket = (visited_ + 1) % kWheel;
      ready_ |= std::exchange(wheel_[bucket], 0);
      in_use_ &= ~(u64{1} << bucket);
      if (in_use_ == 0) visited_ = now - 1;
    }
  }
  void accept_replies(Cycle now) {
    if (!replies.front(now)) return;
    const AccessRef access = replies.pop(now);
    const u64 line = world_.accesses[access].line;
    world_.accesses.free(access);
    cache_.fill(cache_.victim(line), line);
    cache_misses_.release(line, [&](const Pending& pending) { complete(pending, now); });
  }
  void complete(const Pending& pending, Cycle now) {
    ready_ |= u64{1} << pending.warp;
    stats.latency += now - pending.since;
  }
  void accept_translations(Cycle now) {
    if (!translated.front(now)) return;
    const Translation done = translated.pop(now);
    --world_.translations_in_flight;
    tlb_.fill(tlb_.victim(done.page), done.page);
    tlb_misses_.release(done.page, [&](const Pending& pending) { retry_.push_back(pending); });
  }
  void advance_load_store(Cycle now) {
    const bool again = !retry_.empty();
    blocked_ = false;
    if (!again && queue_.empty()) return;
    const Pending head = again ? retry_.back() : queue_.front();
    if (!accept(head, now, again)) {
      blocked_ = true;
      if (stalled_since_ == kNever) stalled_since_ = now;
      if (world_.has(Mistake::kCounterPerTick)) ++stats.stalled_cycles;
      return;
    }
    if (!world_.has(Mistake::kCounterPerTick) && stalled_since_ != kNever) stats.stalled_cycles += now - stalled_since_;
    stalled_since_ = kNever;
    again ? retry_.pop_back() : void(queue_.pop());
  }
  /// False leaves everything as it was.
  bool accept(const Pending& access, Cycle now, bool translated_already) {
    const u64 page = access.line / kPageLines;
    const i32 entry = tlb_.find(page);
    if (entry < 0 && !translated_already) return request_translation(access, page, now);
    if (!access_cache(access, now)) return false;
    if (entry >= 0) tlb_.touch(static_cast<u32>(entry));
    stats.tlb_hits += !translated_already;
    return true;
  }
  bool request_translation(const Pending& access, u64 page, Cycle now) {
    const Join outlook = tlb_misses_.would_join(page);
    if (outlook == Join::kFull) return false;
    if (outlook == Join::kFirst) {
      if (!translate.can_push(now)) return false;
      translate.push(now, {page, id_, tenant_});
      ++world_.translations_in_flight;
    }
    tlb_misses_.join(page, access);
    ++stats.tlb_misses;
    return true;
  }
  bool access_cache(const Pending& access, Cycle now) {
    const i32 entry = cache_.find(access.line);
    if (entry >= 0) {
      cache_.touch(static_cast<u32>(entry));
      sleep(access.warp, now + kHitLatency);
      ++stats.l1_hits;
      return true;
    }
    const Join outlook = cache_misses_.would_join(access.line);
    if (outlook == Join::kFull || (outlook == Join::kFirst && !requests.can_push(now))) return false;
    if (outlook == Join::kFirst) {
      const AccessRef made = world_.accesses.make();
      world_.accesses[made] = {access.line, id_, u16(access.line % world_.config.slices), access.warp, tenant_, 0};
      requests.push(now, made);
    }
    cache_misses_.join(access.line, access);
    ++(outlook == Join::kFirst ? stats.l1_misses : stats.l1_merges);
    return true;
  }
  void issue(Cycle now) {
    for (u32 issued = 0; issued < 2 && left_ > 0 && ready_ != 0; ++issued) {
      const u64 dice = rng_peek();
      const bool memory = (dice & 1023) < world_.config.mix.memory_per_1024;
      if (memory && queue_.full()) return;
      const u8 warp = static_cast<u8>(std::countr_zero(ready_));
      ready_ &= ready_ - 1;
      --left_;
      ++stats.issued;
      have_dice_ = false;
      memory ? queue_.push({address(dice >> 10), now, warp}) : sleep(warp, now + kAluLatency);
    }
  }
  u64 rng_peek() {
    if (!have_dice_) dice_ = rng_.next();
    have_dice_ = true;
    return dice_;
  }
  u64 address(u64 dice) const {
    const Mix& mix = world_.config.mix;
    const u64 tenant_base = u64{tenant_} << 40;
    if ((dice & 1023) < mix.reuse_per_1024) return tenant_base + u64{id_} * kPageLines + (dice >> 10) % kPageLines;
    return tenant_base + (u64{1} << 30) + (dice >> 10) % (u64{mix.pages} * kPageLines);
  }
  Cycle next_wakeup(Cycle now) const {
    const bool can_issue = left_ > 0 && ready_ != 0;
    // What unblocks a head (a reply, a translation, a place on a link) wakes this unit anyway.
    const bool can_access = !blocked_ && (!retry_.empty() || !queue_.empty());
    if (can_issue || can_access) return now + 1;
    if (in_use_ == 0 || world_.has(Mistake::kForgottenWake)) return replies.next_arrival() > now ? kNever : now + 1;
    const u32 next = static_cast<u32>(std::countr_zero(std::rotr(in_use_, static_cast<int>((now + 1) % kWheel))));
    return now + 1 + next;
  }

  World& world_;
  u16 id_;
  u8 tenant_;
  Rng rng_;
  u64 dice_ = 0;
  bool have_dice_ = false;
  TagArray<char> tlb_, cache_;
  MissTable<Pending> tlb_misses_, cache_misses_;
  Ring<Pending> queue_;
  std::vector<Pending> retry_;
  bool blocked_ = false;
  u64 ready_ = 0, left_ = 0;
  u64 wheel_[kWheel] = {};
  u64 in_use_ = 0;
  Cycle visited_ = 0;
  Cycle stalled_since_ = kNever;
};

}  // namespace terrace::toy
