// SPDX-License-Identifier: MIT
#include "translation/mmu.h"

#include <algorithm>
#include <functional>
#include <ostream>

#include "engine/check.h"

namespace terrace {

namespace {

/// Out of the way of what runs without a timeline.
[[gnu::cold, gnu::noinline]] void keep_span(Sampled<WalkSpan>& spans, const WalkSpan& span) {
  spans.add(span);
}

}  // namespace

Mmu::Mmu(const MmuConfig& config, LineShape lines, u32 tenants, u64 seed, Wiring wiring)
    : config_(config),
      lines_(lines),
      wiring_(std::move(wiring)),
      requests_(wiring_.requests),
      intake_(config.rate),
      shape_(wiring_.spaces.tables().shape()),
      tlb1_(config.tlb1, wiring_.mistake),
      tlb2_(config.tlb2, wiring_.mistake),
      front_cycles_((tlb1_.exists() ? config.tlb1.cycles : 0) + (tlb2_.exists() ? config.tlb2.cycles : 0)),
      walk_cache_(config.walk_cache, shape_, wiring_.mistake),
      full_inputs_((wiring_.requests.inputs() + 63) / 64),
      tlb1_hits_(wiring_.most_requests),
      tlb2_hits_(wiring_.most_requests),
      walkers_(config.walkers == 0 ? wiring_.most_requests : config.walkers),
      results_(wiring_.most_requests) {
  const u32 walkers = static_cast<u32>(walkers_.size());
  queues_ = std::make_unique<WalkQueues>(
      config_.walk_scheduler.make(
          {.walkers = walkers,
           .queue_entries = config.queue_entries,
           .tenants = tenants,
           .one_tenant = config.per_tenant && tenants > 1,
           .make_queue =
               [&](u32 entries, u32 queue) {
                 return config_.walk_order.make(
                     {.entries = entries, .queue = queue, .seed = seed, .walk_cache = &walk_cache_});
               }}),
      walkers);
  // Requests in the pipeline of the front TLBs, and one that is refused.
  for (u32 i = 0; i < wiring_.requests.inputs(); ++i) {
    inputs_.push_back({WaitingRing<Arrival>(config.rate * (front_cycles_ + 1) + 1)});
  }
  path_ = config_.walk_path.make({.tenants = tenants, .seed = seed});
  for (u32 way = 0; way < WalkPath::kWays; ++way) {
    first_link_[way] = static_cast<u32>(unsent_.size());
    const u32 links = wiring_.memory[way] ? wiring_.memory[way]->links() : 0;
    for (u32 i = 0; i < links; ++i) unsent_.emplace_back(walkers);
  }
  due_.reserve(walkers);
}

Cycle Mmu::tick(Cycle now) {
  blame.advance(now);
  requests_.absorb(now);
  for (const auto& way : wiring_.memory) {
    if (way) way->absorb(now);
  }
  accept_reads(now);
  accept_requests(now);
  place_walks(now);
  advance_walkers(now);
  send_reads(now);
  send_results(now);
  if (blame.on()) say_what_inputs_wait_for();
  return next_wakeup(now);
}

void Mmu::accept_reads(Cycle now) {
  for (const auto& way : wiring_.memory) {
    if (!way) continue;
    while (const std::optional<u32> walker = way->receive(now)) {
      Walker& its = walkers_[*walker];
      const TableEntry entry = wiring_.spaces.tables().read(its.node, shape_.entry_of(its.level, address(its.walk)));
      walk_cache_.fill(its.level, its.walk, entry);
      event(now, "walker {} reads level {}", *walker, its.level);
      follow(*walker, entry, now);
    }
  }
}

void Mmu::accept_requests(Cycle now) {
  for (intake_.begin(); intake_.any_free();) {
    const u32 input = requests_->next_ready(pointer_, full_inputs_);
    if (input == Funnel<TranslationRequest>::kNoInput) return;
    const TranslationRequest request = requests_.pop(input, now);
    intake_.take(request.tenant);
    pointer_ = input + 1 == requests_->inputs() ? 0 : input + 1;
    ++stats.requests[request.tenant];
    if (front_tlbs_know(request, now)) continue;
    inputs_[input].arrivals.push({request, now + front_cycles_});
    if (inputs_[input].arrivals.full()) full_inputs_[input / 64] |= u64{1} << input % 64;
  }
}

bool Mmu::front_tlbs_know(const TranslationRequest& request, Cycle now) {
  if (const i32 entry = tlb1_.find(request.key); entry >= 0) {
    tlb1_hits_.push({{request.key, tlb1_.use(entry), {}}, now + config_.tlb1.cycles});
    ++stats.tlb1_hits[request.tenant];
    return true;
  }
  const i32 entry = tlb2_.find(request.key);
  if (entry < 0) return false;
  const PhysAddr frame = tlb2_.use(entry);
  tlb1_.fill(request.key, frame);
  tlb2_hits_.push({{request.key, frame, {}}, now + front_cycles_});
  ++stats.tlb2_hits[request.tenant];
  return true;
}

/// One walk of each input in turn, until none finds a place: whoever is at the door, places go round.
void Mmu::place_walks(Cycle now) {
  const u32 inputs = static_cast<u32>(inputs_.size());
  u32 at = place_pointer_;
  for (u32 without = 0; without < inputs; ++without) {
    Input& input = inputs_[at];
    at = at + 1 == inputs ? 0 : at + 1;
    if (input.refused || !place(input, now)) continue;
    place_pointer_ = at;
    without = ~u32{0};  // all are asked again
  }
}

bool Mmu::place(Input& input, Cycle now) {
  if (!input.arrivals.ready(now)) return false;
  Arrival& first = input.arrivals.front();
  const TranslationRequest& request = first.request;
  const Walk walk{.key = request.key,
                  .page = request.page,
                  .order = next_order_,
                  .arrived = now,
                  .inst = instruction_name(request.inst),
                  .tenant = request.tenant};
  const u32 waiting = queues_->waiting();
  const i32 walker = queues_->place(walk, now);
  input.refused = walker == WalkScheduler::kRefused;
  if (input.refused) {
    if (first.refused_since == kNever) first.refused_since = now;
    return false;
  }
  if (first.refused_since != kNever) stats.held_up_cycles[walk.tenant] += now - first.refused_since;
  ++next_order_;
  ++stats.walks[walk.tenant];
  if (walked_ && walked_->insert(walk.key).second) ++stats.first_touches[walk.tenant];
  ++stats.under_way;
  stats.queued.add(waiting);
  event(now, "page {:#x} of tenant {} {}", address_of_key(walk.key), index(walk.tenant),
        walker == WalkScheduler::kQueued ? "waits" : "starts at once");
  const u32 number = static_cast<u32>(&input - inputs_.data());
  input.arrivals.pop();
  full_inputs_[number / 64] &= ~(u64{1} << number % 64);
  if (walker == WalkScheduler::kQueued) {
    ++stats.waited[walk.tenant];
  } else {
    start(static_cast<u32>(walker), walk, now);
  }
  return true;
}

void Mmu::start(u32 walker, const Walk& walk, Cycle now) {
  queues_->start(walker, walk.tenant);
  most_walks_[walk.tenant] = std::max(most_walks_[walk.tenant], ++walking_[walk.tenant]);
  stats.concurrent.add(queues_->busy());
  stats.queue_cycles[walk.tenant] += now - walk.arrived;
  walkers_[walker] = {.walk = walk, .sequence = next_sequence_++, .started = now};
  look_up_walk_cache(walker, now + walk.selection_cycles);
}

/// The walker goes on when its look-up is over, which may wait for a port.
void Mmu::look_up_walk_cache(u32 walker, Cycle earliest) {
  due_.push_back({walk_cache_.look_up(earliest), walker});
  std::push_heap(due_.begin(), due_.end(), std::greater<>());
}

void Mmu::advance_walkers(Cycle now) {
  while (!due_.empty() && due_.front().at <= now) {
    const u32 walker = due_.front().walker;
    std::pop_heap(due_.begin(), due_.end(), std::greater<>());
    due_.pop_back();
    if (walkers_[walker].level == 0) {
      begin_levels(walker, now);
    } else {
      look_at_level(walker, now);
    }
  }
}

/// The walk caches have answered: the walk goes on below what they know.
void Mmu::begin_levels(u32 walker, Cycle now) {
  Walker& its = walkers_[walker];
  its.level = 1;
  its.node = wiring_.spaces.root(its.walk.tenant, address(its.walk));
  if (walk_cache_.each_level()) return look_at_level(walker, now);
  const WalkCache::Known known = walk_cache_.begin(its.walk);
  if (known.level == 0) return queue_read(walker, now);
  its.level = known.level;
  stats.skipped[its.walk.tenant] += known.level;
  follow(walker, known.entry, now);
}

/// One level's entry in the walk caches, or else in memory.
void Mmu::look_at_level(u32 walker, Cycle now) {
  Walker& its = walkers_[walker];
  TableEntry entry;
  if (!walk_cache_.probe(its.level, its.walk, entry)) return queue_read(walker, now);
  ++stats.skipped[its.walk.tenant];
  follow(walker, entry, now);
}

/// The entry of the walker's level is known: on to the next level, or to the end.
void Mmu::follow(u32 walker, TableEntry entry, Cycle now) {
  Walker& its = walkers_[walker];
  SIM_CHECK(entry.present(), "a walk of tenant {} for page {:#x} finds no entry at level {}", index(its.walk.tenant),
            its.walk.page, its.level);
  if (entry.leaf()) return finish(walker, entry.target(), now);
  ++its.level;
  its.node = entry.target();
  if (walk_cache_.each_level()) {
    look_up_walk_cache(walker, now);
  } else {
    queue_read(walker, now);
  }
}

void Mmu::queue_read(u32 walker, Cycle now) {
  Walker& its = walkers_[walker];
  ++its.reads;
  ++stats.reads[its.walk.tenant];
  const PhysAddr entry = shape_.address(its.node, shape_.entry_of(its.level, address(its.walk)));
  its.read = {.line = {entry.raw & ~u64{lines_.line_bytes() - 1}},
              .walker = walker,
              .tenant = its.walk.tenant,
              .level = static_cast<u8>(its.level),
              .sectors = lines_.at(entry.raw)};
  const u32 way = index(path_->choose(its.read));
  unsent_[first_link_[way] + wiring_.memory[way]->link_of(its.read.line)].push({walker, its.walk.tenant, now});
}

void Mmu::send_reads(Cycle now) {
  for (u32 i = 0; i < unsent_.size(); ++i) {
    OutletRing<Unsent>& reads = unsent_[i];
    while (!reads.empty() && memory_of(i).send(walkers_[reads.front().walker].read, now)) reads.pop();
  }
}

void Mmu::finish(u32 walker, PhysAddr frame, Cycle now) {
  Walker& its = walkers_[walker];
  const Walk walk = its.walk;
  SIM_CHECK(wiring_.spaces.locate(walk.tenant, address(walk)) == frame,
            "a walk of tenant {} for page {:#x} found frame {:#x}", index(walk.tenant), walk.page, frame.raw);
  ++stats.walks_done[walk.tenant];
  --walking_[walk.tenant];
  --stats.under_way;
  stats.service_cycles[walk.tenant] += now - its.started;
  event(now, "walker {} ends with page {:#x} of tenant {} after {} reads", walker, address_of_key(walk.key),
        index(walk.tenant), its.reads);
  if (walk_spans_) [[unlikely]]
    keep_span(*walk_spans_, {walk.page, walk.arrived, its.started, now, walker, its.reads, walk.tenant});
  tlb1_.fill(walk.key, frame);
  tlb2_.fill(walk.key, frame);
  results_.push({{walk.key, frame, {.sequence = its.sequence, .finished = now, .accesses = its.reads}}, now});
  queues_->end(walker);
  // A place falls free, or a walker: whoever was refused may ask again.
  for (Input& input : inputs_) input.refused = false;
  start_next(walker, now);
}

void Mmu::start_next(u32 walker, Cycle now) {
  if (const std::optional<Walk> next = queues_->next(walker, now)) start(walker, *next, now);
}

void Mmu::send_results(Cycle now) {
  for (Ring<FrontHit>* hits : {&tlb1_hits_, &tlb2_hits_}) {
    while (!hits->empty() && hits->front().at <= now) {
      results_.push({hits->pop().answer, now});
    }
  }
  while (!results_.empty() && wiring_.results.can_push(now)) wiring_.results.push(now, results_.pop().answer);
}

/// A refused request waits for a walk to end, unsent reads and results for a place: each wakes this unit.
Cycle Mmu::next_wakeup(Cycle now) {
  Cycle next = due_.empty() ? kNever : due_.front().at;
  for (const Input& input : inputs_) {
    if (!input.arrivals.empty() && !input.refused) next = std::min(next, std::max(now + 1, input.arrivals.front().at));
  }
  if (requests_->next_ready(pointer_, full_inputs_) != Funnel<TranslationRequest>::kNoInput) return now + 1;
  for (const Ring<FrontHit>* hits : {&tlb1_hits_, &tlb2_hits_}) {
    if (!hits->empty()) next = std::min(next, hits->front().at);
  }
  return next;
}

void Mmu::flush() {
  tlb1_.flush();
  tlb2_.flush();
  walk_cache_.flush();
}

void Mmu::flush_page(u64 key) {
  tlb1_.flush_page(key);
  tlb2_.flush_page(key);
  walk_cache_.flush_page(tenant_of_key(key), page_of_key(key));
}

void Mmu::enable_blame(u32 tenants) {
  blame.enable(tenants);
  intake_.count(blame, "intake", "requests wait to be accepted; holders: requests accepted in the same cycle");
  queues_->keep(blame);
  Resource* const accepts[] = {&intake_.held()};
  requests_.keep_inputs(blame, accepts);
  for (Input& input : inputs_) input.arrivals.keep(blame, queues_->entries(TenantId{0}));
  for (OutletRing<Unsent>& reads : unsent_)
    reads.keep(blame, "reads", "page-table reads wait to leave the MMU; holder: the read that left last");
  results_.keep(blame, "results", "translations wait for the link to the L2 TLB; holder: the one that left last");
}

/// Those behind a request that finds no place wait for what it waits for.
void Mmu::say_what_inputs_wait_for() {
  for (u32 i = 0; i < inputs_.size(); ++i) {
    Input& input = inputs_[i];
    Resource* lacks = &intake_.held();
    if (input.refused) {
      Resource& entries = queues_->entries(input.arrivals.front().request.tenant);
      input.arrivals.waits_for(entries);
      if (is_full(i)) lacks = &entries;
    }
    if (input.refused || !is_full(i)) requests_.input_waits_for(i, {&lacks, 1});
  }
}

void Mmu::flush_tenant(TenantId tenant) {
  tlb1_.flush_tenant(tenant);
  tlb2_.flush_tenant(tenant);
  walk_cache_.flush_tenant(tenant);
}

void Mmu::divide_among(const std::vector<TenantId>& tenants, Cycle now) {
  blame.advance(now);
  queues_->divide_among(tenants);
  // Under the new division a walker may take what waited for another one, and a refused walk may find a place.
  for (Input& input : inputs_) input.refused = false;
  for (u32 walker = 0; walker < walkers_.size(); ++walker) {
    if (queues_->is_idle(walker)) start_next(walker, now);
  }
}

void Mmu::archive(Archive& a) {
  a(stats.under_way);  // a level: the statistics know of counters only
  a(requests_, intake_, tlb1_, tlb2_, walk_cache_, *queues_, walking_, most_walks_, *path_, inputs_, pointer_,
    place_pointer_, full_inputs_, tlb1_hits_, tlb2_hits_, walkers_, due_, unsent_, results_, next_order_,
    next_sequence_);
  a.expect(walked_ != nullptr, "the number of MMUs that count first touches");
  if (walked_) a(*walked_);
  a.expect(walk_spans_ != nullptr, "the number of MMUs that keep walks for a timeline");
  if (walk_spans_) a(*walk_spans_);
  a(blame);
}

void Mmu::explain(std::ostream& out) const {
  if (queues_->busy() > 0) out << queues_->busy() << " of " << walkers_.size() << " walkers are busy\n";
  if (const u32 waiting = queues_->waiting()) out << waiting << " walks wait for a walker\n";
  u32 refused = 0;
  for (const Input& input : inputs_) refused += input.refused;
  if (refused > 0) out << refused << " inputs are blocked: the walk queues are full\n";
}

}  // namespace terrace
