// Random kernels in CUDA C++: straight-line arithmetic, branches, loops, switches, calls, local arrays, shared memory
// with barriers, shuffles and votes, atomics whose outcome does not depend on their order. A seed gives the same text
// on every machine.
//
// What a kernel computes is defined by its source alone, whichever compiler reads it: integers wrap in unsigned types,
// shifts and divisors stay in range, products and sums are not contracted, NaNs are made canonical before their bits
// are seen, nothing with a side effect stands beside another in one expression. So one hash per seed serves clang's
// and nvcc's code, here and on a GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "frontend/program.h"

namespace terrace::random_kernels {

/// What every kernel is given: `in` random words, `sums` for atomics, and rows of `out`, one per thread.
inline constexpr u32 kInputWords = 512;  // of 64 bits
inline constexpr u32 kRowWords = 20;     // of 64 bits
/// Each atomic operation has words of its own: two operations on one word would not commute.
inline constexpr u32 kWordsPerSum = 4;
u32 sum_words();
/// Words that add floats start at zero and take small whole numbers, so that no order rounds.
bool sum_is_float(u32 word);

struct RandomKernel {
  std::string name;
  std::string source;
  Dim3 grid, block;
};

RandomKernel make_random_kernel(u64 seed);

/// Beside the flags of the workloads, without which clang's back end contracts products and sums. nvcc takes
/// --fmad=false.
inline constexpr char kClangFlags[] = "-ffp-contract=off -w";

/// One file of CUDA C++ with the kernels of several seeds.
std::string translation_unit(std::span<const u64> seeds);

}  // namespace terrace::random_kernels
