// SPDX-License-Identifier: MIT
#include "cache/l2_slice.h"

#include <algorithm>
#include <bit>
#include <ostream>
#include <utility>

#include "engine/check.h"

namespace terrace {

namespace {

/// Who asked, for messages: an SM by its number, a page walk by its tenant's.
const char* asker(const Access& access) {
  return access.kind == AccessKind::kWalk ? "a page walk of tenant" : "SM";
}
u32 asker_number(const Access& access) {
  return access.kind == AccessKind::kWalk ? index(access.tenant) : index(access.sm);
}

}  // namespace

L2Slice::L2Slice(Scheduler& scheduler, const L2Config& config, const NocConfig& noc, LineShape lines,
                 AccessPool& accesses, Wiring wiring, PerformAtomic perform)
    : scheduler_(scheduler),
      config_(config),
      noc_(noc),
      lines_(lines),
      line_shift_(static_cast<u32>(std::countr_zero(lines.line_bytes()))),
      all_words_(all_words(lines.line_bytes())),
      accesses_(accesses),
      wiring_(std::move(wiring)),
      memory_(wiring_.memory, wiring_.map),
      perform_(std::move(perform)),
      victims_(config.victim.make(
          {.tenants = wiring_.tenants, .ways = config.ways, .slice = wiring_.port, .seed = wiring_.seed})),
      hits_(config.reply_entries),
      // A fill releases a whole entry at once, and is accepted only when none of the last one is left.
      filled_(config.miss_merges),
      // Every line on its way may push out a dirty one, and must find a place for it: else memory, which waits for its
      // answers to be taken, and this slice, which waits for memory to take a line, would wait for each other.
      // (A line that a table keeps track of may need another one, for word of its first write.)
      dirty_(config.miss_entries * (wiring_.names.commands != nullptr ? 2 : 1) + config.write_back_entries),
      tags_({.entries = config.bytes / config.slices / lines.line_bytes(), .ways = config.ways, .hash = config.index}),
      misses_(config.miss_entries, config.miss_merges),
      lies_at_(wiring_.virtual_names ? tags_.entries() : 0) {
  admission_ = config.admission.make({.tenants = wiring_.tenants, .slice = wiring_.port, .seed = wiring_.seed});
  if (admission_->admits_all()) admission_.reset();
  if (victims_->takes_lru()) victims_.reset();
}

void L2Slice::enable_blame(u32 tenants) {
  blame.enable(tenants);
  Resource& port = wiring_.replies.sender(wiring_.port);
  blame.count(port, "replies", "replies wait for the port into the crossbar; holder: the reply that left last", 1);
  filled_.keep(blame, port);
  hits_.keep(blame, port);
  memory_.keep_replies(
      blame, "fills",
      "lines from memory wait to be accepted; holder: the line accepted last, until its replies are sent");
  Blame& at_port = wiring_.requests.books(wiring_.port).keep(tenants);
  misses_.count_entries(at_port, "miss_entries", "requests wait for a miss entry (MSHR); holders: lines being fetched");
  at_port.count(hits_.entries(), "reply_entries",
                "requests wait for an entry of the reply queue; holders: queued replies");
  at_port.count(dirty_.entries(), "write_backs",
                "requests wait for an entry of the write-back queue; holders: queued dirty lines");
  memory_.count_links(at_port, "memory_link", "requests wait for the link to memory; holders: requests on it");
}

/// Those at the crossbar's port wait for what the one in front lacks.
bool L2Slice::wait_for(Resource& lack) {
  wiring_.requests.books(wiring_.port).refused(lack);
  return false;
}

/// A fetch must not overtake its own line on the way out. Over one link it cannot: lines that leave go first in each
/// tick, and the link takes one message per cycle. With several, another channel's line may hold up those behind it.
bool L2Slice::is_leaving(LineKey line) const {
  for (u32 i = 0; memory_.several() && i < dirty_.size(); ++i) {
    if (dirty_[i].line == line) return true;
  }
  return false;
}

Cycle L2Slice::tick(Cycle now) {
  if (hits_.counted()) blame.advance(now);
  wiring_.requests.absorb(wiring_.port, now);
  if (is_tracked()) accept_commands(now);
  accept_fill(now);
  send_replies(now);
  write_back(now);
  look_up(now);
  return next_wakeup(now);
}

/// A line leaves: what was written to it goes to memory, and a table that keeps track of it hears of it.
void L2Slice::retire(u32 entry) {
  const L2Line& old = tags_.meta(entry);
  const LineKey name = LineKey::from_raw(tags_.key(entry));
  const PhysAddr lies_at = lies_at_.empty() || name.is_physical() ? address(name) : lies_at_[entry];
  if (old.dirty) {
    dirty_.push({name, lies_at, old.tenant, not_written_back(old), DramRequest::Notice::kNone, old.copy});
  } else if (is_tracked()) {
    ++names_stats.clean_evictions;
    tell_of(DramRequest::Notice::kDropped, name, old.tenant);
  }
  wiring_.truth.leaves_l2(name);
}

void L2Slice::tell_of(DramRequest::Notice notice, LineKey line, TenantId tenant) {
  dirty_.push({line, kUnknownLine, tenant, 0, notice, {}});
}

void L2Slice::accept_fill(Cycle now) {
  const DramReply* reply = memory_.front(now);
  fill_waits_ = reply != nullptr && !filled_.empty();
  took_fill_ = reply != nullptr && !fill_waits_;
  if (!took_fill_) return;
  if (reply->name.is_line())
    fill_with(memory_.pop(now), now);
  else
    answer_bypass(*reply, now);
}

void L2Slice::fill_with(const DramReply& arrived, Cycle now) {
  L2Line meta{
      .writable = (arrived.tag & kReadOnlyPage) == 0, .missing = all_words_ & ~arrived.words, .copy = arrived.copy};
  if (!join_part(arrived.name, arrived.words, meta)) wiring_.truth.fills(meta.copy);
  ++stats.fills;
  event(now, "line {:#x} arrives from memory", arrived.name.number() << line_shift_);
  bool for_write = false, first = true;  // whether the table knows of a write: the fetch said whose it was
  const auto answer = [&](AccessRef waiter) {
    const Access& access = accesses_[waiter];
    if (std::exchange(first, false)) for_write = writes(access);
    if (is_denied(access, meta)) return look_again(waiter);
    meta.tenant = access.tenant;
    meta.walk_level = access.walk_level;
    perform(waiter, access, meta);
    filled_.push({.access = waiter, .tenant = access.tenant, .at = now + 1});
  };
  if (lines_.divided() && (misses_.awaited(arrived.name.raw()) &= ~arrived.words) != 0) {
    // In order: nobody overtakes a write to the line.
    bool ready = true;
    misses_.release_some(
        arrived.name.raw(),
        [&](AccessRef waiter) { return ready &= (meta.missing & wanted_words(accesses_[waiter])) == 0; }, answer);
    parts_.push_back({arrived.name, meta});
    return;
  }
  misses_.release(arrived.name.raw(), arrived.tenant, answer);
  if (!drop_on_arrival_.empty() && std::erase(drop_on_arrival_, arrived.name) > 0) {
    ++names_stats.dropped;
    return let_pass(arrived, meta);
  }
  if (is_kept(arrived.name, meta.tenant)) {
    allocate(arrived.name, arrived.line, meta);
    if (is_tracked() && meta.dirty && !for_write) tell_of_write(arrived.name, meta.tenant);
  } else if (is_tracked()) {
    let_pass(arrived, meta);
  }
}

/// A line that arrived and was answered with is not kept.
void L2Slice::let_pass(const DramReply& arrived, const L2Line& meta) {
  if (meta.dirty) {
    dirty_.push({arrived.name, arrived.line, meta.tenant, meta.missing, DramRequest::Notice::kNone, meta.copy});
  } else {
    ++names_stats.clean_evictions;
    tell_of(DramRequest::Notice::kDropped, arrived.name, meta.tenant);
  }
}

/// Whoever joins a fetch and wants the line kept, every write among them, takes it off the list.
bool L2Slice::is_kept(LineKey line, TenantId tenant) {
  if (unkept_.empty() || std::erase(unkept_, line) == 0) return true;
  ++admission_stats.not_kept[tenant];
  return false;
}

/// Words of a line that must all be fetched leave their place in the tags: an eviction while the rest is on its way would
/// write them to memory behind the fetch.
void L2Slice::set_aside(u32 entry) {
  parts_.push_back({LineKey::from_raw(tags_.key(entry)), tags_.meta(entry)});
  tags_.invalidate(entry);
  ++stats.completions;
}

/// The rest of a line arrives: words that were set aside are newer than memory's.
bool L2Slice::join_part(LineKey line, u64 arrived, L2Line& meta) {
  const auto part = std::ranges::find(parts_, line, &Part::line);
  if (part == parts_.end()) return false;
  wiring_.truth.joins(part->meta.copy, meta.copy);
  meta = part->meta;
  meta.missing &= ~arrived;
  *part = parts_.back();
  parts_.pop_back();
  return true;
}

void L2Slice::answer_bypass(const DramReply& reply, Cycle now) {
  const Handle<AccessRef> place{static_cast<u32>(reply.name.number())};
  const AccessRef ref = bypassing_[place];
  bypassing_.free(place);
  wiring_.truth.answers(ref, accesses_[ref], memory_.pop(now).copy);
  filled_.push({.access = ref, .tenant = accesses_[ref].tenant, .bypass = true, .at = now});
}

void L2Slice::allocate(LineKey line, PhysAddr at, const L2Line& meta) {
  const u32 victim = victim_for(line, meta);
  if (tags_.valid(victim)) retire(victim);
  tags_.fill(victim, line.raw()) = meta;
  if (!lies_at_.empty()) lies_at_[victim] = at;
  wiring_.truth.enters_l2(line, meta.copy);
}

u32 L2Slice::victim_for(LineKey line, const L2Line& meta) {
  if (!victims_) return tags_.victim(line.raw());
  const L2Set set(tags_, line.raw());
  const u32 victim = set.first() + victims_->victim(set, meta);
  const TenantId loses = tags_.meta(victim).tenant;
  SIM_CHECK(!victims_->divides_tenants() || !tags_.valid(victim) || loses == meta.tenant,
            "tenant {} pushes out a line of tenant {} although their ways are divided", index(meta.tenant),
            index(loses));
  return victim;
}

void L2Slice::send_replies(Cycle now) {
  for (u32 port = 0; port < config_.ports; ++port) {
    if (!send_reply(now)) return;
  }
}

bool L2Slice::send_reply(Cycle now) {
  reply_refused_ = false;
  WaitingRing<Reply>& queue = filled_.ready(now) ? filled_ : hits_;
  if (!queue.ready(now)) return false;
  const AccessRef ref = queue.front().access;
  const Access& access = accesses_[ref];
  const u32 output = access.port;
  reply_refused_ = !wiring_.replies.can_send(wiring_.port, output, now);
  if (reply_refused_) {
    // The port is free, but the SM's queue is full: of its own packets.
    if (wiring_.replies.input_free_at(wiring_.port) <= now) wiring_.replies.sender(wiring_.port).only(access.tenant);
    return false;
  }
  const bool carries_data = access.kind == AccessKind::kLoad;
  wiring_.replies.send(wiring_.port, output, now, ref,
                       noc_.flits(carries_data ? lines_.bytes(access.sectors) : access.bytes), access.tenant);
  ++(queue.front().bypass ? admission_stats.bypass_replies : stats.replies)[access.tenant];
  event(now, "replies to {} {}", asker(access), asker_number(access));
  queue.pop();
  return true;
}

void L2Slice::write_back(Cycle now) {
  write_back_refused_ = !dirty_.empty() && !memory_.can_send(dirty_.front().at, now);
  if (dirty_.empty() || write_back_refused_) return;
  const Dirty leaving = dirty_.pop();
  if (leaving.notice != DramRequest::Notice::kNone)
    return memory_.send({.line = leaving.at,
                         .name = leaving.line,
                         .tenant = leaving.tenant,
                         .words = ~leaving.missing,
                         .notice = leaving.notice},
                        now);
  if (!wiring_.truth.mistake.strikes(Mistake::kLoseWriteBack)) {
    memory_.send({.line = leaving.at,
                  .name = leaving.line,
                  .tenant = leaving.tenant,
                  .words = ~leaving.missing,
                  .write = true,
                  .copy = leaving.copy},
                 now);
  }
  ++stats.write_backs;
  stats.partial_write_backs += leaving.missing != 0;
  event(now, "line {:#x} is written back", leaving.line.number() << line_shift_);
}

void L2Slice::look_up(Cycle now) {
  u32 port = 0;
  // Replays wait here already, and hold up nobody: what is refused may be another line's.
  for (; is_tracked() && port < config_.ports && !replays_in_.empty(); ++port) {
    const AccessRef first = replays_in_.front();
    if (!look_up_one(first, accesses_[first], true, now)) break;
    ++names_stats.replays_in[accesses_[first].tenant];
    replays_in_.pop_front();
  }
  replays_took_ports_ = port == config_.ports;
  for (; port < config_.ports; ++port) {
    const AccessRef* head = wiring_.requests.front(wiring_.port, now);
    if (!head) return;
    const Access& access = accesses_[*head];
    const u32 busy = busy_cycles(access);
    if (!take(*head, now)) return;
    if (access.kind == AccessKind::kStore) last_store_ = {access.in_l2, access.sectors};
    wiring_.requests.receive(wiring_.port, now, busy);
  }
}

/// Of the port, besides the time that its packet takes to come in.
u32 L2Slice::busy_cycles(const Access& access) const {
  if (access.kind == AccessKind::kAtomic) return config_.atomic_cycles;
  if (access.kind != AccessKind::kStore) return 1;
  if (access.words == lines_.words(access.sectors)) return 1;
  const bool repeated = access.in_l2 == last_store_.line && (access.sectors & ~last_store_.sectors) == 0;
  return repeated && config_.repeated_store_cycles != 0 ? config_.repeated_store_cycles : config_.partial_store_cycles;
}

bool L2Slice::take(AccessRef ref, Cycle now) {
  const Access& access = accesses_[ref];
  if (!admission_) return look_up_one(ref, access, true, now);
  const L2Admission::Choice choice = admission_->admit({access.tenant, access.kind, access.walk_level});
  if (choice == L2Admission::Choice::kBypass) return bypass(ref, access, now);
  const bool reads = access.kind == AccessKind::kLoad || access.kind == AccessKind::kWalk;
  return look_up_one(ref, access, !reads || choice == L2Admission::Choice::kCache, now);
}

bool L2Slice::bypass(AccessRef ref, const Access& access, Cycle now) {
  SIM_CHECK(access.kind == AccessKind::kWalk, "a request of tenant {} for data bypasses the L2, where it may be dirty",
            index(access.tenant));
  const PhysAddr at = address(access.in_l2);
  if (!memory_.can_send(at, now)) return wait_for(memory_.link(at));
  const Handle<AccessRef> place = bypassing_.make();
  bypassing_[place] = ref;
  memory_.send({.line = at,
                .name = LineKey::no_line(place.raw),
                .tenant = access.tenant,
                .walk_level = access.walk_level,
                .words = lines_.fetched(access.sectors)},
               now);
  ++admission_stats.bypasses[access.tenant];
  return true;
}

bool L2Slice::takes_without_fetch(const Access& access) const {
  return access.kind == AccessKind::kStore && access.in_l2.is_physical() &&
         (masks() ? access.words != 0 : access.words == all_words_);
}

/// The words that must be there before an access can be performed. A load that fills an L1 needs the line, or its sectors; of
/// accesses to parts of words nothing else is known.
u64 L2Slice::wanted_words(const Access& access) const {
  const bool knows_its_words = access.words != 0;
  if (access.kind == AccessKind::kStore && knows_its_words) return 0;
  const bool only_these = knows_its_words && (access.kind == AccessKind::kAtomic || access.past_l1);
  return only_these ? access.words : lines_.fetched(access.sectors);
}

/// What an access that waits for its line asks memory for: the whole line, or the sectors that it reads, less what is here or
/// on its way.
u64 L2Slice::to_fetch(const Access& access, i32 entry, Join outlook) const {
  if (!lines_.divided()) return outlook == Join::kFirst ? ~u64{0} : 0;
  u64 missing = all_words_, awaited = 0;
  if (entry >= 0) {
    missing = tags_.meta(static_cast<u32>(entry)).missing;
  } else if (outlook == Join::kMerged) {
    const auto part = std::ranges::find(parts_, access.in_l2, &Part::line);
    if (part != parts_.end()) missing = part->meta.missing;
    awaited = misses_.awaited(access.in_l2.raw());
  }
  return lines_.words(lines_.sectors(wanted_words(access) & missing)) & missing & ~awaited;
}

/// The words of a dirty line that memory does not get: those that are not here, and sectors that were only read.
u64 L2Slice::not_written_back(const L2Line& line) const {
  return lines_.divided() ? line.missing | (all_words_ & ~lines_.words(line.written)) : line.missing;
}

i32 L2Slice::find(LineKey line) const {
  if (!line.is_physical() && wiring_.truth.mistake.strikes(Mistake::kDropTenantInL2)) {
    for (u32 i = 0; i < wiring_.tenants; ++i) {
      const i32 entry = tags_.find(LineKey::of_tenant(TenantId(i), line.number()).raw());
      if (entry >= 0) return entry;
    }
  }
  return tags_.find(line.raw());
}

/// False leaves everything as it was: some resource is full, and its release will tick this unit.
bool L2Slice::look_up_one(AccessRef ref, const Access& access, bool keep, Cycle now) {
  const LineKey line = access.in_l2;
  const i32 entry = find(line);
  const bool denied = entry >= 0 && waits_for_permission(access, tags_.meta(static_cast<u32>(entry)));
  const bool hit = entry >= 0 && !denied && (tags_.meta(static_cast<u32>(entry)).missing & wanted_words(access)) == 0;
  if (hit) {
    if (hits_.full()) return wait_for(hits_.entries());
    L2Line& found = tags_.meta(static_cast<u32>(entry));
    const bool clean = !found.dirty;
    if (is_tracked() && clean && writes(access) && too_many_dirty()) return wait_for(dirty_.entries());
    tags_.touch(static_cast<u32>(entry));
    perform(ref, access, found);
    if (is_tracked() && clean && found.dirty) tell_of_write(line, found.tenant);
    ++stats.hits[access.tenant];
    event(now, "line {:#x} for {} {} hits", line.number() << line_shift_, asker(access), asker_number(access));
  } else if (takes_without_fetch(access) && !misses_.contains(line.raw())) {
    if (hits_.full()) return wait_for(hits_.entries());
    if (too_many_dirty()) return wait_for(dirty_.entries());
    L2Line meta{.tenant = access.tenant, .missing = all_words_, .copy = wiring_.truth.taken(access)};
    perform(ref, access, meta);
    allocate(line, address(line), meta);
    ++stats.write_allocations[access.tenant];
  } else {
    const Join outlook = misses_.would_join(line.raw());
    if (outlook == Join::kFull) return wait_for(misses_.lack(line.raw(), access.tenant));
    const u64 fetched = to_fetch(access, entry, outlook);
    if (fetched != 0) {
      if (too_many_dirty() || is_leaving(line)) return wait_for(dirty_.entries());
      const PhysAddr at = address(line);
      if (!memory_.can_send(at, now)) return wait_for(memory_.link(at));
      memory_.send({.line = at,
                    .name = line,
                    .tag = asker_tag(access.sm, access.warp),
                    .tenant = access.tenant,
                    .walk_level = access.walk_level,
                    .words = fetched,
                    .for_write = writes(access),
                    .check = denied},
                   now);
      ++stats.fetches;
      const bool in_part = entry >= 0 && !denied;
      if (in_part) set_aside(static_cast<u32>(entry));
      if (!keep && !in_part && outlook == Join::kFirst) unkept_.push_back(line);
      stats.sector_misses[access.tenant] += lines_.divided() && (in_part || outlook == Join::kMerged);
    }
    if (outlook == Join::kMerged && keep && !unkept_.empty()) std::erase(unkept_, line);
    if (outlook == Join::kFirst)
      misses_.join_first(line.raw(), ref, access.tenant);
    else
      misses_.join(line.raw(), ref, access.tenant);
    if (lines_.divided()) misses_.awaited(line.raw()) |= fetched;
    // Whoever comes behind waits here too, even if only the line in the L1 was out of date.
    if (denied) tags_.meta(static_cast<u32>(entry)).writable = false;
    names_stats.denied += denied;
    ++(fetched != 0 ? stats.misses : stats.merges)[access.tenant];
    count(access, false);
    event(now, "line {:#x} for {} {} {}", line.number() << line_shift_, asker(access), asker_number(access),
          fetched != 0 ? "misses" : "joins a miss");
    return true;
  }
  hits_.push({.access = ref, .tenant = access.tenant, .at = now + config_.hit_cycles});
  count(access, hit);
  return true;
}

void L2Slice::count(const Access& access, bool hit) {
  ++stats.lookups[access.tenant];
  if (access.tlb_missed && access.kind == AccessKind::kLoad && !access.past_l1) {
    ++stats.tlb_missed_loads[access.tenant];
    stats.tlb_missed_hits[access.tenant] += hit;
  }
  if (admission_) admission_->looked_up({access.tenant, access.kind, access.walk_level}, hit);
  if (access.kind != AccessKind::kWalk) return;
  ++stats.walk_lookups[access.walk_level - 1][access.tenant];
  stats.walk_hits[access.walk_level - 1][access.tenant] += hit;
}

/// The line is here: a store or an atomic is performed, and the answer is settled.
void L2Slice::perform(AccessRef ref, const Access& access, L2Line& meta) {
  if (!meta.writable && !writes(access)) accesses_[ref].checked = true;
  if (writes(access)) {
    meta.dirty = true;
    meta.missing &= ~access.words;
    meta.written |= access.sectors;
    wiring_.truth.performs(meta.copy, access);
  }
  wiring_.truth.answers(ref, access, meta.copy);
  if (access.kind != AccessKind::kAtomic) return;
  ++stats.atomics[access.tenant];
  atomics_.push_back({access.tenant, access.atomic, access.lanes});
  scheduler_.defer(self_);
}

void L2Slice::commit(Cycle) {
  for (const PendingAtomic& pending : atomics_) perform_(pending.tenant, pending.atomic, pending.lanes);
  atomics_.clear();
}

/// Requests that may be looked up are woken for by the crossbar, unless replays left no port for them; one that was refused
/// waits for a reply or a dirty line to leave, for a fill, or for a place on the way to memory, and each of those ticks
/// this unit.
Cycle L2Slice::next_wakeup(Cycle now) {
  if (is_tracked() && (replays_took_ports_ || (!dropping_.empty() && !too_many_dirty()))) return now + 1;
  if (!dirty_.empty() && !write_back_refused_) return now + 1;
  if (filled_.empty() && (took_fill_ ? memory_.front(now) != nullptr : fill_waits_)) return now + 1;
  if (filled_.empty() && hits_.empty()) return kNever;
  Cycle next = kNever;
  // A port that is busy takes none before it is free.
  const Cycle soonest = std::max(now + 1, wiring_.replies.input_free_at(wiring_.port));
  for (const WaitingRing<Reply>* replies : {&filled_, &hits_}) {
    // The one that was refused is woken for; the other one's time may still come. (An empty ring has an old reply to show.)
    const Cycle at = replies->front().at;
    const bool counts = (replies->size() != 0) & ((at > now) | !reply_refused_);
    next = std::min(next, counts ? std::max(soonest, at) : kNever);
  }
  return next;
}

void L2Slice::archive(Archive& a) {
  a.part("an L2 slice");
  SIM_CHECK(atomics_.empty(), "L2 slice {} is saved within a cycle", wiring_.port);
  a(memory_, admission_, victims_, hits_, filled_, dirty_);
  a(reply_refused_, write_back_refused_, replays_took_ports_, fill_waits_, took_fill_, last_store_);
  a(tags_, misses_, lies_at_, unkept_, parts_, dropping_, drop_on_arrival_, replays_out_, replays_in_, bypassing_);
  a(blame);
}

void L2Slice::explain(std::ostream& out) const {
  if (!misses_.empty()) out << misses_.size() << " lines are awaited from memory\n";
  if (const u32 unread = memory_.unread()) out << unread << " answers of memory are on their link\n";
  if (const u32 stuck = memory_.stuck()) out << "its link to memory is full: " << stuck << " requests are not taken\n";
  if (!hits_.empty() || !filled_.empty()) {
    const WaitingRing<Reply>& first = filled_.empty() ? hits_ : filled_;
    const Access& access = accesses_[first.front().access];
    out << hits_.size() + filled_.size() << " replies wait to be sent, the first to " << asker(access) << " "
        << asker_number(access) << (reply_refused_ ? ", which takes none\n" : "\n");
  }
  if (!dropping_.empty()) out << dropping_.size() << " lines are to leave with their page\n";
  if (!drop_on_arrival_.empty()) out << drop_on_arrival_.size() << " lines are to leave when they arrive\n";
  if (!replays_in_.empty()) out << replays_in_.size() << " replays wait to be looked up\n";
  if (!dirty_.empty()) out << dirty_.size() << " dirty lines wait to be sent to memory\n";
  if (const u32 waiting = wiring_.requests.waiting(wiring_.port)) out << waiting << " requests wait to be looked up\n";
}

void L2Slice::forget(std::span<const LineRange> ranges, const std::function<void(LineKey)>& gone) {
  for (u32 entry = 0; entry < tags_.entries(); ++entry) {
    if (!tags_.valid(entry)) continue;
    const LineKey line = LineKey::from_raw(tags_.key(entry));
    // The first range that ends behind the line.
    const auto range =
        std::upper_bound(ranges.begin(), ranges.end(), line, [](LineKey at, const LineRange& r) { return at < r.end; });
    if (range == ranges.end() || line < range->first) continue;
    tags_.invalidate(entry);
    wiring_.truth.leaves_l2(line);
    if (gone) gone(line);
  }
}

void L2Slice::each_line(const std::function<void(LineKey)>& each) const {
  for (u32 entry = 0; entry < tags_.entries(); ++entry) {
    if (tags_.valid(entry)) each(LineKey::from_raw(tags_.key(entry)));
  }
}

}  // namespace terrace
