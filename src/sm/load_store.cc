// SPDX-License-Identifier: MIT
#include "sm/load_store.h"

#include <algorithm>
#include <bit>
#include <ostream>

namespace terrace {

LoadStoreUnit::LoadStoreUnit(const SmConfig& config, const L1Config& l1, const NocConfig& noc, u32 line_bytes, SmId sm,
                             Wiring wiring)
    : config_(config),
      noc_(noc),
      line_bytes_(line_bytes),
      port_(index(sm)),
      wiring_(wiring),
      coalescer_(line_bytes),
      l1_(l1, line_bytes),
      waiting_(config.memory_queue),
      hits_(config.memory_ports * (l1.hit_cycles + 1)),
      hit_cycles_(l1.hit_cycles) {}

void LoadStoreUnit::accept(const Effect& effect, u64 lanes, const DecodedInst& inst, u8 warp, TenantId tenant,
                           u32 dynamic_id, Cycle now) {
  Waiting& entry = waiting_[(waiting_head_ + waiting_count_) % waiting_.size()];
  ++waiting_count_;
  coalescer_.coalesce(effect, lanes, entry.lines);
  entry.record = records_.make();
  records_[entry.record] = {&inst, now, entry.lines.count, tenant, warp, effect.action};
  entry.next = 0;
  entry.atomic = static_cast<u32>(effect.atomic);
  entry.dynamic_id = dynamic_id;
  entry.lane_bytes = effect.bytes;
  entry.past_l1 = inst.volatile_access;
  ++stats.instructions[tenant];
  stats.lines[tenant] += entry.lines.count;
}

void LoadStoreUnit::accept_replies(Cycle now, std::vector<Done>& done) {
  wiring_.replies.absorb(port_, now);
  while (!hits_.empty() && hits_.front().at <= now) complete_line(hits_.pop().record, now, done);
  if (!wiring_.replies.front(port_, now)) return;
  const AccessRef ref = wiring_.replies.receive(port_, now);
  const Access& access = wiring_.accesses[ref];
  const RecordRef owner{access.owner};
  const bool fills_l1 = access.kind == AccessKind::kLoad && !access.past_l1;
  if (fills_l1) {
    l1_.fill(access.pa.raw / line_bytes_, [&](u32 waiter) { complete_line(RecordRef{waiter}, now, done); });
  } else {
    complete_line(owner, now, done);
  }
  wiring_.accesses.free(ref);
}

void LoadStoreUnit::complete_line(RecordRef ref, Cycle now, std::vector<Done>& done) {
  Record& record = records_[ref];
  ++stats.completed_lines[record.tenant];
  if (--record.lines_left > 0) return;
  stats.latency[record.tenant] += now - record.born;
  done.push_back({record.warp, record.action, record.inst});
  records_.free(ref);
}

void LoadStoreUnit::advance(Cycle now) {
  if (waiting_count_ == 0) return;
  for (u32 port = 0; port < config_.memory_ports && waiting_count_ > 0; ++port) {
    Waiting& head = waiting_[waiting_head_];
    if (!access_line(head, now)) {
      if (blocked_since_ == kNever) blocked_since_ = now;
      return;
    }
    settle(now);
    blocked_since_ = kNever;
    if (++head.next < head.lines.count) continue;
    waiting_head_ = (waiting_head_ + 1) % static_cast<u32>(waiting_.size());
    --waiting_count_;
  }
}

void LoadStoreUnit::settle(Cycle now) {
  if (blocked_since_ == kNever) return;
  stats.blocked_cycles += now - blocked_since_;
  blocked_since_ = now;
}

/// False leaves everything as it was.
bool LoadStoreUnit::access_line(Waiting& head, Cycle now) {
  const Record& record = records_[head.record];
  const PhysAddr pa = wiring_.map.locate(record.tenant, VirtAddr{head.lines.line[head.next] * line_bytes_});
  switch (record.action) {
    case MemoryAction::kLoad:
      return load_line(head, pa, now);
    case MemoryAction::kStore:
      if (!send(head, pa, AccessKind::kStore, now)) return false;
      l1_.store(pa.raw / line_bytes_, record.tenant);
      return true;
    default:
      if (!send(head, pa, AccessKind::kAtomic, now)) return false;
      l1_.atomic(pa.raw / line_bytes_, record.tenant);
      return true;
  }
}

bool LoadStoreUnit::load_line(const Waiting& head, PhysAddr pa, Cycle now) {
  if (head.past_l1) return send(head, pa, AccessKind::kLoad, now);
  const u64 line = pa.raw / line_bytes_;
  const L1Cache::Outcome outcome = l1_.look(line);
  if (outcome == L1Cache::Outcome::kRefused) return false;
  if (outcome == L1Cache::Outcome::kMiss && !send(head, pa, AccessKind::kLoad, now)) return false;
  if (outcome == L1Cache::Outcome::kHit) hits_.push({head.record, now + hit_cycles_});
  l1_.load(line, outcome, head.record.raw, records_[head.record].tenant);
  return true;
}

bool LoadStoreUnit::send(const Waiting& head, PhysAddr pa, AccessKind kind, Cycle now) {
  const u32 slice = wiring_.map.slice_of(pa);
  if (!wiring_.requests.can_send(port_, slice, now)) return false;
  const Record& record = records_[head.record];
  const u64 words = head.lines.words[head.next];
  const u32 lanes = static_cast<u32>(std::popcount(head.lines.lanes[head.next]));
  const bool whole = kind == AccessKind::kStore && coalescer_.covers_line(words);
  // Data that travels with the request: a store's words, an atomic's operands.
  const u32 data = kind == AccessKind::kLoad ? 0
                   : whole                   ? line_bytes_
                                             : std::min(line_bytes_ - 1, lanes * head.lane_bytes);
  const AccessRef ref = wiring_.accesses.make();
  Access& access = wiring_.accesses[ref];
  access.va = VirtAddr{head.lines.line[head.next] * line_bytes_};
  access.pa = pa;
  access.born = now;
  access.sm = SmId(port_);
  access.warp = record.warp;
  access.tenant = record.tenant;
  access.kind = kind;
  access.bytes = whole ? 0 : static_cast<u8>(data);
  access.inst = head.dynamic_id;
  access.owner = head.record.raw;
  access.atomic = head.atomic;
  access.past_l1 = head.past_l1;
  access.lanes = head.lines.lanes[head.next];
  wiring_.requests.send(port_, slice, now, ref, noc_.flits(data));
  return true;
}

Cycle LoadStoreUnit::next_wakeup(Cycle now) const {
  // A blocked head waits for a reply or for a place on the crossbar: both wake the SM.
  if (waiting_count_ > 0 && blocked_since_ == kNever) return now + 1;
  return hits_.empty() ? kNever : hits_.front().at;
}

void LoadStoreUnit::explain(std::ostream& out) const {
  if (waiting_count_ > 0) {
    const Waiting& head = waiting_[waiting_head_];
    out << waiting_count_ << " memory instructions wait; the oldest is at line " << head.next + 1 << " of "
        << head.lines.count << (blocked_since_ == kNever ? "" : ", blocked") << '\n';
  }
  if (records_.live() > waiting_count_) out << records_.live() << " memory instructions are not answered yet\n";
  if (l1_.misses_under_way() > 0) out << l1_.misses_under_way() << " L1 misses are under way\n";
}

}  // namespace terrace
