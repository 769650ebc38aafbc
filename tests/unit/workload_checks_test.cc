// Comparing results with references.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <limits>

#include "support/checks.h"

namespace terrace {
namespace {

TEST(RelativeCheck, FailsOnAValueThatIsNotANumber) {
  RelativeCheck check("x", 1e-3);
  check.compare(0, 1, 1);
  check.compare(1, std::numeric_limits<double>::quiet_NaN(), 1);
  EXPECT_FALSE(check.result().passed);
}

TEST(RelativeCheck, FailsWhenEverythingIsZeroEvenIfThatIsExpected) {
  RelativeCheck check("x", 1e-3);
  check.compare(0, 0, 0);
  EXPECT_FALSE(check.result().passed);
  EXPECT_FALSE(RelativeCheck("y", 1).result().passed);
}

TEST(RelativeCheck, PassesJustInsideItsToleranceAndFailsJustOutside) {
  RelativeCheck inside("x", 1e-3), outside("x", 1e-3);
  inside.compare(0, 100.09, 100);
  outside.compare(0, 100.11, 100);
  EXPECT_TRUE(inside.result().passed);
  EXPECT_FALSE(outside.result().passed);
}

TEST(NormCheck, FailsOnAValueThatIsNotANumber) {
  NormCheck check("x", 1e-3);
  check.compare(1, 1);
  check.compare(std::numeric_limits<double>::quiet_NaN(), 1);
  EXPECT_FALSE(check.result().passed);
}

TEST(ExactCheck, NamesTheFirstWrongValueAndCountsThem) {
  ExactCheck check("level");
  for (u64 i = 0; i < 10; ++i) check.compare(i, static_cast<i64>(i), i < 7 ? static_cast<i64>(i) : 0);
  EXPECT_FALSE(check.result().passed);
  EXPECT_EQ(check.result().message, "level[7] is 7 and should be 0; 3 of 10 values are wrong");
}

}  // namespace
}  // namespace terrace
