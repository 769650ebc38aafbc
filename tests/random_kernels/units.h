// The seeds that are compared with a real GPU, in translation units: compiling many kernels at once costs less.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "engine/types.h"

namespace terrace::random_kernels {

inline constexpr u32 kUnits = 40;
inline constexpr u32 kKernelsPerUnit = 15;

inline std::vector<u64> seeds_of_unit(u32 unit) {
  std::vector<u64> seeds;
  for (u64 i = 0; i < kKernelsPerUnit; ++i) seeds.push_back(u64{unit} * kKernelsPerUnit + i + 1);
  return seeds;
}

}  // namespace terrace::random_kernels
