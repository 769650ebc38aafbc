// SPDX-License-Identifier: MIT
#include "translation/l2_tlb.h"

#include <algorithm>
#include <bit>
#include <ostream>

#include "translation/address_space.h"

namespace terrace {

L2Tlb::L2Tlb(const L2TlbConfig& config, Wiring wiring)
    : config_(config),
      wiring_(std::move(wiring)),
      requests_(wiring_.requests),
      tlbs_(wiring_.tlbs, Tlb(config, wiring_.mistake)),
      taken_banks_(wiring_.tlbs),
      passed_over_((wiring_.replies.size() + 63) / 64),
      fill_policy_(config.fill.make(
          {.tenants = wiring_.tenants, .sms = wiring_.sms, .warps = wiring_.warps, .seed = wiring_.seed})),
      bypass_(TlbConfig{.entries = fill_policy_->bypass_entries()}, wiring_.mistake),
      // A port that does not merge asks for a page as often as it may await answers.
      misses_(config.miss_entries, static_cast<u32>(wiring_.replies.size()) * wiring_.replies_per_port),
      // Without a limit, as many as may await answers.
      hits_(config.ports == 0 ? static_cast<u32>(wiring_.replies.size()) * wiring_.replies_per_port
                              : config.ports * wiring_.tlbs * (config.hit_cycles + 1)),
      held_up_((wiring_.replies.size() + 63) / 64),
      nobody_(held_up_.size()),
      held_key_(wiring_.replies.size()),
      seen_(kMaxTenants * wiring_.sms) {
  for (const MmuPort& mmu : wiring_.mmus) {
    for (u32 input = 0; input < mmu.inputs; ++input) {
      const u32 number = static_cast<u32>(&mmu - wiring_.mmus.data());
      ports_.push_back({mmu.requests, input, number, WaitingRing<Miss>(config.miss_entries)});
    }
  }
  for (u32 i = 0; i < wiring_.tlbs; ++i) tlb_ports_.emplace_back(config.ports);
  at_mmu_.resize(wiring_.mmus.size());
  for (u32 i = 0; i < wiring_.replies.size(); ++i) outbox_.emplace_back(wiring_.replies_per_port);
  sending_.reserve(wiring_.replies.size());
}

Cycle L2Tlb::tick(Cycle now) {
  blame.advance(now);
  requests_.absorb(now);
  if (wiring_.merged_warps != nullptr) accept_merged_warps(now);
  accept_results(now);
  look_up(now);
  // While every miss entry is taken, an input whose first request needs one waits for it, and all others for a port.
  requests_.lacking(misses_.full() ? held_up_ : nobody_);
  send_misses(now);
  send_replies(now);
  return next_wakeup(now);
}

L2Tlb::MissPort& L2Tlb::port_of(TenantId tenant) {
  const u32 mmus = static_cast<u32>(wiring_.mmus.size());
  const u32 mmu = mmus == 1 ? 0 : index(tenant);
  const u32 inputs = wiring_.mmus[mmu].inputs;
  return ports_[mmu * inputs + (inputs == 1 ? 0 : index(tenant))];
}

void L2Tlb::accept_results(Cycle now) {
  for (u32 i = 0; i < wiring_.mmus.size(); ++i) {
    for (Link<Translation>* results : {wiring_.mmus[i].results, wiring_.mmus[i].early_results}) {
      while (results != nullptr && results->front(now)) accept_result(results->pop(now), i, now);
    }
  }
}

void L2Tlb::accept_result(Translation result, u32 mmu, Cycle now) {
  const TenantId tenant = tenant_of_key(result.key);
  at_mmu_[mmu].remove(tenant);
  ++stats.fills[tenant];
  event(now, "page {:#x} of tenant {} arrives", address_of_key(result.key), index(tenant_of_key(result.key)));
  bool first = true;
  askers_.clear();
  misses_.release(result.key, tenant, [&](const Waiter& waiter) {
    askers_.push_back(waiter.asker);
    if (first) stats.miss_cycles[tenant] += now - waiter.since;
    result.tag = waiter.tag;
    reply(waiter.port, result, now);
    // The walk is the first one's; the others only waited for it.
    if (std::exchange(first, false)) result.walk = {};
  });
  fill(result, tenant);
}

void L2Tlb::fill(const Translation& result, TenantId tenant) {
  if (const auto merged = merged_.find(result.key); merged != merged_.end()) {
    askers_.insert(askers_.end(), merged->second.begin(), merged->second.end());
    merged_.erase(merged);
  }
  SIM_CHECK(!bypass_.exists() || (bypass_.find(result.key) < 0 && tlb_of(tenant).find(result.key) < 0),
            "page {:#x} is filled although the L2 TLB or its bypass cache holds it", result.key);
  switch (fill_policy_->choose(result.key, tenant, askers_)) {
    case TlbFillPolicy::Into::kTlb:
      if (config_.walk_pages > 1) fill_neighbours(result.key, tenant);
      stats.evictions += tlb_of(tenant).fill(result.key, result.frame);
      break;
    case TlbFillPolicy::Into::kBypass:
      bypass_.fill(result.key, result.frame);
      ++bypass_stats.fills[tenant];
      break;
    case TlbFillPolicy::Into::kNowhere:
      break;
  }
}

/// Pages that are mapped, and neither here nor on their way. They come before the page that was asked for, so that they do not
/// push it out.
void L2Tlb::fill_neighbours(u64 key, TenantId tenant) {
  Tlb& tlb = tlb_of(tenant);
  const u64 first = key & ~u64{config_.walk_pages - 1};
  for (u64 other = first; other < first + config_.walk_pages; ++other) {
    if (other == key || tlb.find(other) >= 0 || bypass_.find(other) >= 0 || misses_.contains(other)) continue;
    const PhysAddr frame = wiring_.locate(other);
    if (frame == AddressSpaces::kUnmapped) continue;
    stats.evictions += tlb.fill(other, frame);
    ++stats.neighbours[tenant];
  }
}

/// Word that comes after the page is of no use any more.
void L2Tlb::accept_merged_warps(Cycle now) {
  Funnel<MergedWarp>& word = *wiring_.merged_warps;
  word.absorb(now);
  for (u32 sm = word.next_ready(0); sm != Funnel<MergedWarp>::kNoInput; sm = word.next_ready(0)) {
    const MergedWarp merged = word.pop(sm, now);
    if (misses_.contains(merged.key)) merged_[merged.key].push_back({merged.sm, merged.warp});
  }
}

void L2Tlb::enable_blame(u32 tenants) {
  blame.enable(tenants);
  std::vector<Resource*> looked_up;
  for (CyclePorts& ports : tlb_ports_) {
    ports.count(blame, "ports", "requests wait for a port; holders: requests looked up in the same cycle");
    looked_up.push_back(&ports.held());
  }
  misses_.count_entries(blame, "misses", "requests wait for a miss entry (MSHR); holders: pages waiting for walks");
  requests_.keep_inputs(blame, std::move(looked_up), misses_.entries());
  for (Resource& mmu : at_mmu_)
    blame.count(mmu, "mmu", "misses wait for an entry in the queue to the MMU; holders: requests in it");
  for (MissPort& port : ports_) port.waiting.keep(blame, at_mmu_[port.mmu]);
  for (OutletRing<Reply>& box : outbox_)
    box.keep(blame, "answers", "answers wait for the link to an SM; holder: the answer that left last");
}

void L2Tlb::look_up(Cycle now) {
  // While every place for a miss is taken, those that need one are not asked again.
  std::ranges::copy(misses_.full() ? held_up_ : nobody_, passed_over_.begin());
  for (CyclePorts& ports : tlb_ports_) ports.begin();
  if (has_banks()) std::ranges::fill(taken_banks_, 0);
  // Every request that is looked up leaves the queue, and every other one is passed over: it ends without a limit too.
  for (u32 left = config_.ports == 0 ? ~u32{0} : config_.ports * static_cast<u32>(tlbs_.size()); left > 0;) {
    const u32 sm = requests_->next_ready(pointer_, passed_over_);
    if (sm == Funnel<TranslationRequest>::kNoInput) return;
    const TranslationRequest& request = requests_->front(sm);
    const TenantId tenant = request.tenant;
    CyclePorts& ports = tlb_ports_[tlb_number(tenant)];
    const u64 own = u64{1} << sm % 64;
    u64& taken = taken_banks_[tlb_number(tenant)];
    const u64 bank = has_banks() ? bank_of(request.key) : 0;
    const bool conflict = (taken & bank) != 0;
    if (!ports.any_free() || conflict) {
      bank_stats.conflicts[tenant] += conflict && ports.any_free();
      passed_over_[sm / 64] |= own;
      continue;
    }
    if (!look_up_one(request, now)) {
      passed_over_[sm / 64] |= own;
      held_up_[sm / 64] |= own;
      held_key_[sm] = request.key;
      continue;
    }
    held_up_[sm / 64] &= ~own;
    ports.take(tenant);
    taken |= bank;
    const u32 inst = requests_.pop(sm, now).inst;
    const bool goes_on =
        config_.turn == L2TlbConfig::Turn::kInstruction && !requests_->empty(sm) && requests_->front(sm).inst == inst;
    pointer_ = goes_on ? sm : sm + 1 == requests_->inputs() ? 0 : sm + 1;
    --left;
    // This one took the last place: those that were held up before need not be asked.
    for (u32 word = 0; misses_.full() && word < passed_over_.size(); ++word) passed_over_[word] |= held_up_[word];
  }
}

/// A page is awaited: whoever was held up with it need not wait for a place.
void L2Tlb::let_go(u64 key) {
  for (u32 word = 0; word < held_up_.size(); ++word) {
    for (u64 left = held_up_[word]; left != 0; left &= left - 1) {
      const u32 bit = static_cast<u32>(std::countr_zero(left));
      if (held_key_[word * 64 + bit] == key) held_up_[word] &= ~(u64{1} << bit);
    }
  }
}

/// False leaves everything as it was: a fill will make room.
bool L2Tlb::look_up_one(const TranslationRequest& request, Cycle now) {
  Tlb* tlb = &tlb_of(request.tenant);
  i32 entry = tlb->find(request.key);
  if (entry < 0 && bypass_.exists()) {
    tlb = &bypass_;
    entry = tlb->find(request.key);
    bypass_stats.hits[request.tenant] += entry >= 0;
  }
  if (entry >= 0) {
    hits_.push({{request.key, tlb->use(entry), {}, request.tag}, request.port, now + config_.hit_cycles});
    ++stats.hits[request.tenant];
  } else {
    switch (misses_.join(request.key, {request.port, {request.sm, request.warp}, now, request.tag}, request.tenant)) {
      case Join::kFull:
        return false;
      case Join::kMerged:
        ++stats.merges[request.tenant];
        break;
      case Join::kFirst:
        let_go(request.key);
        port_of(request.tenant).waiting.push({request, now + config_.hit_cycles});
        ++stats.misses[request.tenant];
        break;
    }
  }
  event(now, "page {:#x} of tenant {} for SM {} {}", address_of_key(request.key), index(request.tenant),
        index(request.sm), entry >= 0 ? "hits" : "misses");
  ++stats.lookups[request.tenant];
  fill_policy_->looked_up(request.tenant, entry >= 0);
  count_wavefront(request);
  return true;
}

void L2Tlb::count_wavefront(const TranslationRequest& request) {
  const std::size_t sms = wiring_.sms;
  seen_[index(request.tenant) * sms + index(request.sm)] |= u64{1} << request.warp;
  if (++seen_lookups_ < kEpoch) return;
  for (std::size_t i = 0; i < seen_.size(); ++i)
    stats.wavefronts[TenantId(i / sms)] += static_cast<u64>(std::popcount(seen_[i]));
  ++stats.wavefront_epochs;
  for (const Tlb& tlb : tlbs_) tlb.each_tenant([this](TenantId tenant) { ++stats.held[tenant]; });
  std::fill(seen_.begin(), seen_.end(), 0);
  seen_lookups_ = 0;
}

void L2Tlb::send_misses(Cycle now) {
  for (MissPort& port : ports_) {
    port.refused = false;
    if (!port.waiting.ready(now)) continue;
    port.refused = !port.requests->can_push(port.input, now);
    if (port.refused) continue;
    const Miss miss = port.waiting.pop();
    port.requests->push(port.input, now, miss.request);
    at_mmu_[port.mmu].add(miss.request.tenant);
  }
}

void L2Tlb::reply(u32 port, const Translation& answer, Cycle now) {
  OutletRing<Reply>& box = outbox_[port];
  if (box.empty()) sending_.push_back(port);
  box.push({answer, now});
}

/// Whether none is left for this port.
bool L2Tlb::send_reply(u32 port, Cycle now) {
  if (!wiring_.replies[port]->can_push(now)) return false;
  const Translation answer = outbox_[port].pop().answer;
  ++stats.replies[tenant_of_key(answer.key)];
  wiring_.replies[port]->push(now, answer);
  return outbox_[port].empty();
}

void L2Tlb::send_replies(Cycle now) {
  while (!hits_.empty() && hits_.front().at <= now) {
    const Hit hit = hits_.pop();
    reply(hit.port, hit.answer, now);
  }
  u32 left = 0;
  for (const u32 port : sending_) {
    if (!send_reply(port, now)) sending_[left++] = port;
  }
  sending_.resize(left);
}

/// A request that was held up waits for a fill, a miss that was refused for a place in front of the MMU: both wake this
/// unit.
Cycle L2Tlb::next_wakeup(Cycle now) {
  Cycle next = hits_.empty() ? kNever : hits_.front().at;
  for (const MissPort& port : ports_) {
    if (!port.waiting.empty() && !port.refused) next = std::min(next, std::max(now + 1, port.waiting.front().at));
  }
  const bool more =
      requests_->next_ready(pointer_, misses_.full() ? held_up_ : nobody_) != Funnel<TranslationRequest>::kNoInput;
  return more || !sending_.empty() ? now + 1 : next;
}

void L2Tlb::flush() {
  for (Tlb& tlb : tlbs_) tlb.flush();
  bypass_.flush();
}

void L2Tlb::flush_page(u64 key) {
  tlb_of(tenant_of_key(key)).flush_page(key);
  bypass_.flush_page(key);
}

void L2Tlb::flush_tenant(TenantId tenant) {
  tlb_of(tenant).flush_tenant(tenant);
  bypass_.flush_tenant(tenant);
}

/// Banks that are taken, SMs that are passed over and who asked for a page are set anew in each tick.
void L2Tlb::archive(Archive& a) {
  a(requests_, tlbs_);
  for (CyclePorts& ports : tlb_ports_) a(ports);
  a(*fill_policy_, bypass_, merged_, misses_, hits_, ports_, at_mmu_, outbox_, sending_, pointer_, held_up_, held_key_,
    seen_, seen_lookups_, blame);
}

void L2Tlb::explain(std::ostream& out) const {
  if (!misses_.empty()) out << misses_.size() << " pages are awaited from the MMU\n";
  u32 unsent = 0;
  for (const MissPort& port : ports_) unsent += port.waiting.size();
  if (unsent > 0) out << unsent << " of them wait to be sent to it\n";
  if (!sending_.empty()) out << "answers to " << sending_.size() << " SMs wait to be sent\n";
}

}  // namespace terrace
