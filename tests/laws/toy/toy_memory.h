// Crossbars, cache slices and memory channels of the toy machine.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <ostream>
#include <vector>

#include "engine/miss_table.h"
#include "engine/ring.h"
#include "engine/tag_array.h"
#include "toy_world.h"

namespace terrace::toy {

/// Moves requests from sources to slices or replies from slices to sources: one grant per output and cycle,
/// round-robin.
class Crossbar final : public Unit {
 public:
  using Target = u16 (*)(const Access&);
  Crossbar(World& world, Target target) : world_(world), target_(target) {}
  void connect(std::vector<AccessLink*> inputs, std::vector<AccessLink*> outputs) {
    inputs_ = std::move(inputs);
    outputs_ = std::move(outputs);
    pointer_.assign(outputs_.size(), 0);
    wanted_.assign(outputs_.size(), 0);
  }

  Cycle tick(Cycle now) override {
    for (u32 output = 0; output < outputs_.size(); ++output) wanted_[output] = 0;
    for (u32 input = 0; input < inputs_.size(); ++input) {
      if (const AccessRef* head = inputs_[input]->front(now)) {
        wanted_[target_(world_.accesses[*head])] |= u64{1} << input;
      }
    }
    bool more = false;
    for (u32 output = 0; output < outputs_.size(); ++output) {
      if (world_.has(Mistake::kPointerPerTick)) pointer_[output] = (pointer_[output] + 1) % inputs_.size();
      if (wanted_[output] != 0 && outputs_[output]->can_push(now)) more |= grant(output, now);
    }
    return more ? now + 1 : kNever;
  }
  void explain(std::ostream& out) const override {
    for (u32 input = 0; input < inputs_.size(); ++input) {
      if (!inputs_[input]->empty()) out << "input " << input << " holds " << inputs_[input]->size() << " messages\n";
    }
  }
  Stats stats;

 private:
  bool grant(u32 output, Cycle now) {
    const u64 from_pointer = wanted_[output] & (~u64{0} << pointer_[output]);
    const u32 input = static_cast<u32>(std::countr_zero(from_pointer ? from_pointer : wanted_[output]));
    outputs_[output]->push(now, inputs_[input]->pop(now));
    pointer_[output] = (input + 1) % inputs_.size();
    ++stats.grants;
    return inputs_[input]->front(now) != nullptr || (wanted_[output] & (wanted_[output] - 1)) != 0;
  }

  World& world_;
  Target target_;
  std::vector<AccessLink*> inputs_, outputs_;
  std::vector<u64> wanted_;
  std::vector<size_t> pointer_;
};

class Slice final : public Unit {
 public:
  explicit Slice(World& world)
      : requests(world.scheduler, world.shape(2)),
        replies(world.scheduler, world.shape(2)),
        to_dram(world.scheduler, world.shape(4)),
        from_dram(world.scheduler, world.shape(4)),
        world_(world),
        tags_({.entries = 1024, .ways = 16}),
        misses_(world.config.queue * 4, 32),
        hits_(world.config.queue * 4) {}

  Cycle tick(Cycle now) override {
    if (from_dram.front(now) && fills_.empty()) fill(from_dram.pop(now));
    send_one(now);
    const bool looked = look_up(now);
    return looked || !fills_.empty() || from_dram.front(now) ? now + 1
           : hits_.empty()                                   ? kNever
                                                             : std::max(now + 1, hits_.front().at);
  }
  void explain(std::ostream& out) const override {
    if (!misses_.empty()) out << misses_.size() << " lines are on their way from DRAM\n";
    if (!hits_.empty() || !fills_.empty()) out << hits_.size() + fills_.size() << " replies wait\n";
  }
  AccessLink requests, replies, to_dram, from_dram;
  Stats stats;
  /// Only for the planted mistake: places at the channel, taken and given back within a cycle.
  u32* shared_credits = nullptr;

 private:
  static constexpr u32 kHitLatency = 20;  // invented
  struct Hit {
    AccessRef access;
    Cycle at = 0;
  };
  void fill(AccessRef from_dram_access) {
    const u64 line = world_.accesses[from_dram_access].line;
    tags_.fill(tags_.victim(line), line);
    misses_.release(line, [&](AccessRef waiter) { fills_.push_back(waiter); });
    next_fill_ = 0;
  }
  void send_one(Cycle now) {
    if (!fills_.empty()) {
      if (!replies.can_push(now)) return;
      replies.push(now, fills_[next_fill_++]);
      if (next_fill_ == fills_.size()) fills_.clear();
    } else if (!hits_.empty() && hits_.front().at <= now && replies.can_push(now)) {
      replies.push(now, hits_.pop().access);
    }
  }
  bool look_up(Cycle now) {
    const AccessRef* head = requests.front(now);
    if (!head) return false;
    const AccessRef access = *head;
    const u64 line = world_.accesses[access].line;
    const i32 entry = tags_.find(line);
    if (entry >= 0) {
      if (hits_.full()) return true;
      tags_.touch(static_cast<u32>(entry));
      hits_.push({access, now + kHitLatency});
      ++stats.l2_hits;
    } else {
      const Join outlook = misses_.would_join(line);
      if (outlook == Join::kFull) return true;
      if (outlook == Join::kFirst) {
        if (shared_credits && *shared_credits == 0) return true;
        if (!to_dram.can_push(now)) return true;
        if (shared_credits) --*shared_credits;
        to_dram.push(now, access);
      }
      misses_.join(line, access);
      ++stats.l2_misses;
    }
    requests.pop(now);
    return true;
  }

  World& world_;
  TagArray<char> tags_;
  MissTable<AccessRef> misses_;
  Ring<Hit> hits_;
  std::vector<AccessRef> fills_;
  size_t next_fill_ = 0;
};

/// Serves two slices; four banks that keep a row open; first come, first served.
class Channel final : public Unit {
 public:
  explicit Channel(World& world) : world_(world) {}
  std::vector<Slice*> slices;
  u32 credits = 0;
  Stats stats;

  Cycle tick(Cycle now) override {
    finish(now);
    Cycle next = start(now);
    if (busy_.valid()) next = std::min(next, std::max(now + 1, done_));
    return next;
  }
  void explain(std::ostream& out) const override {
    if (busy_.valid()) out << "serves line " << world_.accesses[busy_].line << '\n';
  }

 private:
  static constexpr u32 kRowHit = 4, kRowMiss = 24, kRowLines = 16, kBanks = 4;  // invented
  void finish(Cycle now) {
    if (!busy_.valid() || done_ > now) return;
    AccessLink& home = slices[from_]->from_dram;
    if (!home.can_push(now)) return;
    home.push(now, busy_);
    busy_ = {};
    if (slices[from_]->shared_credits) ++credits;
  }
  Cycle start(Cycle now) {
    if (busy_.valid()) return kNever;
    for (u32 step = 0; step < slices.size(); ++step) {
      const u32 slice = (pointer_ + step) % static_cast<u32>(slices.size());
      if (!slices[slice]->to_dram.front(now)) continue;
      busy_ = slices[slice]->to_dram.pop(now);
      from_ = slice;
      pointer_ = (slice + 1) % static_cast<u32>(slices.size());
      const u64 row = world_.accesses[busy_].line / kRowLines;
      const bool hit = open_[row % kBanks] == row;
      open_[row % kBanks] = row;
      done_ = now + (hit ? kRowHit : kRowMiss);
      stats.row_hits += hit;
      ++stats.dram_accesses;
      return kNever;
    }
    return kNever;
  }

  World& world_;
  AccessRef busy_;
  u32 from_ = 0, pointer_ = 0;
  Cycle done_ = 0;
  u64 open_[kBanks] = {~u64{0}, ~u64{0}, ~u64{0}, ~u64{0}};
};

}  // namespace terrace::toy
