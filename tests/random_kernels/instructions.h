// The instructions that random kernels use through inline assembly: what C++ has no operator for. All are bit-exact
// and accepted for sm_70. Left out: approximate instructions, which hashes cannot compare, and the cases that
// docs/ptx.md marks as differing from an H200.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "engine/types.h"

namespace terrace::random_kernels {

/// r, l: u32, u64 registers. f, d: f32, f64. F, D: the same, whose NaNs are made canonical first, since the instruction
/// shows their bits. h: a half, as u16. a: a u32 amount below 256.
struct Instruction {
  std::string name;      // of the device function
  std::string types;     // of the result, then of the operands
  std::string assembly;  // %0 is the result
};

/// In a fixed order.
const std::vector<Instruction>& instructions();
/// A device function around an instruction: u32 NAME(u32 a, float b).
std::string device_function(const Instruction& instruction);

}  // namespace terrace::random_kernels
