// SPDX-License-Identifier: MIT
#include "sm/load_store.h"

#include <algorithm>
#include <bit>
#include <ostream>

namespace terrace {

void InstructionWalkStats::describe(StatFields& v) {
  v("instructions", instructions, "instructions", "memory instructions with at least one walk");
  v("walks", walks, "walks", "walks of these instructions");
  v("reads", reads, "lines", "page-table reads of these instructions");
  v("several", several, "instructions", "memory instructions with at least two walks");
  v("interleaved", interleaved, "instructions",
    "of the instructions with two walks or more: another instruction's walk started between two of their own");
  v("first_latency", first_latency, "cycles",
    "latency of the walk that ended first, summed over instructions with two walks or more");
  v("last_latency", last_latency, "cycles",
    "latency of the walk that ended last, summed over instructions with two walks or more");
  v("gap", gap, "cycles",
    "from the end of the first walk to the end of the last, summed over instructions with two walks or more");
  for (u32 i = 0; i < kBuckets; ++i) {
    const u32 low = i * kBucketReads + 1;
    const bool open = i + 1 == kBuckets;
    v(open ? fmt::format("work_{}_up", low) : fmt::format("work_{}_{}", low, low + kBucketReads - 1), work[i],
      "instructions",
      open ? fmt::format("instructions that needed at least {} page-table reads", low)
           : fmt::format("instructions that needed {} to {} page-table reads", low, low + kBucketReads - 1));
  }
  v.ratio("interleaved_share", sum(interleaved), sum(several),
          "interleaved instructions per instruction with two walks or more");
  v.ratio("mean_gap", sum(gap), sum(several), "mean cycles from the end of the first walk to the end of the last");
  v.ratio("mean_first_latency", sum(first_latency), sum(several), "cycles");
  v.ratio("mean_last_latency", sum(last_latency), sum(several), "cycles");
}

LoadStoreUnit::LoadStoreUnit(const SmConfig& config, const L1Config& l1, const L1TlbConfig& tlb, const NocConfig& noc,
                             u32 line_bytes, SmId sm, Wiring wiring)
    : config_(config),
      noc_(noc),
      line_bytes_(line_bytes),
      line_shift_(static_cast<u32>(std::countr_zero(line_bytes))),
      port_(index(sm)),
      wiring_(std::move(wiring)),
      coalescer_(line_bytes),
      translator_(tlb, line_shift_, sm, wiring_.translation),
      l1_(l1, line_bytes),
      waiting_(config.memory_queue),
      hits_(config.memory_ports * (l1.hit_cycles + 1)),
      hit_cycles_(l1.hit_cycles) {}

void LoadStoreUnit::accept(const Effect& effect, u64 lanes, const DecodedInst& inst, u8 warp, TenantId tenant,
                           u32 dynamic_id, Cycle now) {
  const u32 size = static_cast<u32>(waiting_.size()), tail = waiting_head_ + waiting_count_;
  Waiting& entry = waiting_[tail < size ? tail : tail - size];
  ++waiting_count_;
  coalescer_.coalesce(effect, lanes, entry.lines);
  const RecordRef record = records_.make();
  records_[record] = {.inst = &inst,
                      .born = now,
                      .lines_left = entry.lines.count,
                      .tenant = tenant,
                      .warp = warp,
                      .action = effect.action};
  entry.common = {.record = record.raw,
                  .atomic = static_cast<u32>(effect.atomic),
                  .dynamic_id = dynamic_id,
                  .tenant = tenant,
                  .warp = warp,
                  .lane_bytes = effect.bytes,
                  .past_l1 = inst.volatile_access};
  entry.next = 0;
  entry.at = now + translator_.hit_cycles() + 1;
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
  const LineCopy copy = wiring_.truth.completes(ref, access);
  const bool fills_l1 = access.kind == AccessKind::kLoad && !access.past_l1;
  if (fills_l1) {
    l1_.fill(access.pa.raw >> line_shift_, copy, [&](const L1Cache::Waiter& waiter) {
      wiring_.truth.completes(waiter.wanted, copy);
      complete_line(RecordRef{waiter.record}, now, done);
    });
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
  if (record.walks > 0) count_walks(record);
  done.push_back({record.warp, record.action, record.inst});
  records_.free(ref);
}

void LoadStoreUnit::accept_translations(Cycle now) {
  translator_.accept(
      now, [this](u32 record, const WalkReport& walk, Cycle latency) { note_walk(RecordRef{record}, walk, latency); });
}

void LoadStoreUnit::note_walk(RecordRef ref, const WalkReport& walk, Cycle latency) {
  Record& record = records_[ref];
  if (record.walks++ == 0) {
    record.first_started = record.last_started = walk.sequence;
    record.first_finished = record.last_finished = walk.finished;
    record.first_latency = record.last_latency = latency;
  }
  record.reads += walk.accesses;
  record.first_started = std::min(record.first_started, walk.sequence);
  record.last_started = std::max(record.last_started, walk.sequence);
  if (walk.finished < record.first_finished) {
    record.first_finished = walk.finished;
    record.first_latency = latency;
  }
  if (walk.finished > record.last_finished) {
    record.last_finished = walk.finished;
    record.last_latency = latency;
  }
}

void LoadStoreUnit::count_walks(const Record& record) {
  InstructionWalkStats& walks = stats.walks;
  ++walks.instructions[record.tenant];
  walks.walks[record.tenant] += record.walks;
  walks.reads[record.tenant] += record.reads;
  const u32 bucket = (record.reads - 1) / InstructionWalkStats::kBucketReads;
  ++walks.work[std::min(bucket, InstructionWalkStats::kBuckets - 1)][record.tenant];
  if (record.walks < 2) return;
  ++walks.several[record.tenant];
  // Its own walks alone would have consecutive numbers.
  walks.interleaved[record.tenant] += record.last_started - record.first_started + 1 > record.walks;
  walks.first_latency[record.tenant] += record.first_latency;
  walks.last_latency[record.tenant] += record.last_latency;
  walks.gap[record.tenant] += record.last_finished - record.first_finished;
}

void LoadStoreUnit::advance(Cycle now) {
  for (u32 port = 0; port < config_.memory_ports; ++port) {
    if (!translator_.any_ready() && (waiting_count_ == 0 || waiting_[waiting_head_].at > now)) return;
    if (!advance_one(now)) {
      if (blocked_since_ == kNever) blocked_since_ = now;
      return;
    }
    settle(now);
    blocked_since_ = kNever;
  }
}

/// Lines that waited for their page go before the instruction at the head. False leaves everything as it was.
bool LoadStoreUnit::advance_one(Cycle now) {
  if (!translator_.any_ready()) return advance_head(now);
  if (!access_line(translator_.ready(), translator_.ready_address(), now)) return false;
  translator_.pop_ready();
  return true;
}

bool LoadStoreUnit::advance_head(Cycle now) {
  Waiting& head = waiting_[waiting_head_];
  LineAccess access = head.common;
  if (head.next == 0 && !translator_.admits(head.lines, access.tenant)) return false;
  access.line = head.lines.line[head.next];
  access.lanes = head.lines.lanes[head.next];
  access.words = head.lines.words[head.next];
  PhysAddr pa;
  switch (translator_.translate(access, pa, now)) {
    case Translator::Outcome::kRefused:
      return false;
    case Translator::Outcome::kKnown:
      if (!access_line(access, pa, now)) return false;
      break;
    case Translator::Outcome::kSetAside:
      break;
  }
  if (++head.next < head.lines.count) return true;
  translator_.begin_instruction();
  waiting_head_ = waiting_head_ + 1 == waiting_.size() ? 0 : waiting_head_ + 1;
  --waiting_count_;
  return true;
}

void LoadStoreUnit::settle(Cycle now) {
  if (blocked_since_ == kNever) return;
  stats.blocked_cycles += now - blocked_since_;
  blocked_since_ = now;
}

/// False leaves everything as it was.
bool LoadStoreUnit::access_line(const LineAccess& access, PhysAddr pa, Cycle now) {
  switch (records_[RecordRef{access.record}].action) {
    case MemoryAction::kLoad:
      return load_line(access, pa, now);
    case MemoryAction::kStore:
      if (!send(access, pa, AccessKind::kStore, now)) return false;
      if (LineCopy* copy = l1_.store(pa.raw >> line_shift_, access.tenant)) wiring_.truth.updates(*copy, SmId(port_));
      return true;
    default:
      if (!send(access, pa, AccessKind::kAtomic, now)) return false;
      l1_.atomic(pa.raw >> line_shift_, access.tenant);
      return true;
  }
}

bool LoadStoreUnit::load_line(const LineAccess& access, PhysAddr pa, Cycle now) {
  if (access.past_l1) return send(access, pa, AccessKind::kLoad, now);
  const u64 line = pa.raw >> line_shift_;
  const L1Cache::Outcome outcome = l1_.look(line);
  if (outcome == L1Cache::Outcome::kRefused) return false;
  if (outcome == L1Cache::Outcome::kMiss && !send(access, pa, AccessKind::kLoad, now)) return false;
  if (outcome == L1Cache::Outcome::kHit) hits_.push({RecordRef{access.record}, now + hit_cycles_});
  const WantedLine wanted = wiring_.truth.wants(access.tenant, {access.line << line_shift_}, SmId(port_));
  const LineCopy* found = l1_.load(line, outcome, {access.record, wanted}, access.tenant);
  if (found != nullptr) wiring_.truth.completes(wanted, *found);
  return true;
}

bool LoadStoreUnit::send(const LineAccess& line, PhysAddr pa, AccessKind kind, Cycle now) {
  const u32 slice = wiring_.map.slice_of(pa);
  if (!wiring_.requests.can_send(port_, slice, now)) return false;
  const u32 lanes = static_cast<u32>(std::popcount(line.lanes));
  const bool whole = kind == AccessKind::kStore && coalescer_.covers_line(line.words);
  // Data that travels with the request: a store's words, an atomic's operands.
  const u32 data = kind == AccessKind::kLoad ? 0
                   : whole                   ? line_bytes_
                                             : std::min(line_bytes_ - 1, lanes * line.lane_bytes);
  const AccessRef ref = wiring_.accesses.make();
  Access& access = wiring_.accesses[ref];
  access.va = VirtAddr{line.line * line_bytes_};
  access.pa = pa;
  access.born = now;
  access.sm = SmId(port_);
  access.warp = line.warp;
  access.tenant = line.tenant;
  access.kind = kind;
  access.bytes = whole ? 0 : static_cast<u8>(data);
  access.inst = line.dynamic_id;
  access.owner = line.record;
  access.atomic = line.atomic;
  access.past_l1 = line.past_l1;
  access.lanes = line.lanes;
  wiring_.truth.sends(ref, access);
  wiring_.requests.send(port_, slice, now, ref, noc_.flits(data), line.tenant);
  return true;
}

Cycle LoadStoreUnit::next_wakeup(Cycle now) const {
  Cycle next = hits_.empty() ? kNever : hits_.front().at;
  // What is blocked waits for a reply, for a translation or for a place on the way out: each wakes the SM.
  if (blocked_since_ != kNever) return next;
  if (translator_.any_ready()) return now + 1;
  if (waiting_count_ > 0) next = std::min(next, std::max(now + 1, waiting_[waiting_head_].at));
  return next;
}

void LoadStoreUnit::explain(std::ostream& out) const {
  if (waiting_count_ > 0) {
    const Waiting& head = waiting_[waiting_head_];
    out << waiting_count_ << " memory instructions wait; the oldest is at line " << head.next + 1 << " of "
        << head.lines.count << (blocked_since_ == kNever ? "" : ", blocked") << '\n';
  }
  if (records_.live() > waiting_count_) out << records_.live() << " memory instructions are not answered yet\n";
  translator_.explain(out);
  if (l1_.misses_under_way() > 0) out << l1_.misses_under_way() << " L1 misses are under way\n";
}

}  // namespace terrace
