// SPDX-License-Identifier: MIT
#include "engine/check.h"

#include <gtest/gtest.h>

namespace terrace {
namespace {

TEST(Check, ABrokenInvariantNamesTheConditionAndItsValues) {
  const int walks = 3;
  try {
    SIM_CHECK(walks == 4, "{} walks in flight", walks);
    FAIL() << "the check let a broken invariant pass";
  } catch (const ModelError& error) {
    EXPECT_NE(std::string(error.what()).find("3 walks in flight [walks == 4]"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace terrace
