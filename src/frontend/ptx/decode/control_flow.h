// Basic blocks of a decoded function and where lanes that part at a branch meet again: the immediate post-dominator.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "frontend/ptx/decode/inst.h"

namespace terrace::ptx {

struct BasicBlock {
  u32 first, end;               // instructions
  std::vector<u32> successors;  // blocks; the function's exit is block number blocks.size()
};

struct ControlFlow {
  std::vector<BasicBlock> blocks;
  std::vector<u32> postdominator;  // of each block; blocks.size() is the exit
};

/// The instructions [first, end) of one function.
ControlFlow analyse_control_flow(const Code& code, u32 first, u32 end);

/// Sets Inst::reconverge of every instruction at which lanes can part.
void set_reconvergence(Code& code, const ControlFlow& flow, u32 end);

}  // namespace terrace::ptx
