// How a speed floor is asserted.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "engine/types.h"

namespace terrace {

/// The best of three runs, in millions of what `run` returns the count of, reaches a quarter of the floor.
template <class Run>
void expect_speed(double floor_million_per_second, Run&& run) {
  double best = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const auto from = std::chrono::steady_clock::now();
    const u64 count = run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - from;
    best = std::max(best, static_cast<double>(count) * 1e-6 / took.count());
  }
  testing::Test::RecordProperty("million_per_second", std::to_string(best));
  EXPECT_GE(best, floor_million_per_second / 4) << "the floor is " << floor_million_per_second << " million per second";
}

}  // namespace terrace
