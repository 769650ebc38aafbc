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

namespace {

// For a timeline. Out of the way: inside the functions that call them they would make those too large to be inlined.
[[gnu::cold, gnu::noinline]] void request_begins(RequestFollower& follower, u32 record, u32 source_line, u32 lines,
                                                 const LineAccess& access, Cycle now) {
  follower.begins(record, {.began = now,
                           .source_line = source_line,
                           .lines = lines,
                           .warp = access.warp,
                           .tenant = access.tenant,
                           .kind = access.kind});
}
[[gnu::cold, gnu::noinline]] void request_leaves(RequestFollower& follower, u32 record, Cycle now) {
  follower.leaves_queue(record, now);
}
[[gnu::cold, gnu::noinline]] void request_goes_on(RequestFollower& follower, u32 record, Cycle now) {
  follower.goes_on(record, now);
}
[[gnu::cold, gnu::noinline]] void request_ends(RequestFollower& follower, u32 record, u32 walks, Cycle now) {
  follower.ends(record, walks, now);
}

AccessKind kind_of(MemoryAction action) {
  switch (action) {
    case MemoryAction::kLoad:
    case MemoryAction::kCopy:
      return AccessKind::kLoad;
    case MemoryAction::kStore:
      return AccessKind::kStore;
    default:
      return AccessKind::kAtomic;
  }
}

}  // namespace

LoadStoreUnit::LoadStoreUnit(const SmConfig& config, const L1Config& l1, const L1TlbConfig& tlb, const NocConfig& noc,
                             LineShape lines, SmId sm, Wiring wiring)
    : config_(config),
      noc_(noc),
      lines_(lines),
      line_shift_(static_cast<u32>(std::countr_zero(lines.line_bytes()))),
      port_(index(sm)),
      wiring_(std::move(wiring)),
      coalescer_(lines),
      translator_(tlb, line_shift_, sm, wiring_.translation),
      l1_(l1, lines),
      synonyms_(wiring_.pages.invalidations != nullptr ? l1.synonym_entries : 0,
                wiring_.pages.page_shift - line_shift_),
      waiting_(config.memory_queue),
      hits_(config.memory_ports * (l1.hit_cycles + 1)),
      leaving_(config.memory_ports * (tlb.hit_cycles + 1)),
      hit_cycles_(l1.hit_cycles),
      translate_at_(wiring_.translation.at),
      obeys_operators_(l1.cache_operators == L1Config::CacheOperators::kObeyed) {
  const Wiring::Pages& pages = wiring_.pages;
  if (pages.invalidations != nullptr) l1_.keep_filter(l1.filter_entries, pages.page_shift - line_shift_);
}

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
                      .action = effect.action,
                      .dynamic_id = dynamic_id};
  entry.common = {
      .record = record.raw,
      .atomic = static_cast<u32>(effect.atomic),
      .dynamic_id = dynamic_id,
      .tenant = tenant,
      .warp = warp,
      .lane_bytes = effect.bytes,
      .kind = kind_of(effect.action),
      .past_l1 = inst.volatile_access || (obeys_operators_ && inst.asks_l2 && effect.action == MemoryAction::kLoad)};
  entry.next = 0;
  // An L1 that is looked up by virtual names need not wait for the TLB.
  entry.at = now + (l1_is_virtual() ? 0 : translator_.hit_cycles()) + 1;
  ++stats.instructions[tenant];
  stats.lines[tenant] += entry.lines.count;
  if (follower_) [[unlikely]]
    request_begins(*follower_, record.raw, inst.line, entry.lines.count, entry.common, now);
}

void LoadStoreUnit::accept_replies(Cycle now, std::vector<Done>& done) {
  wiring_.replies.absorb(port_, now);
  while (!hits_.empty() && hits_.front().at <= now) complete_line(hits_.pop().record, now, done);
  while (wiring_.replies.front(port_, now)) accept_reply(now, done);
}

void LoadStoreUnit::accept_reply(Cycle now, std::vector<Done>& done) {
  const AccessRef ref = wiring_.replies.receive(port_, now);
  const Access& access = wiring_.accesses[ref];
  const RecordRef owner{access.owner};
  const LineCopy copy = wiring_.truth.completes(ref, access);
  const bool fills_l1 = access.kind == AccessKind::kLoad && !access.past_l1;
  if (fills_l1) {
    awaits_line_ = false;
    const auto tell = [&](const L1Cache::Waiter& waiter) {
      wiring_.truth.completes(waiter.wanted, copy);
      complete_line(RecordRef{waiter.record}, now, done);
    };
    // A synonym is answered with the line of the page that leads, and kept under that name if it may only be read there:
    // otherwise the SM may have written to it meanwhile.
    const LineKey leading = l2_is_virtual() ? access.in_l2 : access.in_l1;
    if (synonyms_.on() && leading != access.in_l1 && access.may_map)
      synonyms_.learn(LineKey::of_tenant(access.tenant, access.va.raw >> line_shift_), leading, access.tenant);
    if (leading == access.in_l1 || access.checked)
      l1_.fill(access.in_l1, leading, copy, tell, !access.checked, access.sectors);
    else
      l1_.let_pass(access.in_l1, tell);
  } else {
    if (access.denied) l1_.permit(access.in_l1);
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
  if (follower_) [[unlikely]]
    request_ends(*follower_, ref.raw, record.walks, now);
  done.push_back({record.warp, record.action, record.inst, record.dynamic_id});
  records_.free(ref);
}

void LoadStoreUnit::take_translations(Cycle now) {
  // Lines that waited for their page go first: it may be another one's turn.
  awaits_line_ = false;
  refusing_slice_ = kNoSlice;
  translator_.accept(
      now, [this](u32 record, const WalkReport& walk, Cycle latency) { note_walk(RecordRef{record}, walk, latency); });
}

void LoadStoreUnit::take_invalidations(Cycle now) {
  Wiring::Pages& pages = wiring_.pages;
  while (pages.invalidations->front(now)) {
    const PageInvalidation gone = pages.invalidations->pop(now);
    if (!wiring_.truth.mistake.strikes(Mistake::kSkipL1Filter)) l1_.drop_page(first_line_of(gone.page));
    if (synonyms_.on()) synonyms_.drop(first_line_of(gone.page));
    awaits_line_ = false;
    acknowledgements_.push_back(gone.id);
  }
  while (!acknowledgements_.empty() && pages.acknowledgements->can_push(port_, now)) {
    pages.acknowledgements->push(port_, now, acknowledgements_.front());
    acknowledgements_.erase(acknowledgements_.begin());
  }
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
  if (translates_after_l1()) send_translated(now);
  for (u32 port = 0; port < config_.memory_ports; ++port) {
    if (!anything_to_access(now)) return;
    if (is_still_refused(now) || !access_next(now)) {
      if (blocked_since_ == kNever) blocked_since_ = now;
      return;
    }
    settle(now);
    blocked_since_ = kNever;
  }
}

/// A blocked SM ticks for many reasons, and most change nothing for the access that is refused. What refused it says so
/// at once: nothing else can let it go, for a line that is neither in the L1 nor awaited there does not come without it.
bool LoadStoreUnit::is_still_refused(Cycle now) {
  if (awaits_line_ || translator_.still_refuses(now)) return true;
  return refusing_slice_ != kNoSlice && !wiring_.requests.can_send(port_, refusing_slice_, now);
}

/// Lines that waited for their page go before the instruction at the head. False leaves everything as it was.
bool LoadStoreUnit::access_next(Cycle now) {
  refusing_slice_ = kNoSlice;
  if (translates_after_l1() || !translator_.any_ready()) return access_head(now);
  if (!access_line(translator_.ready(), translator_.ready_address(), now)) return false;
  if (follower_) [[unlikely]]
    request_goes_on(*follower_, translator_.ready().record, now);
  translator_.pop_ready();
  return true;
}

bool LoadStoreUnit::access_head(Cycle now) {
  Waiting& head = waiting_[waiting_head_];
  LineAccess line = head.common;
  if (head.next == 0 && !translator_.admits(head.lines, line.tenant)) return false;
  line.line = head.lines.line[head.next];
  line.lanes = head.lines.lanes[head.next];
  line.words = head.lines.words[head.next];
  line.pieces = head.lines.pieces[head.next];
  line.sectors = head.lines.sectors[head.next];
  if (!(translates_after_l1() ? access_then_translate(line, now) : translate_then_access(line, now))) return false;
  if (++head.next < head.lines.count) return true;
  if (follower_) [[unlikely]]
    request_leaves(*follower_, line.record, now);
  translator_.begin_instruction();
  waiting_head_ = waiting_head_ + 1 == waiting_.size() ? 0 : waiting_head_ + 1;
  --waiting_count_;
  return true;
}

L1Cache::Outcome LoadStoreUnit::look_in_l1(LineKey& name, u8 sectors) const {
  if (l1_is_virtual() && wiring_.truth.mistake.strikes(Mistake::kDropTenantInL1)) {
    for (u32 i = 0; i < kMaxTenants; ++i) {
      const LineKey other = LineKey::of_tenant(TenantId(i), name.number());
      if (l1_.look(other, sectors) == L1Cache::Outcome::kHit) return name = other, L1Cache::Outcome::kHit;
    }
  }
  return l1_.look(name, sectors);
}

/// The translator stands before the L1, or nowhere on this side of the L2.
bool LoadStoreUnit::translate_then_access(LineAccess& line, Cycle now) {
  PhysAddr pa;
  switch (translator_.translate(line, pa, now)) {
    case Translator::Outcome::kRefused:
      return false;
    case Translator::Outcome::kKnown:
      return access_line(line, pa, now);
    case Translator::Outcome::kSetAside:
      break;
  }
  return true;
}

/// The translator stands behind the L1: only what leaves the SM needs an address.
bool LoadStoreUnit::access_then_translate(LineAccess& line, Cycle now) {
  LineKey name = virtual_name(line);
  const u8 touched = line.sectors;
  L1Cache::Outcome outcome = L1Cache::Outcome::kMiss;
  if (reads_l1(line)) outcome = look_in_l1(name, touched);
  awaits_line_ = outcome == L1Cache::Outcome::kRefused;
  if (awaits_line_) return false;
  if (outcome == L1Cache::Outcome::kMiss) {
    if (leaving_.full()) return false;
    line.wanted = ask(line);
    // What is sent later is what is not on its way now.
    if (reads_l1(line)) line.sectors = l1_.to_fetch(name, touched);
    PhysAddr pa;
    switch (translator_.translate(line, pa, now)) {
      case Translator::Outcome::kRefused:
        return false;
      case Translator::Outcome::kKnown:
        leaving_.push({line, pa, now + translator_.hit_cycles()});
        break;
      case Translator::Outcome::kSetAside:
        break;
    }
    line.sectors = touched;
  }
  note_in_l1(line, name, outcome, now);
  return true;
}

/// What has passed a virtual L1: first those that waited for their page, then those that found it in the TLB. Accesses to
/// one line stay in order.
void LoadStoreUnit::send_translated(Cycle now) {
  for (;;) {
    const bool waited = translator_.any_ready() && !is_leaving(translator_.ready());
    if (!waited && (leaving_.empty() || leaving_.front().at > now)) return;
    const LineAccess& line = waited ? translator_.ready() : leaving_.front().access;
    const PhysAddr pa = waited ? translator_.ready_address() : leaving_.front().pa;
    const u32 slice = slice_of(line, pa);
    if (!wiring_.requests.can_send(port_, slice, now)) return;
    send(line, pa, slice, line.sectors, line.wanted, now);
    if (waited && follower_) [[unlikely]]
      request_goes_on(*follower_, line.record, now);
    waited ? translator_.pop_ready() : void(leaving_.pop());
  }
}

bool LoadStoreUnit::is_leaving(const LineAccess& line) const {
  for (u32 i = 0; i < leaving_.size(); ++i) {
    const LineAccess& other = leaving_[i].access;
    if (other.line == line.line && other.tenant == line.tenant) return true;
  }
  return false;
}

void LoadStoreUnit::settle(Cycle now) {
  if (blocked_since_ == kNever) return;
  stats.blocked_cycles += now - blocked_since_;
  blocked_since_ = now;
}

WantedLine LoadStoreUnit::ask(const LineAccess& line) const {
  return wiring_.truth.asks(line.tenant, address_of(line), SmId(port_), line.kind != AccessKind::kLoad);
}

/// Its address is known. False leaves everything as it was.
bool LoadStoreUnit::access_line(const LineAccess& line, PhysAddr pa, Cycle now) {
  LineKey name = name_in_l1(line, pa);
  L1Cache::Outcome outcome = L1Cache::Outcome::kMiss;
  if (reads_l1(line)) outcome = look_in_l1(name, line.sectors);
  awaits_line_ = outcome == L1Cache::Outcome::kRefused;
  if (awaits_line_) return false;
  if (outcome == L1Cache::Outcome::kMiss) {
    const u32 slice = slice_of(line, pa);
    if (!wiring_.requests.can_send(port_, slice, now)) {
      refusing_slice_ = slice;
      return false;
    }
    send(line, pa, slice, reads_l1(line) ? l1_.to_fetch(name, line.sectors) : line.sectors, ask(line), now);
  }
  note_in_l1(line, name, outcome, now);
  return true;
}

/// The access goes ahead: the L1 finds the line, awaits it, or hears of a write.
void LoadStoreUnit::note_in_l1(const LineAccess& line, LineKey name, L1Cache::Outcome outcome, Cycle now) {
  const SmId sm{static_cast<u16>(port_)};
  if (line.kind == AccessKind::kLoad) {
    if (synonyms_.on()) synonyms_.stats.remapped[line.tenant] += name != virtual_name(line);
    if (line.past_l1) return;
    if (line.tlb_missed && !translates_after_l1()) {
      ++stats.tlb_missed[line.tenant];
      stats.tlb_missed_l1_hits[line.tenant] += outcome == L1Cache::Outcome::kHit;
      stats.tlb_missed_l1_merges[line.tenant] += outcome == L1Cache::Outcome::kMerged;
    }
    if (outcome == L1Cache::Outcome::kHit) hits_.push({RecordRef{line.record}, now + hit_cycles_});
    const u8 lacks = outcome == L1Cache::Outcome::kHit ? line.sectors : l1_.lacking(name, line.sectors);
    const WantedLine wanted = wiring_.truth.wants(line.tenant, address_of(line), sm, lacks);
    const LineCopy* found = l1_.load(name, outcome, {line.record, lacks, wanted}, line.tenant);
    if (found != nullptr) wiring_.truth.completes(wanted, *found);
    return;
  }
  wiring_.truth.writes_line(line.tenant, address_of(line), sm);
  if (line.kind == AccessKind::kAtomic) return l1_.atomic(name, line.tenant);
  if (LineCopy* copy = l1_.store(name, line.tenant)) wiring_.truth.updates(*copy, sm);
}

/// What travels with a request that does not write a whole line: of stores one value for each word, whichever lanes store to it;
/// of atomics every lane's operand.
u32 LoadStoreUnit::bytes_sent(const LineAccess& line) const {
  if (line.kind == AccessKind::kLoad) return 0;
  if (line.kind == AccessKind::kStore && line.words != 0) return 4 * static_cast<u32>(std::popcount(line.words));
  const u32 pieces = line.pieces != 0 ? line.pieces : static_cast<u32>(std::popcount(line.lanes));
  return std::min(lines_.line_bytes() - 1, pieces * line.lane_bytes);
}

void LoadStoreUnit::send(const LineAccess& line, PhysAddr pa, u32 slice, u8 sectors, const WantedLine& wanted,
                         Cycle now) {
  const bool whole = line.kind == AccessKind::kStore && coalescer_.covers_line(line.words);
  const u32 data = whole ? lines_.line_bytes() : bytes_sent(line);
  const AccessRef ref = wiring_.accesses.make();
  Access& access = wiring_.accesses[ref];
  access.va = address_of(line);
  access.in_l1 = name_in_l1(line, pa);
  access.in_l2 = name_in_l2(line, pa);
  access.sm = SmId(port_);
  access.port = static_cast<u16>(port_);
  access.warp = line.warp;
  access.tenant = line.tenant;
  access.kind = line.kind;
  access.bytes = whole ? 0 : static_cast<u8>(data);
  access.owner = line.record;
  access.atomic = line.atomic;
  access.past_l1 = line.past_l1;
  access.tlb_missed = line.tlb_missed;
  access.lanes = line.lanes;
  access.words = line.words;
  access.sectors = sectors;
  access.denied = line.kind != AccessKind::kLoad && l1_.denies_write(access.in_l1);
  if (access.denied) l1_.count_denied();
  wiring_.truth.sends(ref, wanted);
  wiring_.requests.send(port_, slice, now, ref, noc_.flits(data), line.tenant);
}

void LoadStoreUnit::archive(Archive& a) {
  a(translator_, l1_, synonyms_, records_);
  a.expect(waiting_.size(), "the entries of a load-store unit's queue");
  a(waiting_head_, waiting_count_);
  const u32 size = static_cast<u32>(waiting_.size());
  for (u32 i = 0; i < waiting_count_; ++i) a(waiting_[(waiting_head_ + i) % size]);
  a(hits_, leaving_, blocked_since_, acknowledgements_, awaits_line_, refusing_slice_);
  if (follower_) a(*follower_);
}

/// Of an instruction that is under way.
void LoadStoreUnit::Record::archive(Archive& a) {
  if (a.restores()) {
    restored = std::make_unique<DecodedInst>();
    a(*restored);
    inst = restored.get();
  } else {
    DecodedInst copy = *inst;
    a(copy);
  }
  a(born, lines_left, tenant, warp, action, dynamic_id, walks, reads);
  a(first_started, last_started, first_finished, last_finished, first_latency, last_latency);
}

Cycle LoadStoreUnit::next_wakeup(Cycle now) const {
  Cycle next = hits_.empty() ? kNever : hits_.front().at;
  // One that is due was refused, and is woken for.
  if (!leaving_.empty() && leaving_.front().at > now) next = std::min(next, leaving_.front().at);
  // What is blocked waits for a reply, for a translation or for a place on the way out: each wakes the SM.
  if (blocked_since_ != kNever) return next;
  if (!translates_after_l1() && translator_.any_ready()) return now + 1;
  if (waiting_count_ > 0) next = std::min(next, std::max(now + 1, waiting_[waiting_head_].at));
  return next;
}

void LoadStoreUnit::explain(std::ostream& out) const {
  if (waiting_count_ > 0) {
    const Waiting& head = waiting_[waiting_head_];
    out << waiting_count_ << " memory instructions wait; the oldest has sent " << head.next << " of "
        << head.lines.count << " line requests" << (blocked_since_ == kNever ? "" : ", blocked") << '\n';
  }
  if (records_.live() > waiting_count_) out << records_.live() << " memory instructions are not answered yet\n";
  translator_.explain(out);
  if (l1_.misses_under_way() > 0) out << l1_.misses_under_way() << " L1 misses are under way\n";
}

}  // namespace terrace
