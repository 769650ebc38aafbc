// SPDX-License-Identifier: MIT
#include "frontend/ptx/execute/simt_stack.h"

#include <bit>
#include <cstring>

#include "frontend/ptx/execute/strands.h"

namespace terrace::ptx {
namespace {

/// Takes up the innermost waiting lanes. False when there are none.
bool resume(Warp& warp) {
  if (warp.stack.empty()) return false;
  const Suspended next = warp.stack.back();
  warp.stack.pop_back();
  if (warp.frames.size() > 1 && warp.stack.size() < warp.frame().depth) warp.frames.pop_back();
  warp.pc = next.pc;
  warp.reconverge = next.reconverge;
  warp.active = next.mask & warp.alive & warp.lanes;
  warp.full = full_lanes(warp);
  warp.rounds = 0;
  if (parted(warp)) meet(warp, next.mask);
  return true;
}

void return_from_call(Warp& warp, const Code& code, u32 stride) {
  const Frame callee = warp.frame();
  const Frame& caller = warp.frames[warp.frames.size() - 2];
  copy_params(warp, stride, warp.active, code.calls[callee.call].results, callee.param_base, caller.param_base);
  resume(warp);
}

}  // namespace

void settle(Warp& warp, const Code& code, u32 stride) {
  while (true) {
    if (warp.active == 0 || warp.pc == warp.reconverge) {
      if (!resume(warp) && !take_next(warp)) return;
    } else if (warp.pc == code.functions[warp.frame().function].end) {
      if (warp.frames.size() == 1) {
        exit_lanes(warp, warp.active);
      } else {
        return_from_call(warp, code, stride);
      }
    } else {
      return;
    }
  }
}

void suspend(Warp& warp, u32 pc, u32 reconverge, u64 lanes) {
  warp.stack.push_back({pc, reconverge, lanes});
}

void branch(Warp& warp, const Code& code, u32 stride, u64 taken, u32 target, u32 reconverge) {
  const u64 others = warp.active & ~taken;
  const u32 next = warp.pc + 1;
  if (others == 0 || taken == 0) {
    warp.pc = others == 0 ? target : next;
    return settle(warp, code, stride);
  }
  // Lanes in a loop that already run towards this point need no second meeting there.
  if (reconverge != warp.reconverge) suspend(warp, reconverge, warp.reconverge, warp.active);
  warp.reconverge = reconverge;
  if (target != reconverge && next != reconverge) suspend(warp, target, reconverge, taken);
  const bool fall_through = next != reconverge;
  warp.pc = fall_through ? next : target;
  warp.active = fall_through ? others : taken;
  settle(warp, code, stride);
}

void exit_lanes(Warp& warp, u64 lanes) {
  warp.alive &= ~lanes;
  warp.active &= ~lanes;
  warp.full &= ~lanes;
}

void copy_params(Warp& warp, u32 stride, u64 lanes, const std::vector<ParamCopy>& copies, u32 from_base, u32 to_base) {
  u8* bytes = reinterpret_cast<u8*>(warp.params.data());
  for (const ParamCopy& copy : copies) {
    for (u64 rest = lanes; rest != 0; rest &= rest - 1) {
      const u32 lane = static_cast<u32>(std::countr_zero(rest));
      for (u32 done = 0; done < copy.bytes;) {
        const u32 from = from_base + copy.from + done, to = to_base + copy.to + done;
        // Whole words where both are aligned, single bytes otherwise.
        const u32 step = copy.bytes - done >= 4 && from % 4 == 0 && to % 4 == 0 ? 4 : 1;
        std::memcpy(bytes + param_index(stride, to, lane), bytes + param_index(stride, from, lane), step);
        done += step;
      }
    }
  }
}

}  // namespace terrace::ptx
