// Which registers of a function hold values that are still needed, and what follows from it: the register demand that
// limits occupancy, and compact places in a warp's register window.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "frontend/ptx/decode/control_flow.h"
#include "frontend/ptx/decode/decode.h"

namespace terrace::ptx {

struct Liveness {
  /// Live range of each register in half steps: instruction i reads at 2i and writes at 2i + 1, counted from the
  /// function's first. start > end: never used.
  struct Range {
    u32 start = ~u32{0}, end = 0;
  };
  std::vector<Range> ranges;
  /// 32-bit registers live after each instruction, predicates not counted.
  std::vector<u32> live_after;
  u32 max_live = 0;
  /// Registers that each block needs from those before it, in ascending order.
  std::vector<std::vector<u32>> live_in;
};

Liveness analyse_liveness(const FunctionDecoder& decoded, const ControlFlow& flow);

/// Register -> first row of the window, or index of the predicate. First fit in order of start (linear scan), among
/// places of one width.
struct Placement {
  std::vector<u32> place;
  u32 rows = 0, predicates = 0;
};
Placement place_registers(const Function& function, const Liveness& liveness);

}  // namespace terrace::ptx
