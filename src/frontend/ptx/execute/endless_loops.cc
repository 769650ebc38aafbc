// Loops that cannot end, or have not for long.
//
// A warp that goes round a loop which only a change in memory can end (decode/polling.h) does the same in each pass as long
// as nothing changes; so does one that has come back to a state that it was in before (recurrence.h). If all warps do so, or
// wait at barriers, and nothing has changed while each completed a pass, nothing ever will. To know that nothing changes,
// what warps write is compared with what was there, but only while that is being found out (`watches`): if for a stretch
// no warp or block has begun or ended, and until the first change.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <bit>
#include <tuple>
#include <utility>

#include "frontend/ptx/execute/machine.h"
#include "frontend/ptx/execute/simt_stack.h"
#include "frontend/ptx/execute/strands.h"

namespace terrace::ptx {
namespace {

/// Blocks have their places by chance; this does not depend on it.
std::tuple<u32, u64, u32> number_of(const Warp& warp) {
  return {index(warp.block->launch->id), warp.block->number, warp.index};
}

}  // namespace

/// A loop that nothing leaves is told after so many jumps: not at once, so that a fault that a pass leads to is told instead.
constexpr u64 kCertainly = 256;

/// Warp::polls_seen of a warp that waited at its barrier when endless loops were last looked for.
constexpr u64 kParked = ~u64{0};

void Machine::jump_back(Execution& x, const Inst& inst) {
  Warp& warp = x.warp;
  ++warp.jumps;
  if (warp.jumps == config_.loop_limit || (warp.jumps % kCertainly == 0 && config_.loop_limit != 0)) [[unlikely]] {
    if (limit_jumps(x)) return;
  }
  if ((inst.flags & kOnlyMemoryEnds) == 0) {
    warp.stop_polling();
  } else {
    // Strands of a parted warp may take turns in different loops.
    if (warp.poll_pc != x.pc && !parted(warp)) warp.stop_polling();
    warp.poll_pc = x.pc;
    ++warp.polls;
  }
  const bool polls = (inst.flags & kPolls) != 0;
  // Whoever goes round lets those issue first that may yet change something.
  x.effect.polls = polls || gives_way(warp);
  if (watches()) [[unlikely]]
    watch(x);
  if (go_round(warp, polls)) settle(warp, *warp.code, stride_);
}

/// True: the warp has faulted.
bool Machine::limit_jumps(Execution& x) {
  const u32 lane = static_cast<u32>(std::countr_zero(x.active));
  const auto loop = x.warp.code->loops.find(x.pc);
  if (loop != x.warp.code->loops.end() && loop->second.closed) {
    raise_fault(x, lane,
                "goes round a loop that nothing leads out of; let a branch leave it, or let it be with --set "
                "run.loop_limit=0 (exec --loop-limit 0)");
    return true;
  }
  if (x.warp.jumps != config_.loop_limit) return false;
  raise_fault(x, lane,
              fmt::format("is in an endless loop: its warp has taken {} backward branches; if the loop does end, raise "
                          "the limit (run.loop_limit, exec --loop-limit)",
                          x.warp.jumps));
  return true;
}

void Machine::watch(const Execution& x) {
  if (x.warp.pending_atomics != 0) return;  // their results are still to come
  const auto found = recurrences_.find(&x.warp);
  if (found == recurrences_.end()) return;
  found->second.step(x.warp, x.pc, stride_);
}

/// Decided between cycles alone: within one, whether the watch still goes on depends on who ticks first.
bool Machine::gives_way(const Warp& warp) const {
  if (!some_give_way_) [[likely]]
    return false;
  const auto known = recurrences_.find(&warp);
  return known != recurrences_.end() && known->second.gives_way;
}

/// That have not ended, in the order of their places.
template <class F>
void Machine::each_live_warp(F&& f) {
  for (const auto& block : blocks_) {
    if (!block->live) continue;
    for (Warp& warp : block->warps)
      if (warp.status != WarpStatus::kDone) f(warp);
  }
}

void Machine::begin_watch() {
  recurrences_.clear();
  some_give_way_ = false;
  each_live_warp([&](Warp& warp) { recurrences_[&warp]; });
  watches_ = true;
}

/// Whether the warp has done nothing new since this was last asked; nothing has changed meanwhile.
bool Machine::goes_round(Warp& warp) {
  const auto known = recurrences_.find(&warp);
  const bool recurs = watches() && known != recurrences_.end() && known->second.found();
  if (warp.status == WarpStatus::kAtBarrier) return std::exchange(warp.polls_seen, kParked) == kParked || recurs;
  if (warp.polls_seen == kParked) warp.polls_seen = 0;
  // One pass of each strand may have begun before the last change, so the next one counts.
  const u64 passes = 2 * (1 + warp.strands.size());
  const bool polls =
      warp.status == WarpStatus::kRunning && warp.polls_seen != 0 && warp.polls >= warp.polls_seen + passes;
  warp.polls_seen = warp.polls;
  return polls || recurs;
}

std::optional<std::string> Machine::find_endless_loop() {
  const u64 changes = changes_.load(std::memory_order_relaxed) + memory_.host_write_count();
  const bool quiet = changes == changes_seen_;
  changes_seen_ = changes;
  bool endless = quiet, moved = false, clock = false;
  const Warp* first = nullptr;
  u64 warps = 0, jumps = 0;
  each_live_warp([&](Warp& warp) {
    const bool round = goes_round(warp);
    endless &= round;
    if (warp.status == WarpStatus::kAtBarrier) {
      moved |= !round;
      return;
    }
    if (first == nullptr || number_of(warp) < number_of(*first)) first = &warp;
    ++warps;
    const auto known = recurrences_.find(&warp);
    if (known == recurrences_.end()) return;
    jumps += known->second.jumps();
    clock |= known->second.reads_clock(*warp.code);
  });
  // A warp that has come to a barrier may be let go by those that went round before: they must do so once more.
  if (quiet && (!watches() || moved)) begin_watch();
  if (!quiet) watches_ = false;
  some_give_way_ = false;
  if (watches())
    for (auto& [warp, recurrence] : recurrences_) some_give_way_ |= recurrence.gives_way = recurrence.found();
  if (!endless || first == nullptr) return std::nullopt;
  // To wait for a clock ends some time. So long is a choice.
  if (clock && (config_.loop_limit == 0 || jumps < config_.loop_limit)) return std::nullopt;
  return say_endless(*first, warps, clock ? jumps : 0);
}

std::string Machine::say_endless(const Warp& warp, u64 warps, u64 clock_jumps) const {
  const LaunchState& launch = *warp.block->launch;
  const auto known = recurrences_.find(&warp);
  const bool recurs = known != recurrences_.end() && known->second.found();
  const std::string who =
      fmt::format("warp {} of block {} goes round a loop, {}", warp.index, warp.block->number,
                  position(*warp.code, warp.polls != 0 || !recurs ? warp.poll_pc : known->second.pc()));
  const std::string others = warps == 1 ? "no other warp runs" : fmt::format("so do all {} warps that run", warps);
  const std::string blocks = fmt::format("{} of the {} blocks of the grid have begun and not ended", launch.live_blocks,
                                         launch.threads / launch.threads_per_block);
  if (clock_jumps != 0)
    return fmt::format(
        "kernel {} only waits for a clock: {}, where nothing else changes, and {}; they have taken {} backward "
        "branches; {}; "
        "wait for less, or raise the limit (run.loop_limit, exec --loop-limit)",
        warp.code->kernel, who, others, clock_jumps, blocks);
  if (recurs && warp.polls == 0)
    return fmt::format(
        "kernel {} never ends: {}, and comes back to the same state, with the same registers and the same memory, and "
        "{}; "
        "{}; let each pass change what ends the loop",
        warp.code->kernel, who, others, blocks);
  return fmt::format(
      "kernel {} never ends: {}, that only a change in memory could end, and {}; {}; let a thread that runs change "
      "what "
      "it waits for, and let blocks that wait for each other fit on the GPU together",
      warp.code->kernel, who, others, blocks);
}

}  // namespace terrace::ptx
