// Lanes of one warp that wait for each other go on, as on GPUs since Volta.
//
// The SIMT stack lets lanes run one after the other: those that part meet again before any goes on. That never ends if
// the running lanes wait, in a loop, for what a waiting lane would do. So when running lanes go round in vain while
// others of their warp wait, the warp parts into strands: each has a position and a stack of its own, and they take
// turns. A warp that is not parted runs as if there were no strands.
//
// The turn goes on to the next strand
//  - at a jump back to the start of a loop that polls (decode/polling.h), and after kPatience jumps back in any other
//    loop;
//  - where lanes meet that parted before the warp did: a strand waits there for the others, and goes on without them if
//    its turn comes again;
//  - at a barrier, and at an instruction that names member lanes of another strand: it waits until they come. If all
//    strands wait like this, the first goes on without the others.
// Strands that are at the same place become one again.
//
// Registers are the warp's: lanes of two strands use different columns of the same rows. So a function that a parted
// warp calls gets rows that no other strand uses, since another function may keep wider values there.
// SPDX-License-Identifier: MIT
#pragma once

#include "frontend/ptx/decode/inst.h"
#include "frontend/ptx/execute/warp.h"

namespace terrace::ptx {

/// Jumps back of the running lanes, while others of the warp wait, until these get a turn. A choice: lanes of one warp
/// seldom differ by so much in the lengths of their loops (in the workloads at size mini, by less than 500).
inline constexpr u32 kPatience = 1u << 14;

inline bool parted(const Warp& warp) {
  return !warp.strands.empty();
}

/// Lanes that computed results may overwrite: those of the frame, or none beside the running ones if the warp is parted.
inline u64 full_lanes(const Warp& warp) {
  return parted(warp) ? ~u64{0} : warp.frame().full & warp.alive;
}

/// The running lanes have jumped back. If others of the warp wait and it is their turn, the warp goes on with them;
/// `settle` must follow. False: the same lanes go on.
bool go_round(Warp& warp, bool polls);

/// Where lanes meet of which `expected` are due: waits for those of other strands.
void meet(Warp& warp, u64 expected);

/// At an instruction at which the lanes `needed` take part. False: the warp goes on with another strand, and this
/// instruction is issued again; `settle` must follow.
bool gather(Warp& warp, u64 needed);

/// All lanes of the running strand are gone: takes up another. False if there is none.
bool take_next(Warp& warp);

/// The first row of registers that no other strand uses.
u32 free_row(const Warp& warp, const Code& code);

}  // namespace terrace::ptx
