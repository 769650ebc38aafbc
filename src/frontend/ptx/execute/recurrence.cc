// SPDX-License-Identifier: MIT
#include "frontend/ptx/execute/recurrence.h"

#include <algorithm>
#include <cstring>

#include "frontend/ptx/execute/strands.h"

namespace terrace::ptx {

Recurrence::Control Recurrence::control_of(const Warp& warp) {
  // Rounds matter where other lanes wait for their turn.
  const u32 rounds = (warp.alive & ~warp.active) != 0 ? warp.rounds : 0;
  return {warp.pc,    warp.reconverge, rounds,        warp.active, warp.full,   warp.alive,
          warp.carry, warp.lanes,      warp.gathered, warp.stack,  warp.frames, warp.strands};
}

/// What a loop names is enough for lanes that are at its start, in the kernel itself. Lanes that wait within the loop may
/// need more.
bool Recurrence::needs_whole(const Warp& warp, const LoopFacts& loop) {
  return loop.calls || warp.frames.size() > 1 || parted(warp) ||
         std::any_of(warp.stack.begin(), warp.stack.end(),
                     [&](const Suspended& lanes) { return lanes.pc >= loop.first && lanes.pc < loop.end; });
}

bool Recurrence::reads_clock(const Code& code) const {
  const auto loop = code.loops.find(pc_);
  return whole_ || loop == code.loops.end() ? code.reads_clock : loop->second.reads_clock;
}

void Recurrence::step(const Warp& warp, u32 pc, u32 stride) {
  ++jumps_;
  if (found_) return;
  const auto loop = warp.code->loops.find(pc);
  if (loop == warp.code->loops.end()) return;
  if (pc == pc_ && same(warp, loop->second, stride)) {
    found_ = true;
    return;
  }
  if (++since_ < patience_) return;
  since_ = 0;
  patience_ *= 2;
  pc_ = pc;
  take(warp, loop->second, stride);
}

void Recurrence::take(const Warp& warp, const LoopFacts& loop, u32 stride) {
  control_ = control_of(warp);
  whole_ = needs_whole(warp, loop);
  differing_ = 0;
  if (whole_) {
    rows_ = warp.registers;
    rows_.insert(rows_.end(), warp.params.begin(), warp.params.end());
    predicates_ = warp.predicates;
    return;
  }
  rows_.clear();
  for (const u32 row : loop.rows) {
    const auto first = warp.registers.begin() + static_cast<std::ptrdiff_t>(u64{row} * stride);
    rows_.insert(rows_.end(), first, first + stride);
  }
  predicates_.clear();
  for (const u32 predicate : loop.predicates) predicates_.push_back(warp.predicates[predicate]);
}

bool Recurrence::same(const Warp& warp, const LoopFacts& loop, u32 stride) {
  const u64 bytes = u64{stride} * sizeof(u32);
  const auto* kept = rows_.data();
  if (!whole_) {
    const auto differs = [&](u32 i) {
      return std::memcmp(kept + u64{i} * stride, warp.registers.data() + u64{loop.rows[i]} * stride, bytes) != 0;
    };
    if (differing_ < loop.rows.size() && differs(differing_)) return false;
    for (u32 i = 0; i < loop.rows.size(); ++i) {
      if (!differs(i)) continue;
      differing_ = i;
      return false;
    }
    for (u32 i = 0; i < loop.predicates.size(); ++i)
      if (predicates_[i] != warp.predicates[loop.predicates[i]]) return false;
    return control_ == control_of(warp) && !needs_whole(warp, loop);
  }
  if (rows_.size() != warp.registers.size() + warp.params.size()) return false;
  const auto differs = [&](u32 i) {
    const u64 at = u64{i} * stride;
    const u32* now =
        at < warp.registers.size() ? warp.registers.data() + at : warp.params.data() + (at - warp.registers.size());
    return std::memcmp(kept + at, now, bytes) != 0;
  };
  const u32 rows = static_cast<u32>(rows_.size() / stride);
  if (differing_ < rows && differs(differing_)) return false;
  for (u32 i = 0; i < rows; ++i) {
    if (!differs(i)) continue;
    differing_ = i;
    return false;
  }
  return predicates_ == warp.predicates && control_ == control_of(warp);
}

}  // namespace terrace::ptx
