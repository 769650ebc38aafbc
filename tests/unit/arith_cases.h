// How many random cases the arithmetic tests try, and how a mismatch is told.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/types.h"

namespace terrace {

/// Per operation and rounding mode. Sanitizers make a case about ten times dearer.
#ifdef TERRACE_DCHECK
inline constexpr u32 kArithCases = 4'000;
#else
inline constexpr u32 kArithCases = 100'000;
#endif

/// Counts mismatches of one operation and keeps the first as a sentence.
class Mismatches {
 public:
  explicit Mismatches(std::string operation) : operation_(std::move(operation)) {}
  ~Mismatches() { EXPECT_EQ(count_, 0u) << operation_ << " is wrong in " << count_ << " cases, first: " << first_; }
  Mismatches(const Mismatches&) = delete;
  Mismatches& operator=(const Mismatches&) = delete;

  template <class... Operands>
  void check(u64 actual, u64 expected, Operands... operands) {
    if (actual == expected) return;
    if (count_++ != 0) return;
    first_ = fmt::format("{:x}, not {:x}, from", actual, expected);
    ((first_ += fmt::format(" {:x}", operands)), ...);
  }

 private:
  std::string operation_;
  std::string first_;
  u32 count_ = 0;
};

}  // namespace terrace
