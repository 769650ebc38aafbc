// What is known of loops before they run: whether anything leads out of them, and which registers decide what the next pass
// does. A loop here is a strongly connected part of a function's control flow, nested loops included: what has left it does
// not come back but from the start of the function.
// SPDX-License-Identifier: MIT
#pragma once

#include "frontend/ptx/decode/control_flow.h"
#include "frontend/ptx/decode/decode.h"
#include "frontend/ptx/decode/liveness.h"

namespace terrace::ptx {

/// Adds the loop of each branch that jumps back to Code::loops.
void note_loops(const FunctionDecoder& decoded, const ControlFlow& flow, const Liveness& liveness,
                const Placement& placement);

}  // namespace terrace::ptx
