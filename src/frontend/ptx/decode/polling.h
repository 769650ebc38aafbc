// Loops that wait for memory to change: polling a flag, spinning on a lock.
//
// A loop polls if nothing that one pass computes decides what the next one does: it stores nothing and calls nothing,
// and no register that it writes and carries into its next pass reaches one of its branches, addresses or atomics. A count
// of the passes does not matter as long as nothing depends on it. Such a loop ends when memory changes, or never. A loop
// that sleeps (nanosleep) polls too, whatever it carries; but it may end by itself.
// SPDX-License-Identifier: MIT
#pragma once

#include "frontend/ptx/decode/control_flow.h"
#include "frontend/ptx/decode/decode.h"
#include "frontend/ptx/decode/liveness.h"

namespace terrace::ptx {

/// Sets kPolls, and kOnlyMemoryEnds, of each branch that jumps back to the start of such a loop.
void mark_polling_loops(const FunctionDecoder& decoded, const ControlFlow& flow, const Liveness& liveness);

bool reads_clock(const Statement* statement);

}  // namespace terrace::ptx
