// Named barriers. The warp is the unit: a count in threads stands for that many whole warps; without a count a barrier
// waits for all warps of the block that still run.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <bit>

#include "frontend/ptx/execute/machine.h"

namespace terrace::ptx {

void Machine::arrive(Execution& x, const Arrival& arrival) {
  Block& block = x.block;
  Warp& warp = x.warp;
  warp.stop_polling();
  // What others do then decides what this warp does, or how soon the barrier completes.
  if (!arrival.wait || arrival.reduction != kNoReduction) disturb();
  Barrier& barrier = block.barriers[arrival.id];
  const u32 expected = (arrival.threads + x.launch.width - 1) / x.launch.width;
  const u32 lane = static_cast<u32>(std::countr_zero(x.active));
  // Warps arrive whole. Only a block whose last warp is not full has a count of its own for all of them.
  const bool all = arrival.threads == x.launch.threads_per_block && arrival.threads % warp_size_of(x.launch.width) == 0;
  if (arrival.threads % x.launch.width != 0 && !all)
    return raise_fault(
        x, lane,
        fmt::format("waits for {} threads at barrier {}; the count must be a multiple of the warp width, {}",
                    arrival.threads, arrival.id, x.launch.width));
  if (expected > x.launch.warps_per_block)
    return raise_fault(x, lane,
                       fmt::format("waits for {} threads at barrier {}; the block has {}", arrival.threads, arrival.id,
                                   x.launch.threads_per_block));
  if (barrier.active() && barrier.expected != expected)
    return raise_fault(
        x, lane,
        fmt::format("arrives at barrier {} with another thread count than the warps that wait there", arrival.id));
  barrier.expected = expected;
  ++barrier.arrived;
  barrier.threads += static_cast<u32>(std::popcount(x.active));
  barrier.votes += static_cast<u32>(std::popcount(arrival.votes & x.active));
  if (arrival.wait) {
    barrier.waiting |= u64{1} << warp.index;
    warp.status = WarpStatus::kAtBarrier;
    warp.barrier = static_cast<u8>(arrival.id);
    warp.barrier_pc = x.pc;
    warp.reduction = arrival.reduction;
    warp.reduction_place = arrival.result;
  }
  complete_barriers(block, &x.effect);
}

void Machine::complete_barriers(Block& block, Effect* effect) {
  for (u32 id = 0; id < block.barriers.size(); ++id) {
    const Barrier& barrier = block.barriers[id];
    if (!barrier.active()) continue;
    // A warp that ended counts as arrived where no number was given.
    const u32 needed = barrier.expected != 0 ? barrier.expected : block.running;
    if (barrier.arrived >= needed) release(block, id, effect);
  }
}

void Machine::release(Block& block, u32 id, Effect* effect) {
  Barrier& barrier = block.barriers[id];
  effect->released_warps |= barrier.waiting;
  for (u64 rest = barrier.waiting; rest != 0; rest &= rest - 1) {
    Warp& warp = block.warps[static_cast<u32>(std::countr_zero(rest))];
    warp.status = WarpStatus::kRunning;
    const Frame& frame = warp.frame();
    if (warp.reduction == kReducePopc) {
      u32* row = warp.registers.data() + u64{frame.row_base} * stride_ + warp.reduction_place / 4;
      for (u64 lanes = warp.active; lanes != 0; lanes &= lanes - 1) row[std::countr_zero(lanes)] = barrier.votes;
    } else if (warp.reduction != kNoReduction) {
      const bool holds = warp.reduction == kReduceAnd ? barrier.votes == barrier.threads : barrier.votes != 0;
      u64& predicate = warp.predicates[frame.predicate_base + warp.reduction_place];
      predicate = holds ? predicate | warp.active : predicate & ~warp.active;
    }
  }
  barrier = {};
}

}  // namespace terrace::ptx
