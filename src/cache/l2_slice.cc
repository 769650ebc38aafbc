// SPDX-License-Identifier: MIT
#include "cache/l2_slice.h"

#include <algorithm>
#include <ostream>

#include "engine/check.h"

namespace terrace {

L2Slice::L2Slice(Scheduler& scheduler, const L2Config& config, const NocConfig& noc, u32 line_bytes,
                 AccessPool& accesses, Wiring wiring, PerformAtomic perform)
    : scheduler_(scheduler),
      config_(config),
      noc_(noc),
      line_bytes_(line_bytes),
      accesses_(accesses),
      wiring_(wiring),
      perform_(std::move(perform)),
      tags_({.entries = config.bytes / config.slices / line_bytes, .ways = config.ways, .hash = config.index}),
      misses_(config.miss_entries, config.miss_merges),
      hits_(config.reply_entries),
      // A fill releases a whole entry at once, and is accepted only when none of the last one is left.
      filled_(config.miss_merges),
      // Every line on its way may push out a dirty one, and must find a place for it: else memory, which waits for its
      // answers to be taken, and this slice, which waits for memory to take a line, would wait for each other.
      dirty_(config.miss_entries + config.write_back_entries) {}

Cycle L2Slice::tick(Cycle now) {
  wiring_.requests.absorb(wiring_.port, now);
  bool progress = accept_fill(now);
  progress |= send_reply(now);
  progress |= write_back(now);
  progress |= look_up(now);
  return next_wakeup(now, progress);
}

bool L2Slice::accept_fill(Cycle now) {
  const DramReply* reply = wiring_.from_dram.front(now);
  if (!reply || !filled_.empty()) return false;
  const u64 line = wiring_.from_dram.pop(now).line.raw / line_bytes_;
  ++stats.fills;
  event(now, "line {:#x} arrives from memory", line * line_bytes_);
  bool dirty = false;
  TenantId tenant{};
  misses_.release(line, [&](AccessRef waiter) {
    const Access& access = accesses_[waiter];
    tenant = access.tenant;
    dirty |= access.kind == AccessKind::kStore || access.kind == AccessKind::kAtomic;
    if (access.kind == AccessKind::kAtomic) perform(access);
    filled_.push({waiter, now + 1});
  });
  allocate(line, tenant, dirty);
  return true;
}

void L2Slice::allocate(u64 line, TenantId tenant, bool dirty) {
  const u32 victim = tags_.victim(line);
  const Meta& old = tags_.meta(victim);
  if (tags_.valid(victim) && old.dirty) dirty_.push({tags_.key(victim), old.tenant});
  tags_.fill(victim, line) = {tenant, dirty};
}

bool L2Slice::send_reply(Cycle now) {
  const bool from_fill = !filled_.empty() && filled_.front().at <= now;
  Ring<Reply>& queue = from_fill ? filled_ : hits_;
  if (queue.empty() || queue.front().at > now) return false;
  const AccessRef ref = queue.front().access;
  const Access& access = accesses_[ref];
  const u32 output = index(access.sm);
  if (!wiring_.replies.can_send(wiring_.port, output, now)) return false;
  const bool carries_line = access.kind == AccessKind::kLoad || access.kind == AccessKind::kWalk;
  wiring_.replies.send(wiring_.port, output, now, ref, noc_.flits(carries_line ? line_bytes_ : access.bytes));
  ++stats.replies[access.tenant];
  event(now, "replies to SM {}", output);
  queue.pop();
  return true;
}

bool L2Slice::write_back(Cycle now) {
  if (dirty_.empty() || !wiring_.to_dram.can_push(now)) return false;
  const Dirty leaving = dirty_.pop();
  wiring_.to_dram.push(now, {.line = PhysAddr{leaving.line * line_bytes_}, .tenant = leaving.tenant, .write = true});
  ++stats.write_backs;
  event(now, "line {:#x} is written back", leaving.line * line_bytes_);
  return true;
}

bool L2Slice::look_up(Cycle now) {
  bool progress = false;
  for (u32 port = 0; port < config_.ports; ++port) {
    const AccessRef* head = wiring_.requests.front(wiring_.port, now);
    if (!head || !look_up_one(*head, now)) break;
    wiring_.requests.receive(wiring_.port, now);
    progress = true;
  }
  return progress;
}

/// False leaves everything as it was: some resource is full, and its release will tick this unit.
bool L2Slice::look_up_one(AccessRef ref, Cycle now) {
  const Access& access = accesses_[ref];
  const u64 line = access.pa.raw / line_bytes_;
  const i32 entry = tags_.find(line);
  const bool writes = access.kind == AccessKind::kStore || access.kind == AccessKind::kAtomic;
  if (entry >= 0) {
    if (hits_.full()) return false;
    tags_.touch(static_cast<u32>(entry));
    tags_.meta(static_cast<u32>(entry)).dirty |= writes;
    if (access.kind == AccessKind::kAtomic) perform(access);
    ++stats.hits[access.tenant];
    event(now, "line {:#x} of SM {} hits", line * line_bytes_, index(access.sm));
  } else if (access.kind == AccessKind::kStore && access.bytes == 0 && !misses_.contains(line)) {
    if (hits_.full() || too_many_dirty()) return false;
    allocate(line, access.tenant, true);
    ++stats.write_allocations[access.tenant];
  } else {
    const Join outlook = misses_.would_join(line);
    if (outlook == Join::kFull) return false;
    if (outlook == Join::kFirst) {
      if (too_many_dirty() || !wiring_.to_dram.can_push(now)) return false;
      wiring_.to_dram.push(
          now, {.line = PhysAddr{line * line_bytes_}, .tenant = access.tenant, .walk_level = access.walk_level});
      ++stats.fetches;
    }
    misses_.join(line, ref);
    ++(outlook == Join::kFirst ? stats.misses : stats.merges)[access.tenant];
    ++stats.lookups[access.tenant];
    event(now, "line {:#x} of SM {} {}", line * line_bytes_, index(access.sm),
          outlook == Join::kFirst ? "misses" : "joins a miss");
    return true;
  }
  hits_.push({ref, now + config_.hit_cycles});
  ++stats.lookups[access.tenant];
  return true;
}

void L2Slice::perform(const Access& access) {
  ++stats.atomics[access.tenant];
  atomics_.push_back({access.tenant, access.atomic, access.lanes});
  scheduler_.defer(self_);
}

void L2Slice::commit(Cycle) {
  for (const PendingAtomic& pending : atomics_) perform_(pending.tenant, pending.atomic, pending.lanes);
  atomics_.clear();
}

Cycle L2Slice::next_wakeup(Cycle now, bool progress) const {
  // After progress the next step may be possible. Without any, each step waits for its time, or for something whose
  // coming wakes this unit: a packet, a fill, a place on the crossbar or on the way to memory.
  if (progress) return now + 1;
  Cycle next = kNever;
  if (!filled_.empty() && filled_.front().at > now) next = filled_.front().at;
  if (!hits_.empty() && hits_.front().at > now) next = std::min(next, hits_.front().at);
  return next;
}

void L2Slice::explain(std::ostream& out) const {
  if (!misses_.empty()) out << misses_.size() << " lines are awaited from memory\n";
  if (!hits_.empty() || !filled_.empty()) out << hits_.size() + filled_.size() << " replies wait to be sent\n";
  if (!dirty_.empty()) out << dirty_.size() << " dirty lines wait for a place on the way to memory\n";
  if (const u32 waiting = wiring_.requests.waiting(wiring_.port)) out << waiting << " requests wait to be looked up\n";
}

void L2Slice::forget(PhysAddr first, u64 bytes) {
  const u64 from = first.raw / line_bytes_, to = (first.raw + bytes - 1) / line_bytes_;
  const auto drop = [&](i32 entry) {
    if (entry >= 0) tags_.invalidate(static_cast<u32>(entry));
  };
  // Whichever is shorter: the lines of the range, or the lines of the cache.
  if (to - from < tags_.entries()) {
    for (u64 line = from; line <= to; ++line) drop(tags_.find(line));
  } else {
    for (u32 entry = 0; entry < tags_.entries(); ++entry) {
      if (tags_.valid(entry) && tags_.key(entry) >= from && tags_.key(entry) <= to) drop(static_cast<i32>(entry));
    }
  }
}

}  // namespace terrace
