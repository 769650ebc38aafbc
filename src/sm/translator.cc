// SPDX-License-Identifier: MIT
#include "sm/translator.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "engine/search.h"

namespace terrace {

Translator::Translator(const L1TlbConfig& config, u32 line_shift, SmId sm, Wiring wiring)
    : config_(config),
      line_shift_(line_shift),
      page_shift_(wiring.spaces.page_shift()),
      lines_per_page_shift_(page_shift_ - line_shift),
      sm_(sm),
      wiring_(std::move(wiring)),
      looks_up_(wiring_.at == TranslateAt::kBeforeL1 || wiring_.at == TranslateAt::kAfterL1),
      tlb_(config, wiring_.mistake),
      misses_(config.miss_entries, config.miss_merges) {}

Translator::Outcome Translator::translate(const LineAccess& access, PhysAddr& pa, Cycle now) {
  const VirtAddr va{access.line << line_shift_};
  const PhysAddr truth = wiring_.spaces.locate(access.tenant, va);
  if (truth == AddressSpaces::kUnmapped) {
    new_pages_.push_back({access.tenant, va});
    return Outcome::kRefused;
  }
  if (!looks_up_) {
    pa = truth;
    return Outcome::kKnown;
  }
  if (follows_another(access)) return Outcome::kSetAside;
  const u64 unit = unit_of(access);
  if (pages_ == 0 || page_number_[last_page_] != unit) {
    const u32 known = known_page(unit);
    if (known == kNoPage) {
      if (look_up(access, unit, now) == Outcome::kRefused) return Outcome::kRefused;
    } else {
      last_page_ = known;
    }
  }
  const Page& its = page_[last_page_];
  if (its.wait.valid()) {
    park(its.wait, access);
    return Outcome::kSetAside;
  }
  pa = in_frame(its.frame, access);
  return Outcome::kKnown;
}

/// Behind a virtual L1, who follows an access to the same line keeps behind it: answers may come in another order than
/// requests, and the page may be in the TLB by then.
bool Translator::follows_another(const LineAccess& access) {
  if (wiring_.at != TranslateAt::kAfterL1 || parked_of_[places_of(access)] == 0) return false;
  const auto is_among = [&](ParkedRef first, PhysAddr& pa) {
    for (ParkedRef at = first; at.valid(); at = parked_[at].next) {
      pa = parked_[at].pa;
      const LineAccess& other = parked_[at].access;
      if (other.line == access.line && other.tenant == access.tenant) return true;
    }
    return false;
  };
  PhysAddr pa;
  if (is_among(ready_first_, pa)) {
    const ParkedRef last = make_parked(access);
    parked_[last].pa = pa;
    parked_[std::exchange(ready_last_, last)].next = last;
    return true;
  }
  WaitRef found;
  misses_.for_each_entry([&](u64, auto&& visit) {
    visit([&](WaitRef ref) {
      if (is_among(waits_[ref].first, pa)) found = ref;
    });
  });
  if (found.valid()) park(found, access);
  return found.valid();
}

/// Lines of one page stand beside each other, so that it counts once; should they not, it is asked for too many places.
bool Translator::has_places_for(const CoalescedLines& lines, TenantId tenant) {
  if (awaits_answer_) return false;
  u32 wanted = 0;
  u64 last = ~u64{0};
  for (u32 i = 0; i < lines.count; ++i) {
    const u64 page = lines.line[i] >> lines_per_page_shift_;
    if (page == std::exchange(last, page)) continue;
    wanted += tlb_.find(page_key(tenant, page_shift_, page)) < 0;
  }
  awaits_answer_ = misses_.size() + std::min(wanted, config_.miss_entries) > config_.miss_entries;
  return !awaits_answer_;
}

u32 Translator::known_page(u64 unit) const {
  const i32 known = find_key(page_number_.data(), pages_, unit);
  return known < 0 ? kNoPage : static_cast<u32>(known);
}

/// The first line of a page of its instruction, or any line if each is looked up. A refusal changes nothing.
Translator::Outcome Translator::look_up(const LineAccess& access, u64 unit, Cycle now) {
  if (config_.blocking && !misses_.empty()) return Outcome::kRefused;
  if (awaits_answer_) return Outcome::kRefused;
  const u64 page = page_of(access), key = page_key(access.tenant, page_shift_, page);
  Page its;
  if (const i32 entry = tlb_.find(key); entry >= 0) {
    its.frame = tlb_.use(entry);
    ++stats.hits[access.tenant];
  } else {
    Join outlook = Join::kFirst;
    if (config_.merge_misses) outlook = misses_.would_join(key);
    awaits_answer_ = outlook == Join::kFull || (!config_.merge_misses && misses_.full());
    if (awaits_answer_) return Outcome::kRefused;
    const Port& port = wiring_.port;
    awaits_place_ = outlook == Join::kFirst && !port.requests->can_push(index(sm_), now);
    if (awaits_place_) return Outcome::kRefused;
    its.wait = waits_.make();
    if (outlook == Join::kFirst) {
      port.requests->push(index(sm_), now,
                          {.key = key,
                           .page = page,
                           .inst = access.dynamic_id,
                           .tag = its.wait.raw,
                           .port = index(sm_),
                           .sm = sm_,
                           .warp = access.warp,
                           .tenant = access.tenant});
    } else if (port.merged_warps != nullptr) {
      tell_of_merge(access, key, now);
    }
    waits_[its.wait] = {{}, {}, access.record, pages_, now, outlook == Join::kFirst, access.warp, access.tenant};
    misses_.join(config_.merge_misses ? key : its.wait.raw, its.wait);
    ++(outlook == Join::kFirst ? stats.misses : stats.merges)[access.tenant];
  }
  ++stats.lookups[access.tenant];
  last_page_ = pages_;
  page_number_[pages_] = unit;
  page_[pages_] = its;
  ++pages_;
  return Outcome::kKnown;
}

/// Nobody waits for a place: the worst that a lost word does is that a warp's token does not count for one page.
void Translator::tell_of_merge(const LineAccess& access, u64 key, Cycle now) {
  if (wiring_.port.merged_warps->can_push(index(sm_), now)) {
    wiring_.port.merged_warps->push(index(sm_), now, {key, sm_, access.warp});
  } else {
    ++stats.untold_merges[access.tenant];
  }
}

Translator::ParkedRef Translator::make_parked(const LineAccess& access) {
  const ParkedRef ref = parked_.make();
  parked_[ref].access = access;
  parked_[ref].access.tlb_missed = true;
  ++parked_of_[places_of(access)];
  return ref;
}

void Translator::park(WaitRef wait, const LineAccess& access) {
  const ParkedRef ref = make_parked(access);
  Wait& its = waits_[wait];
  (its.first.valid() ? parked_[its.last].next : its.first) = ref;
  its.last = ref;
}

/// The page of one waiting instruction is known: its lines are ready, behind those that are ready already.
void Translator::release(WaitRef ref, const Translation& answer, Cycle now) {
  const Wait& wait = waits_[ref];
  for (ParkedRef line = wait.first; line.valid(); line = parked_[line].next) {
    parked_[line].pa = in_frame(answer.frame, parked_[line].access);
  }
  if (wait.asked) stats.miss_cycles[tenant_of_key(answer.key)] += now - wait.since;
  if (wait.first.valid()) {
    (ready_first_.valid() ? parked_[ready_last_].next : ready_first_) = wait.first;
    ready_last_ = wait.last;
  }
  // Lines of the same instruction that are still at the head need not wait any more.
  if (wait.page < pages_ && page_[wait.page].wait == ref) page_[wait.page] = {{}, answer.frame};
  waits_.free(ref);
}

void Translator::pop_ready() {
  const ParkedRef first = ready_first_;
  ready_first_ = parked_[first].next;
  --parked_of_[places_of(parked_[first].access)];
  parked_.free(first);
}

void Translator::commit_new_pages() {
  for (const NewPage& page : new_pages_) wiring_.spaces.touch(page.tenant, page.va);
  new_pages_.clear();
}

void Translator::archive(Archive& a) {
  SIM_CHECK(new_pages_.empty(), "SM {} is saved within a cycle", index(sm_));
  a(tlb_, misses_, waits_, parked_, ready_first_, ready_last_, awaits_answer_, awaits_place_, parked_of_,
    most_stalled_);
  a(pages_, last_page_);
  for (u32 i = 0; i < pages_; ++i) a(page_number_[i], page_[i]);
}

void Translator::explain(std::ostream& out) const {
  if (!misses_.empty()) out << misses_.size() << " pages are awaited from the L2 TLB\n";
  if (any_ready()) out << "lines whose page is known wait to go on\n";
}

}  // namespace terrace
