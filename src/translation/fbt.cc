// SPDX-License-Identifier: MIT
#include "translation/fbt.h"

#include <algorithm>
#include <bit>
#include <ostream>

namespace terrace {

Fbt::Fbt(Scheduler& scheduler, const FbtConfig& config, Wiring wiring)
    : scheduler_(scheduler),
      config_(config),
      wiring_(std::move(wiring)),
      table_(config.entries, config.ways, config.table_page_shift(wiring_.page_shift), wiring_.line_shift),
      ports_(config.ports),
      leaving_(kMostLeaving),
      awaited_(kMaxTenants) {
  const u32 slices = static_cast<u32>(wiring_.slices.size()), lines = wiring_.lines_per_slice;
  misses_ = MissTable<FetchRef>(slices * lines, slices * lines);
  look_ups_ = WaitingRing<LookUp>(slices * lines);
  notices_ = Ring<Notice>(slices * wiring_.notices_per_slice);
  results_ = Ring<Result>(config.ports * (config.cycles + 1));
  for (u32 i = 0; i < slices; ++i) {
    unasked_.emplace_back(slices * lines);
    // Every fetch of the slice, those of others that are replayed here, and lines on their way out.
    to_memory_.emplace_back(lines + wiring_.notices_per_slice + results_.capacity());
    commands_.emplace_back(lines + kMostLeaving + kMostProbes + results_.capacity());
  }
  for (const MmuPort& mmu : wiring_.mmus) {
    forward_.emplace_back(*mmu.from_tlb);
    to_tlb_.emplace_back(slices * lines);
    for (u32 input = 0; input < mmu.from_tlb->inputs(); ++input) to_mmu_.emplace_back(slices * lines);
  }
  for (u32 i = 0; i < wiring_.sms.size(); ++i) to_sms_.emplace_back(kMostLeaving);
}

void Fbt::enable_blame(u32 tenants) {
  blame.enable(tenants);
  ports_.count(blame, "ports",
               "misses of the L2 and of the L2 TLB wait for a port; holders: accesses in the same cycle");
  look_ups_.keep(blame, ports_.held());
  for (auto& requests : forward_) requests.keep_together(blame, ports_.held());
  parking_.keep(blame, "pages", "misses of the L2 wait for a page to leave the table; holder: the tenant of that page");
}

Cycle Fbt::tick(Cycle now) {
  blame.advance(now);
  accept_acknowledgements(now);
  accept_translations(now);
  accept_from_slices(now);
  serve(now);
  finish(now);
  send(now);
  return next_wakeup(now);
}

void Fbt::accept_acknowledgements(Cycle now) {
  Funnel<u32>& from_sms = wiring_.acknowledgements;
  from_sms.absorb(now);
  for (u32 sm = from_sms.next_ready(0); sm != Funnel<u32>::kNoInput; sm = from_sms.next_ready(0)) {
    const u32 place = from_sms.pop(sm, now);
    if (--leaving_[place].acknowledgements == 0) leave(place, now);
  }
}

void Fbt::accept_translations(Cycle now) {
  for (const SlicePort& slice : wiring_.slices) {
    while (slice.answers->front(now)) {
      const Translation answer = slice.answers->pop(now);
      ++stats.answers[tenant_of_key(answer.key)];
      const u64 page_bytes = page_bytes_of_key(answer.key);
      misses_.release(config_.merge_misses ? answer.key : answer.tag, [&](FetchRef ref) {
        DramRequest& request = fetches_[ref].request;
        request.line = {answer.frame.raw + (request.name.number() << wiring_.line_shift & (page_bytes - 1))};
        look_ups_.push({ref, request.tenant, now});
      });
    }
  }
}

void Fbt::accept_from_slices(Cycle now) {
  for (u32 i = 0; i < wiring_.slices.size(); ++i) {
    Link<DramRequest>& link = *wiring_.slices[i].from_slice;
    while (const DramRequest* first = link.front(now)) {
      if (first->is_posted()) {
        if (notices_.full()) break;
        notices_.push({link.pop(now), i});
        continue;
      }
      const FetchRef ref = fetches_.make();
      fetches_[ref] = {link.pop(now), i};
      ++stats.fetches[fetches_[ref].request.tenant];
      ask(ref);
    }
  }
}

/// Asks the L2 TLB, unless merged misses are one request and another one asks already.
void Fbt::ask(FetchRef ref) {
  const Fetch& fetch = fetches_[ref];
  const DramRequest& request = fetch.request;
  const u64 page = request.name.number() >> (wiring_.page_shift - wiring_.line_shift);
  const u64 key = page_key(request.tenant, wiring_.page_shift, page);
  if (misses_.join(config_.merge_misses ? key : ref.raw, ref) != Join::kFirst) return;
  ++stats.requests[request.tenant];
  unasked_[fetch.slice].push({.key = key,
                              .page = page,
                              .inst = 0,
                              .tag = ref.raw,
                              .port = static_cast<u16>(fetch.slice),
                              .sm = SmId(request.tag >> 8),
                              .warp = static_cast<u8>(request.tag),
                              .tenant = request.tenant});
}

void Fbt::serve(Cycle now) {
  ports_.begin();
  for (auto& requests : forward_) requests.absorb(now);
  while (ports_.any_free() && serve_one(now)) continue;
}

/// Word of lines that left goes before look-ups. Of the look-ups by physical and by virtual page the one that waits longer goes
/// next. A request of the CPU that is refused waits for a page to leave, which needs word of its lines: that is not held up.
bool Fbt::serve_one(Cycle now) {
  using Priority = FbtConfig::Priority;
  if (config_.priority == Priority::kCpuFirst && !from_cpu_.empty() && serve_cpu(now)) return true;
  if (!notices_.empty()) return serve_notice(now);
  if (!from_cpu_.empty()) {
    Cycle since = 0;  // as if it had come before all others
    if (config_.priority == Priority::kAge) since = from_cpu_.front().at;
    if (config_.priority == Priority::kLookUps) since = kNever;
    if (since <= oldest_look_up(now)) return serve_cpu(now);
  }
  return look_ups_.ready(now) && look_ups_.front().at <= oldest_forward() ? serve_look_up(now)
                                                                          : serve_forward_look_up(now);
}

bool Fbt::serve_notice(Cycle now) {
  const u32 slice = notices_.front().slice;
  if (to_memory_[slice].size() >= wiring_.notices_per_slice) return false;
  Notice notice = notices_.pop();
  DramRequest& request = notice.request;
  if (request.notice == DramRequest::Notice::kSynonymWrite) {  // its page may have left meanwhile
    ports_.take(request.tenant);
    count_fault(LineKey::of_tenant(request.tenant, request.words), request.name, true);
    return true;
  }
  const u32 entry = table_.by_page(page_of(request.name));
  SIM_CHECK(entry != FbtTable::kNone, "line {:#x} of tenant {} was in the L2 and its page is not in the forward table",
            request.name.number(), index(request.tenant));
  ports_.take(request.tenant);
  if (request.notice == DramRequest::Notice::kWritten) {
    ++stats.written[request.tenant];
    table_[entry].written = true;
    return true;
  }
  ++(request.write ? stats.write_backs : stats.dropped)[request.tenant];
  if (request.write) {
    request.line = address(entry, request.name);
    results_.push({.kind = Result::Kind::kMemory, .port = slice, .at = now + config_.cycles, .request = request});
  }
  if (!errs(Mistake::kKeepLineBit)) line_left(entry, line_in_page(request.name));
  return true;
}

bool Fbt::serve_cpu(Cycle now) {
  const CpuRequest request = from_cpu_.front();
  if (!(request.shootdown ? serve_shootdown(request, now) : serve_probe(request.line, now))) return false;
  from_cpu_.pop_front();
  return true;
}

bool Fbt::serve_probe(PhysAddr line, Cycle now) {
  const u32 entry = table_.by_frame(line);
  const u32 place = static_cast<u32>(line.raw >> wiring_.line_shift & ((u64{1} << lines_shift()) - 1));
  const bool cached = entry != FbtTable::kNone && table_[entry].count > 0 && table_.has(entry, place);
  const LineKey name = cached ? name_of(table_[entry].leading, place) : LineKey{};
  const u32 slice = cached ? wiring_.map.slice_of(name) : 0;
  if (cached && commands_[slice].size() >= kMostProbes) return false;
  ++stats.probes;
  if (!cached) {
    ports_.take_for_nobody();
    return ++stats.probes_filtered, true;
  }
  ports_.take(name.tenant());
  results_.push({.kind = Result::Kind::kCommand,
                 .port = slice,
                 .at = now + config_.cycles,
                 .command = {SliceCommand::Kind::kDropRange, name, name.next(), 0}});
  return true;
}

/// A page that is leaving already takes the shootdown with it.
bool Fbt::serve_shootdown(const CpuRequest& request, Cycle now) {
  const u64 page = request.page;
  const u32 entry = table_.by_page(page);
  if (entry != FbtTable::kNone && !table_[entry].locked) evict(entry, now);
  if (entry != FbtTable::kNone && !table_[entry].locked) return false;  // too many are leaving
  ++stats.shootdowns;
  ports_.take(tenant_of_key(page));
  if (entry == FbtTable::kNone) {
    ++stats.shootdowns_filtered;
    acknowledge(page, request.awaited);
    return true;
  }
  Leaving& its = *std::ranges::find(leaving_, entry, &Leaving::entry);
  if (its.shootdowns++ == 0) its.began = now;
  its.awaited += request.awaited;
  return true;
}

void Fbt::line_left(u32 entry, u32 line) {
  table_.clear_line(entry, line);
  if (!table_[entry].locked || table_[entry].count > 0) return;
  const auto its = std::ranges::find(leaving_, entry, &Leaving::entry);
  check_l1s(static_cast<u32>(its - leaving_.begin()));
}

/// When the look-up by virtual page that is next came; kNever if there is none.
Cycle Fbt::oldest_forward() const {
  Cycle oldest = kNever;
  for (const auto& requests : forward_) {
    const u32 input = requests->next_ready(turn_ % requests->inputs());
    if (input != Funnel<TranslationRequest>::kNoInput) oldest = std::min(oldest, requests->arrival(input));
  }
  return oldest;
}

/// Likewise the look-up of either kind.
Cycle Fbt::oldest_look_up(Cycle now) const {
  return std::min(look_ups_.ready(now) ? look_ups_.front().at : kNever, oldest_forward());
}

bool Fbt::serve_look_up(Cycle now) {
  const LookUp next = look_ups_.pop();
  ports_.take(next.tenant);
  look_up(next.fetch, now);
  return true;
}

void Fbt::look_up(FetchRef ref, Cycle now) {
  const DramRequest& request = fetches_[ref].request;
  const u64 page = page_of(request.name);
  u32 entry = table_.by_frame(request.line);
  // A page that moved may still be leaving under its old address.
  const u32 old = table_.by_page(page);
  if (old != FbtTable::kNone && old != entry && table_[old].locked) return park(ref, place_of(old), now);
  SIM_CHECK(old == entry || old == FbtTable::kNone || entry != FbtTable::kNone,
            "page {:#x} of tenant {} is in the forward table with another frame", page, index(request.tenant));
  if (entry == FbtTable::kNone) {
    bool all_locked = false;
    const u32 victim = table_.in_the_way(request.line, page, all_locked);
    if (victim != FbtTable::kNone || all_locked) return make_room(ref, victim, now);
    entry = table_.add(request.line, page);
    table_[entry].writable = may_write(page);
    ++stats.new_pages[request.tenant];
    return fetch_line(ref, entry, now);
  }
  if (table_[entry].locked && !errs(Mistake::kForgetPageLock)) return park(ref, place_of(entry), now);
  table_.use(entry);
  if (table_[entry].leading != page) return replay(ref, entry, now);
  if (request.check && table_.has(entry, line_in_page(request.name))) return grant(ref, entry, now);
  ++stats.leading[request.tenant];
  fetch_line(ref, entry, now);
}

void Fbt::fetch_line(FetchRef ref, u32 entry, Cycle now) {
  Fetch& fetch = fetches_[ref];
  table_.set_line(entry, line_in_page(fetch.request.name));
  table_[entry].written |= fetch.request.for_write;
  if (fetch.request.for_write) table_[entry].writable = may_write(table_[entry].leading);
  if (!table_[entry].writable) fetch.request.tag |= kReadOnlyPage;
  results_.push(
      {.kind = Result::Kind::kMemory, .port = fetch.slice, .at = now + config_.cycles, .request = fetch.request});
  fetches_.free(ref);
}

/// Its line is cached under the leading name, or will be: whoever waits for it looks there.
void Fbt::replay(FetchRef ref, u32 entry, Cycle now) {
  const Fetch& fetch = fetches_[ref];
  const DramRequest& request = fetch.request;
  ++stats.synonyms[request.tenant];
  const LineKey leading = name_of(table_[entry].leading, line_in_page(request.name));
  if (table_[entry].written || request.for_write) count_fault(request.name, leading, request.for_write);
  results_.push({.kind = Result::Kind::kCommand,
                 .port = fetch.slice,
                 .at = now + config_.cycles,
                 .command = {SliceCommand::Kind::kReplay, request.name, leading, 0, request.for_write,
                             !may_write(page_of(request.name))}});
  fetches_.free(ref);
}

/// A write found its line with a permission that is out of date: the page table has the last word. (The frontend refuses what
/// is forbidden when the instruction executes.)
void Fbt::grant(FetchRef ref, u32 entry, Cycle now) {
  const Fetch& fetch = fetches_[ref];
  SIM_CHECK(may_write(table_[entry].leading), "tenant {} writes to page {:#x}, which may only be read",
            index(fetch.request.tenant), table_[entry].leading);
  ++stats.permission_checks[fetch.request.tenant];
  table_[entry].writable = true;
  results_.push({.kind = Result::Kind::kCommand,
                 .port = fetch.slice,
                 .at = now + config_.cycles,
                 .command = {SliceCommand::Kind::kGrant, fetch.request.name, {}, 0}});
  fetches_.free(ref);
}

/// By what TLBs and walks say; they are told of every change, so that it is what the page table says.
bool Fbt::may_write(u64 page) const {
  return !wiring_.writable || wiring_.writable(tenant_of_key(page), {page_of_key(page) << table_.page_shift()});
}

/// Whoever writes under one name and reads under another may find what is old in an L1: no GPU can go on from there.
void Fbt::count_fault(LineKey name, LineKey leading, bool write) {
  ++stats.synonym_faults[name.tenant()];
  if (config_.rw_synonyms == FbtConfig::RwSynonyms::kCount) return;
  faults_.note({name.tenant(), {name.number() << wiring_.line_shift}, {leading.number() << wiring_.line_shift}, write});
  scheduler_.stop();
}

void Fbt::park(FetchRef ref, u32 place, Cycle now) {
  const TenantId tenant = fetches_[ref].request.tenant;
  ++stats.waits[tenant];
  parking_.park(ref, frame_of(ref), tenant, place, now);
}

/// Lines of one page wait together: a single other one goes for all of them.
void Fbt::make_room(FetchRef ref, u32 victim, Cycle now) {
  if (const u32 same = parking_.place_of(frame_of(ref)); same != parking_.kNowhere) return park(ref, same, now);
  if (victim != FbtTable::kNone) evict(victim, now);
  park(ref, victim != FbtTable::kNone && table_[victim].locked ? place_of(victim) : parking_.any(), now);
}

/// A page must go. One whose turn has not come is asked for again when another one has gone.
void Fbt::evict(u32 entry, Cycle now) {
  const auto place = std::ranges::find(leaving_, FbtTable::kNone, &Leaving::entry);
  if (place == leaving_.end()) return;
  *place = {.entry = entry};
  parking_.begins(place_of(entry), tenant_of_key(table_[entry].leading));
  table_[entry].locked = true;
  ++stats.evictions;
  stats.evicted_lines += table_[entry].count;
  if (table_[entry].count > 0) return drop_lines(entry, now);
  check_l1s(static_cast<u32>(place - leaving_.begin()));
}

void Fbt::drop_lines(u32 entry, Cycle now) {
  const u64 page = table_[entry].leading;
  const LineKey first = name_of(page, 0);
  std::vector<u64> by_slice(wiring_.slices.size());
  for (u64 left = table_[entry].lines; left != 0; left &= left - 1) {
    const u32 line = static_cast<u32>(std::countr_zero(left));
    by_slice[wiring_.map.slice_of(name_of(page, line))] |= u64{1} << line;
  }
  for (u32 i = 0; i < by_slice.size(); ++i) {
    if (!table_.has_vectors()) {
      commands_[i].push({SliceCommand::Kind::kDropRange, first, name_of(page, u32{1} << lines_shift()), 0});
    } else if (by_slice[i] != 0) {
      commands_[i].push({SliceCommand::Kind::kDrop, first, {}, by_slice[i]});
    }
  }
  scheduler_.wake(self_, now);
}

/// The L2 has no line of the page any more, and gets none while it is locked: the L1s are next.
void Fbt::check_l1s(u32 place) {
  Leaving& leaving = leaving_[place];
  leaving.in_l1s = true;
  leaving.acknowledgements = static_cast<u32>(wiring_.sms.size());
  stats.l1_checks += leaving.acknowledgements;
  for (Ring<PageInvalidation>& sm : to_sms_) sm.push({table_[leaving.entry].leading, place});
}

void Fbt::leave(u32 place, Cycle now) {
  const Leaving gone = std::exchange(leaving_[place], {});
  const u32 entry = gone.entry;
  const u64 page = table_[entry].leading;
  if (wiring_.truth != nullptr) wiring_.truth->page_leaves(page);
  table_.remove(entry);
  stats.shootdowns_done += gone.shootdowns;
  if (gone.shootdowns > 0) stats.shootdown_cycles += now - gone.began;
  acknowledge(page, gone.awaited);
  parking_.left(place, tenant_of_key(page),
                [&](FetchRef ref) { look_ups_.push({ref, fetches_[ref].request.tenant, now}); });
}

void Fbt::acknowledge(u64 page, u32 awaited) {
  awaited_[index(tenant_of_key(page))] -= awaited;
}

bool Fbt::serve_forward_look_up(Cycle now) {
  for (u32 i = 0, first_input = 0; i < forward_.size(); ++i) {
    WaitingFunnel<TranslationRequest>& requests = forward_[i];
    const u32 inputs = requests->inputs();
    const u32 input = requests->next_ready(turn_ % inputs);
    if (input == Funnel<TranslationRequest>::kNoInput) {
      first_input += inputs;
      continue;
    }
    turn_ = input + 1;
    const TranslationRequest request = requests.pop(input, now);
    ports_.take(request.tenant);
    ++stats.forward_lookups[request.tenant];
    const u32 entry = table_.by_page(request.key);
    const bool hit = entry != FbtTable::kNone && !table_[entry].locked;
    stats.forward_hits[request.tenant] += hit;
    Result result{.kind = hit ? Result::Kind::kTranslation : Result::Kind::kWalk,
                  .port = hit ? i : first_input + input,
                  .at = now + config_.cycles,
                  .wanted = request};
    if (hit) result.frame = table_[entry].frame;
    results_.push(result);
    return true;
  }
  return false;
}

void Fbt::finish(Cycle now) {
  while (!results_.empty() && results_.front().at <= now) {
    const Result result = results_.pop();
    switch (result.kind) {
      case Result::Kind::kMemory:
        to_memory_[result.port].push(result.request);
        break;
      case Result::Kind::kCommand:
        commands_[result.port].push(result.command);
        break;
      case Result::Kind::kTranslation:
        to_tlb_[result.port].push({result.wanted.key, result.frame, {}, 0});
        break;
      case Result::Kind::kWalk:
        to_mmu_[result.port].push(result.wanted);
        break;
    }
  }
}

void Fbt::send(Cycle now) {
  for (u32 i = 0; i < wiring_.slices.size(); ++i) {
    while (!unasked_[i].empty() && wiring_.requests.can_push(i, now)) wiring_.requests.push(i, now, unasked_[i].pop());
    while (!to_memory_[i].empty()) {
      Link<DramRequest>& channel = *wiring_.slices[i].channels[wiring_.map.channel_of(to_memory_[i].front().line)];
      if (!channel.can_push(now)) break;
      channel.push(now, to_memory_[i].pop());
    }
    Link<SliceCommand>& commands = *wiring_.slices[i].commands;
    if (!commands_[i].empty() && commands.can_push(now)) commands.push(now, commands_[i].pop());
  }
  for (u32 i = 0, first = 0; i < wiring_.mmus.size(); ++i) {
    const MmuPort& mmu = wiring_.mmus[i];
    if (!to_tlb_[i].empty() && mmu.to_tlb->can_push(now)) mmu.to_tlb->push(now, to_tlb_[i].pop());
    for (u32 input = 0; input < mmu.to_mmu->inputs(); ++input) {
      Ring<TranslationRequest>& waiting = to_mmu_[first + input];
      if (!waiting.empty() && mmu.to_mmu->can_push(input, now)) mmu.to_mmu->push(input, now, waiting.pop());
    }
    first += mmu.to_mmu->inputs();
  }
  for (u32 i = 0; i < to_sms_.size(); ++i) {
    Link<PageInvalidation>& link = *wiring_.sms[i];
    if (!to_sms_[i].empty() && link.can_push(now)) link.push(now, to_sms_[i].pop());
  }
}

/// What a link refused is woken for. Whatever is left beside that goes on in the next cycle.
Cycle Fbt::next_wakeup(Cycle now) const {
  const auto any = [](const auto& rings) {
    return std::ranges::any_of(rings, [](const auto& ring) { return !ring.empty(); });
  };
  const bool asked = std::ranges::any_of(forward_, [](const auto& requests) { return requests->any_ready(); });
  const bool blocked = !notices_.empty() && to_memory_[notices_.front().slice].size() >= wiring_.notices_per_slice;
  if (asked || !from_cpu_.empty() || (!notices_.empty() && !blocked) || (notices_.empty() && !look_ups_.empty()) ||
      any(commands_) || any(to_tlb_) || any(to_mmu_) || any(to_sms_) || any(to_memory_) || any(unasked_))
    return now + 1;
  return results_.empty() ? kNever : results_.front().at;
}

void Fbt::forget_line(LineKey line, Cycle now) {
  const u32 entry = table_.by_page(page_of(line));
  SIM_CHECK(entry != FbtTable::kNone, "line {:#x} was in the L2 and its page is not in the forward table",
            line.number());
  line_left(entry, line_in_page(line));
  scheduler_.wake(self_, now);
}

void Fbt::probe(PhysAddr line, Cycle now) {
  from_cpu_.push_back({.line = line, .at = now});
  scheduler_.wake(self_, now);
}

void Fbt::ask_to_shoot_down(u64 key, bool awaited, Cycle now) {
  const u64 parts = page_bytes_of_key(key) >> table_.page_shift();
  for (u64 i = 0; i < parts; ++i) {
    awaited_[index(tenant_of_key(key))] += awaited;
    from_cpu_.push_back({.shootdown = true,
                         .awaited = awaited,
                         .page = page_key(tenant_of_key(key), table_.page_shift(), page_of_key(key) * parts + i),
                         .line = {},
                         .at = now});
  }
  scheduler_.wake(self_, now);
}

void Fbt::shoot_down_all(Cycle now) {
  ++stats.flushes;
  table_.each_page([&](u64 page) {
    from_cpu_.push_back({.shootdown = true, .awaited = false, .page = page, .line = {}, .at = now});
  });
  scheduler_.wake(self_, now);
}

void Fbt::forget_page(u64 key, Cycle now) {
  blame.advance(now);
  // A page that the table divides has an entry for each part.
  const u64 bytes = page_bytes_of_key(key), parts = bytes >> table_.page_shift();
  for (u64 i = 0; i < parts; ++i) {
    const u32 entry = table_.by_page(page_key(tenant_of_key(key), table_.page_shift(), page_of_key(key) * parts + i));
    if (entry == FbtTable::kNone || table_[entry].locked) continue;
    if (table_[entry].count == 0) {
      table_.remove(entry);
    } else {
      evict(entry, now);
      SIM_CHECK(table_[entry].locked, "too many pages leave the forward-backward table at a time");
    }
  }
}

bool Fbt::tracks(LineKey line) const {
  const u32 entry = table_.by_page(page_of(line));
  return entry != FbtTable::kNone && table_.has(entry, line_in_page(line));
}

bool Fbt::idle() const {
  return fetches_.live() == 0 && notices_.empty() && from_cpu_.empty() && results_.empty() &&
         std::ranges::all_of(to_memory_, [](const auto& ring) { return ring.empty(); }) &&
         std::ranges::all_of(leaving_, [](const Leaving& page) { return page.entry == FbtTable::kNone; });
}

void Fbt::archive(Archive& a) {
  a(table_, ports_, fetches_, misses_, unasked_, look_ups_, notices_, results_, to_memory_, commands_, to_tlb_, to_mmu_,
    to_sms_);
  for (auto& requests : forward_) a(requests);
  a(leaving_, from_cpu_, parking_, awaited_, faults_, turn_, blame);
}

void Fbt::explain(std::ostream& out) const {
  if (!misses_.empty()) out << misses_.size() << " misses of the L2 await their translation\n";
  if (!look_ups_.empty()) out << look_ups_.size() << " wait to be looked up\n";
  if (const u32 parked = parking_.size()) out << parked << " wait for a page to leave the table\n";
  for (const Leaving& page : leaving_) {
    if (page.entry == FbtTable::kNone) continue;
    out << "a page leaves: ";
    if (page.in_l1s)
      out << page.acknowledgements << " L1s have not answered\n";
    else
      out << table_[page.entry].count << " lines are still in the L2\n";
  }
}

}  // namespace terrace
