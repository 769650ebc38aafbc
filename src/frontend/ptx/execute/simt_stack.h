// Lanes that part and meet again. The running lanes are in Warp::pc, active and reconverge; the others wait in
// Warp::stack, innermost last. Lanes that part at a branch meet at its immediate post-dominator; lanes that return from
// a function meet at its end.
// SPDX-License-Identifier: MIT
#pragma once

#include "frontend/ptx/decode/inst.h"
#include "frontend/ptx/execute/warp.h"

namespace terrace::ptx {

/// Brings the warp to lanes that can run: past reconvergence points, out of functions that all lanes have left. When no
/// lane is left the warp's `active` is zero.
void settle(Warp& warp, const Code& code, u32 stride);

/// The lanes `taken` go to `target`, the other running ones to the next instruction; all meet at `reconverge`.
void branch(Warp& warp, const Code& code, u32 stride, u64 taken, u32 target, u32 reconverge);

/// The lanes are gone for good.
void exit_lanes(Warp& warp, u64 lanes);

/// One side of a branch in many directions; after the last one, `settle`.
void suspend(Warp& warp, u32 pc, u32 reconverge, u64 lanes);

/// Copies arguments or results between two parameter areas, for some lanes.
void copy_params(Warp& warp, u32 stride, u64 lanes, const std::vector<ParamCopy>& copies, u32 from_base, u32 to_base);

/// A lane's byte in a parameter area: words of the lanes lie side by side.
inline u64 param_index(u32 stride, u32 offset, u32 lane) {
  return (u64{offset / 4} * stride + lane) * 4 + offset % 4;
}

}  // namespace terrace::ptx
