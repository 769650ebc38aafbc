// SPDX-License-Identifier: MIT
#include "sm/sm.h"

#include <algorithm>
#include <bit>
#include <ostream>

#include "engine/check.h"

namespace terrace {

Sm::Sm(Scheduler& scheduler, const SmConfig& config, const L1Config& l1, const L1TlbConfig& tlb, const NocConfig& noc,
       LineShape lines, SmId id, Wiring wiring)
    : SmContext(config),
      all_warps_(free_places_),
      scheduler_(scheduler),
      id_(id),
      config_(config),
      wiring_(std::move(wiring)),
      memory_(config, l1, tlb, noc, lines, id, wiring_.memory) {
  for (u32 i = 0; i < wiring_.contexts; ++i) aside_.emplace_back(config);
  for (u32 i = 0; i < config.schedulers; ++i) {
    u64 places = 0;
    for (u32 place = i; place < config.warps; place += config.schedulers) places |= u64{1} << place;
    scheduler_places_.push_back(places);
  }
}

Cycle Sm::tick(Cycle now) {
  start_blocks(now);
  wake_sleeping_warps(now);
  accept_memory(now);
  memory_.accept_translations(now);
  memory_.accept_invalidations(now);
  memory_.advance(now);
  issue(now);
  send_done(now);
  ask_for_commit();
  if (stops_when_drained_ && drained()) [[unlikely]]
    scheduler_.stop();
  return next_wakeup(now);
}

void Sm::start_blocks(Cycle now) {
  while (wiring_.starts.front(now)) start_block(wiring_.starts.pop(now), now);
}

void Sm::wake_sleeping_warps(Cycle now) {
  // Each entry of the wheel wakes the SM in its cycle, so no other one can be due.
  const u32 bucket = now % kWheel;
  wheel_in_use_[bucket / 64] &= ~(u64{1} << bucket % 64);
  for (u64 left = std::exchange(asleep_[bucket], 0); left != 0; left &= left - 1) {
    evaluate(static_cast<u32>(std::countr_zero(left)), now);
  }
}

void Sm::accept_memory(Cycle now) {
  memory_.accept_replies(now, completed_);
  for (const LoadStoreUnit::Done& done : completed_) complete(done, now);
  completed_.clear();
}

void Sm::complete(const LoadStoreUnit::Done& done, Cycle now) {
  Warp& warp = warps_[done.warp];
  event(now, "memory answers warp {}, source line {}", done.warp, done.inst->line);
  switch (done.action) {
    case MemoryAction::kLoad:
      --warp.loads_out;
      break;
    case MemoryAction::kStore:
      --warp.stores_out;
      break;
    case MemoryAction::kCopy:
      warp.copies.complete(done.dynamic_id, [&](AtomicRef arrival, u64 lanes) {
        wiring_.streams[index(warp.tenant)]->perform_atomic(arrival, lanes);
      });
      break;
    default:
      --warp.atomics_out;
      break;
  }
  if (done.action == MemoryAction::kLoad || done.action == MemoryAction::kAtomic) {
    scoreboards_[done.warp].set(*done.inst, now);
  }
  if (warp.state == WarpState::kMemory) {
    evaluate(done.warp, now);
  } else if (warp.state == WarpState::kDrained) {
    try_drain(done.warp, now);
  }
}

Sm::Pipe Sm::pipe_of(const DecodedInst& inst) {
  switch (inst.cls) {
    case InstClass::kInteger:
      return kIntegerPipe;
    case InstClass::kFloat:
      return kSinglePipe;
    case InstClass::kDouble:
      return kDoublePipe;
    case InstClass::kSpecial:
      return kSpecialPipe;
    case InstClass::kTensor:
      return kTensorPipe;
    case InstClass::kMemory:
      switch (inst.space) {
        case MemorySpace::kShared:
        case MemorySpace::kConstant:
        case MemorySpace::kParameter:
          return kSharedPipe;
        default:
          return kGlobalPipe;
      }
    default:
      return kControlPipe;
  }
}

/// Finds out when the warp's next instruction may issue, and puts the warp where it waits for that.
void Sm::evaluate(u32 place, Cycle now) {
  Warp& warp = warps_[place];
  const DecodedInst& inst = warp.view->next();
  warp.next = &inst;
  const Pipe pipe = pipe_of(inst);
  // A warp's later accesses to memory, its fences and its barriers wait until its atomics have been performed; a fence
  // waits for its stores as well.
  const bool ordered =
      pipe == kGlobalPipe || inst.cls == InstClass::kFence || inst.cls == InstClass::kBarrier || inst.after_atomics;
  const bool must_wait = (ordered && warp.atomics_out > 0) ||
                         (inst.cls == InstClass::kFence && (warp.stores_out > 0 || warp.loads_out > 0)) ||
                         !warp.copies.lets_pass(inst);
  const Cycle at = must_wait ? Scoreboard::kPending : scoreboards_[place].ready_at(inst);
  if (at == Scoreboard::kPending) {
    warp.state = WarpState::kMemory;
  } else if (at > now) {
    sleep_until(place, at, now);
  } else {
    warp.state = WarpState::kReady;
    ready_[pipe] |= u64{1} << place;
  }
}

void Sm::sleep_until(u32 place, Cycle at, Cycle now) {
  warps_[place].state = WarpState::kAsleep;
  // Beyond the wheel: looked at again at its end.
  const Cycle wake = std::min(at, now + kWheel - 1);
  asleep_[wake % kWheel] |= u64{1} << place;
  wheel_in_use_[wake % kWheel / 64] |= u64{1} << wake % 64;
}

void Sm::issue(Cycle now) {
  issued_ = false;
  could_issue_ = issuable() != 0;
  if (now < held_until_) [[unlikely]]
    return account_cycles(now, false);
  // An SM that waits for memory has nothing to issue in most ticks.
  if (could_issue_) {
    for (u32 i = 0; i < config_.schedulers; ++i) issue_from(i, now);
    could_issue_ = issuable() != 0;
  }
  account_cycles(now, issued_);
}

void Sm::issue_from(u32 scheduler, Cycle now) {
  u64 candidates = 0;
  for (u32 pipe = 0; pipe < kPipes; ++pipe) {
    if (ready_[pipe] != 0 && pipe_free_[scheduler][pipe] <= now) candidates |= ready_[pipe];
  }
  if (memory_.full()) candidates &= ~ready_[kGlobalPipe];
  candidates &= scheduler_places_[scheduler];
  if (candidates == 0) return;
  const u32 place = schedulers_[scheduler]->pick(candidates);
  SIM_DCHECK(candidates >> place & 1, "the warp scheduler picked warp {}, which is not ready", place);
  issue_warp(place, scheduler, now);
}

void Sm::issue_warp(u32 place, u32 scheduler, Cycle now) {
  Warp& warp = warps_[place];
  const DecodedInst& inst = *warp.next;
  const Pipe pipe = pipe_of(inst);
  ready_[pipe] &= ~(u64{1} << place);
  issued_ = true;
  wiring_.streams[index(warp.tenant)]->execute(warp.ref, now, stores_, effect_);
  count(inst, warp.tenant);
  event(now, "warp {} issues source line {}, lanes {:#x}", place, inst.line, effect_.active);

  const PipeConfig& timing = config_.pipe(inst.cls);
  u32 occupied = timing.interval;
  Cycle ready = now + timing.latency;
  if (inst.cls == InstClass::kTensor) {
    occupied = config_.tensor.cycles(inst.tensor_work);
    ready = now + config_.tensor.latency + occupied - 1;
  }
  if (inst.copy_order == CopyOrder::kCommit) warp.copies.commit();
  // What faults touches nothing.
  const bool accesses = inst.cls == InstClass::kMemory && effect_.status != WarpStatus::kFaulted;
  if (accesses) ready = issue_memory(inst, place, now, occupied);
  scoreboards_[place].set(inst, ready);
  pipe_free_[scheduler][pipe] = now + occupied;

  // A warp that only polls must not keep those from issuing that it waits for: it goes behind all others with each of its
  // instructions, from a jump back to its next branch, or it would go on while it can.
  if (inst.cls == InstClass::kControl) warp.polls = effect_.polls;
  if (warp.polls) schedulers_[scheduler]->started(place, warp.tenant);

  switch (effect_.status) {
    case WarpStatus::kRunning:
      // A branch is resolved before the next instruction is known.
      if (inst.cls == InstClass::kControl && timing.latency > 1) {
        sleep_until(place, now + timing.latency, now);
      } else {
        evaluate(place, now);
      }
      break;
    case WarpStatus::kAtBarrier:
      warp.state = WarpState::kBarrier;
      break;
    case WarpStatus::kFaulted:
      faults_.note({warp.tenant, effect_.fault});
      scheduler_.stop();
      [[fallthrough]];
    case WarpStatus::kDone:
      retire(place, now);
      break;
  }
  if (effect_.released_warps != 0) after_barrier(blocks_[warp.block], effect_.released_warps, now);
}

/// Returns when the destination registers are ready.
Cycle Sm::issue_memory(const DecodedInst& inst, u32 place, Cycle now, u32& occupied) {
  occupied = 1;
  switch (effect_.space) {
    case MemorySpace::kConstant:
    case MemorySpace::kParameter:
      return now + config_.constant_latency;
    case MemorySpace::kShared:
      if (effect_.atomic != kNoAtomic) arrive_after_copies(place);
      return issue_shared(effect_.active, warps_[place].tenant, now, occupied);
    default:
      break;
  }
  const bool atomic = effect_.action == MemoryAction::kAtomic || effect_.action == MemoryAction::kReduction;
  // Atomics on local memory concern one thread alone: they are done at once.
  const u64 global_lanes = atomic ? effect_.atomic_lanes : effect_.active & ~effect_.shared_lanes;
  Warp& warp = warps_[place];
  if (effect_.shared_lanes != 0) issue_shared(effect_.shared_lanes, warp.tenant, now, occupied);
  if (global_lanes == 0) return now + config_.shared.latency;
  const u32 id = next_dynamic_id();
  memory_.accept(effect_, global_lanes, inst, static_cast<u8>(place), warp.tenant, id, now);
  switch (effect_.action) {
    case MemoryAction::kCopy:
      warp.copies.begin(id);
      return now;
    case MemoryAction::kLoad:
      ++warp.loads_out;
      return Scoreboard::kPending;
    case MemoryAction::kStore:
      ++warp.stores_out;
      return now;
    default:
      ++warp.atomics_out;
      return effect_.action == MemoryAction::kAtomic ? Scoreboard::kPending : now;
  }
}

/// cp.async.mbarrier.arrive: the arrival happens when the copies that the warp has made so far are there.
void Sm::arrive_after_copies(u32 place) {
  Warp& warp = warps_[place];
  if (warp.copies.empty())
    wiring_.streams[index(warp.tenant)]->perform_atomic(effect_.atomic, effect_.atomic_lanes);
  else
    warp.copies.add_arrival(effect_.atomic, effect_.atomic_lanes);
}

Cycle Sm::issue_shared(u64 lanes, TenantId tenant, Cycle now, u32& occupied) {
  const bool atomic = effect_.action == MemoryAction::kAtomic || effect_.action == MemoryAction::kReduction;
  const bool in_turn = atomic && config_.shared_atomics == SmConfig::SharedAtomics::kInTurn;
  const u32 passes = lanes == 0 ? 1 : shared_memory_passes(effect_, lanes, config_.shared_banks, in_turn);
  occupied = passes * config_.shared.interval;
  ++stats.shared_accesses;
  stats.shared_conflict_cycles += passes - 1;
  stats.shared_passes[tenant] += passes;
  return now + config_.shared.latency + passes - 1;
}

void Sm::after_barrier(const Block& block, u64 released, Cycle now) {
  for (u64 left = released; left != 0; left &= left - 1) {
    const u32 place = block.places[static_cast<u32>(std::countr_zero(left))];
    // Whoever came last and whoever waited go on in the same cycle.
    if (warps_[place].state == WarpState::kBarrier) sleep_until(place, now + config_.control.latency, now);
  }
}

void Sm::retire(u32 place, Cycle now) {
  Warp& warp = warps_[place];
  warp.state = WarpState::kDrained;
  try_drain(place, now);
}

/// A place is reused only when no answer for it can come any more.
void Sm::try_drain(u32 place, Cycle now) {
  Warp& warp = warps_[place];
  if (!warp.quiet()) return;
  warp.state = WarpState::kFree;
  Block& block = blocks_[warp.block];
  if (--block.undrained > 0) return;
  vacate(block);
  ++stats.blocks_done[block.tenant];
  event(now, "a block of tenant {} ends", index(block.tenant));
  finished_.push_back({block.tenant, block.launch});
}

void Sm::send_done(Cycle now) {
  while (!finished_.empty() && wiring_.done.can_push(now)) {
    wiring_.done.push(now, finished_.back());
    finished_.pop_back();
  }
}

/// What other SMs may see only when the cycle is over.
void Sm::ask_for_commit() {
  if (!stores_.empty() || memory_.translator().touched_new_pages()) scheduler_.defer(self_);
}

void Sm::commit(Cycle now) {
  stores_.commit();
  if (!memory_.translator().touched_new_pages()) return;
  memory_.translator().commit_new_pages();
  scheduler_.wake(self_, now + 1);
}

void Sm::count(const DecodedInst& inst, TenantId tenant) {
  ++stats.warp_instructions[tenant];
  stats.thread_instructions[tenant] += static_cast<u64>(std::popcount(effect_.active));
  switch (inst.cls) {
    case InstClass::kInteger:
      ++stats.integer[tenant];
      break;
    case InstClass::kFloat:
      ++stats.single[tenant];
      break;
    case InstClass::kDouble:
      ++stats.double_precision[tenant];
      break;
    case InstClass::kSpecial:
      ++stats.special[tenant];
      break;
    case InstClass::kControl:
      ++stats.control[tenant];
      break;
    case InstClass::kBarrier:
      ++stats.barriers[tenant];
      break;
    case InstClass::kFence:
      ++stats.fences[tenant];
      break;
    case InstClass::kMemory:
      ++stats.memory[tenant];
      stats.async_copies[tenant] += inst.action == MemoryAction::kCopy;
      break;
    case InstClass::kTensor:
      ++stats.tensor[tenant];
      stats.tensor_macs[tenant] += inst.tensor_work;
      break;
  }
}

/// Stall cycles are added when they end: by an issue, or with the last resident warp.
void Sm::account_cycles(Cycle now, bool issued) {
  stats.busy_cycles += issued;
  const bool resident = live_blocks_ > 0;
  if (issued || !resident) {
    if (stalled_since_ < now) stats.stall_cycles += now - stalled_since_;
    stalled_since_ = resident ? now + 1 : kNever;
  } else if (stalled_since_ == kNever) {
    stalled_since_ = now;
  }
}

void Sm::settle(Cycle now) {
  memory_.settle(now);
  if (stalled_since_ >= now) return;
  stats.stall_cycles += now - stalled_since_;
  stalled_since_ = now;
}

u64 Sm::issuable() const {
  u64 all = 0;
  for (u32 pipe = 0; pipe < kPipes; ++pipe) all |= pipe == kGlobalPipe ? 0 : ready_[pipe];
  return memory_.full() ? all : all | ready_[kGlobalPipe];
}

Cycle Sm::next_wakeup(Cycle now) const {
  Cycle next = memory_.next_wakeup(now);
  // A full load-store unit holds back its warps until it has made progress, which it wakes up for itself.
  if (could_issue_ || !finished_.empty()) {
    if (held_until_ <= now + 1 || !finished_.empty()) [[likely]]
      return now + 1;
    next = std::min(next, held_until_);
  }
  u64 any_asleep = 0;
  for (const u64 word : wheel_in_use_) any_asleep |= word;
  if (any_asleep == 0) return next;
  const u32 first = (now + 1) % kWheel;
  // The wheel as a circle from the next cycle on.
  constexpr u32 kWords = kWheel / 64;
  for (u32 step = 0; step <= kWords; ++step) {
    const u32 word = (first / 64 + step) % kWords;
    u64 bits = wheel_in_use_[word];
    if (step == 0) bits &= ~u64{0} << first % 64;
    if (step == kWords) bits &= ~(~u64{0} << first % 64);
    if (bits == 0) continue;
    const u32 bucket = word * 64 + static_cast<u32>(std::countr_zero(bits));
    return std::min(next, now + 1 + ((bucket - first) % kWheel));
  }
  return next;
}

bool Sm::idle() const {
  const auto empty = [](const SmContext& context) { return context.live_blocks_ == 0; };
  return empty(*this) && std::all_of(aside_.begin(), aside_.end(), empty) && finished_.empty() &&
         memory_.translator().idle();
}

void Sm::explain(std::ostream& out) const {
  u32 memory = 0, barrier = 0, drained = 0;
  for (const Warp& warp : warps_) {
    memory += warp.state == WarpState::kMemory;
    barrier += warp.state == WarpState::kBarrier;
    drained += warp.state == WarpState::kDrained;
  }
  if (memory > 0) out << memory << " warps wait for memory\n";
  if (barrier > 0) out << barrier << " warps wait at a barrier\n";
  if (drained > 0) out << drained << " warps have exited and wait for answers\n";
  memory_.explain(out);
}

}  // namespace terrace
