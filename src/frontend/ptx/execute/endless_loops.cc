// Loops that cannot end, or have not for long. A warp that goes round a loop which only a change in memory can end
// (decode/polling.h) does the same in each pass as long as nothing changes. If all warps do so, or wait at barriers, and
// nothing has changed while each completed a pass, nothing ever will.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <bit>
#include <tuple>

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

void Machine::jump_back(Execution& x, const Inst& inst) {
  Warp& warp = x.warp;
  if (++warp.jumps == config_.loop_limit)
    return raise_fault(
        x, static_cast<u32>(std::countr_zero(x.active)),
        fmt::format("is in an endless loop: its warp has taken {} backward branches; if the loop does end, "
                    "raise the limit (run.loop_limit, exec --loop-limit)",
                    warp.jumps));
  if ((inst.flags & kOnlyMemoryEnds) == 0) {
    warp.stop_polling();
  } else {
    // Strands of a parted warp may take turns in different loops.
    if (warp.poll_pc != x.pc && !parted(warp)) warp.stop_polling();
    warp.poll_pc = x.pc;
    ++warp.polls;
  }
  x.effect.polls = (inst.flags & kPolls) != 0;
  if (go_round(warp, x.effect.polls)) settle(warp, *warp.code, stride_);
}

std::optional<std::string> Machine::find_endless_loop() {
  const u64 changes = changes_.load(std::memory_order_relaxed) + memory_.host_write_count();
  bool endless = changes == changes_seen_;
  changes_seen_ = changes;
  const Warp* first = nullptr;
  u64 warps = 0;
  for (const auto& block : blocks_) {
    if (!block->live) continue;
    for (Warp& warp : block->warps) {
      if (warp.status == WarpStatus::kDone || warp.status == WarpStatus::kAtBarrier) continue;
      // One pass of each strand may have begun before the last change, so the next one counts.
      const u64 passes = 2 * (1 + warp.strands.size());
      endless &= warp.status == WarpStatus::kRunning && warp.polls_seen != 0 && warp.polls >= warp.polls_seen + passes;
      warp.polls_seen = warp.polls;
      if (first == nullptr || number_of(warp) < number_of(*first)) first = &warp;
      ++warps;
    }
  }
  if (!endless || first == nullptr) return std::nullopt;
  const LaunchState& launch = *first->block->launch;
  const u64 blocks = launch.threads / launch.threads_per_block;
  return fmt::format(
      "kernel {} never ends: warp {} of block {} goes round a loop, {}, that only a change in memory could end, and "
      "{}; "
      "{} of the {} blocks of the grid have begun and not ended; let a thread that runs change what it waits for, and "
      "let blocks that wait for each other fit on the GPU together",
      first->code->kernel, first->index, first->block->number, position(*first->code, first->poll_pc),
      warps == 1 ? "no other warp runs" : fmt::format("so do all {} warps that run", warps), launch.live_blocks,
      blocks);
}

}  // namespace terrace::ptx
