// SPDX-License-Identifier: MIT
#include "frontend/ptx/execute/strands.h"

#include <algorithm>
#include <utility>

namespace terrace::ptx {
namespace {

bool same(const Suspended& a, const Suspended& b) {
  return a.pc == b.pc && a.reconverge == b.reconverge;
}

bool same(const Frame& a, const Frame& b) {
  return a.function == b.function && a.call == b.call && a.row_base == b.row_base && a.depth == b.depth;
}

/// Whether the lanes of the strand would do from here on what the running ones do.
bool at_same_place(const Warp& warp, const Strand& strand) {
  return strand.active != 0 && warp.pc == strand.pc && warp.reconverge == strand.reconverge &&
         std::equal(warp.stack.begin(), warp.stack.end(), strand.stack.begin(), strand.stack.end(),
                    [](const Suspended& a, const Suspended& b) { return same(a, b); }) &&
         std::equal(warp.frames.begin(), warp.frames.end(), strand.frames.begin(), strand.frames.end(),
                    [](const Frame& a, const Frame& b) { return same(a, b); });
}

void join(Warp& warp, const Strand& strand) {
  warp.active |= strand.active;
  warp.lanes |= strand.lanes;
  for (u32 i = 0; i < warp.stack.size(); ++i) warp.stack[i].mask |= strand.stack[i].mask;
  for (u32 i = 0; i < warp.frames.size(); ++i) warp.frames[i].full |= strand.frames[i].full;
}

void note_parting(Warp& warp) {
  if (!parted(warp)) warp.lanes = ~u64{0};
  warp.full = full_lanes(warp);
}

/// Strands that are where the running one is become part of it.
void join_all(Warp& warp) {
  std::erase_if(warp.strands, [&](const Strand& strand) {
    if (!at_same_place(warp, strand)) return false;
    join(warp, strand);
    return true;
  });
  note_parting(warp);
}

void take(Warp& warp, std::size_t position) {
  Strand next = std::move(warp.strands[position]);
  warp.strands.erase(warp.strands.begin() + static_cast<std::ptrdiff_t>(position));
  warp.pc = next.pc;
  warp.reconverge = next.reconverge;
  warp.active = next.active;
  warp.lanes = next.lanes;
  warp.stack = std::move(next.stack);
  warp.frames = std::move(next.frames);
  warp.rounds = 0;
  // Nobody is left who could come to where it waits.
  warp.gathered = next.wait == StrandWait::kGathering;
  if (warp.gathered)
    join_all(warp);
  else
    note_parting(warp);
}

/// The first strand that can run; if all gather, the first.
std::size_t next_of(const Warp& warp) {
  const auto ready = std::find_if(warp.strands.begin(), warp.strands.end(),
                                  [](const Strand& strand) { return strand.wait != StrandWait::kGathering; });
  return ready == warp.strands.end() ? 0 : static_cast<std::size_t>(ready - warp.strands.begin());
}

/// The running strand goes behind all others, and the next one runs. It goes on itself if only it can.
void pass_turn(Warp& warp, StrandWait wait) {
  join_all(warp);
  if (!parted(warp)) return;
  const std::size_t next = next_of(warp);
  if (wait != StrandWait::kGathering && warp.strands[next].wait == StrandWait::kGathering) return;
  warp.strands.push_back(
      {warp.pc, warp.reconverge, warp.active, warp.lanes, wait, std::move(warp.stack), std::move(warp.frames)});
  take(warp, next);
}

/// The lanes that wait in the running strand's stack become a strand of their own, the first in turn.
void part(Warp& warp) {
  const u64 rest = warp.alive & warp.lanes & ~warp.active;
  if (rest == 0) return;
  warp.lanes = warp.active;
  warp.strands.insert(warp.strands.begin(),
                      {warp.pc, warp.reconverge, 0, rest, StrandWait::kTurn, warp.stack, warp.frames});
  note_parting(warp);
}

}  // namespace

bool go_round(Warp& warp, bool polls) {
  if ((warp.alive & ~warp.active) == 0) return false;
  if (!polls && ++warp.rounds < kPatience) return false;
  warp.rounds = 0;
  part(warp);
  const u64 lanes = warp.lanes;
  pass_turn(warp, StrandWait::kTurn);
  return warp.lanes != lanes;
}

void meet(Warp& warp, u64 expected) {
  if (warp.active == 0 || (expected & warp.alive & ~warp.lanes) == 0) return;
  join_all(warp);
  if ((expected & warp.alive & ~warp.lanes) != 0) pass_turn(warp, StrandWait::kMeeting);
}

bool gather(Warp& warp, u64 needed) {
  join_all(warp);
  if (std::exchange(warp.gathered, false) || (needed & warp.alive & ~warp.lanes) == 0) return true;
  pass_turn(warp, StrandWait::kGathering);
  return false;
}

bool take_next(Warp& warp) {
  if (!parted(warp)) return false;
  take(warp, next_of(warp));
  return true;
}

u32 free_row(const Warp& warp, const Code& code) {
  u32 first = 0;
  for (const Strand& strand : warp.strands) {
    const Frame& top = strand.frames.back();
    first = std::max(first, top.row_base + code.functions[top.function].rows);
  }
  return first;
}

}  // namespace terrace::ptx
