// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <vector>

#include "text/unit_names.h"

namespace terrace {
namespace {

TEST(UnitNames, APartIsANumberIfItHasDigitsAndNothingElse) {
  for (const char* number : {"0", "13", "007"}) EXPECT_TRUE(is_number(number)) << number;
  for (const char* name : {"", "l2", "3d", "-1", "1.5", "*"}) EXPECT_FALSE(is_number(name)) << name;
}

TEST(UnitNames, NumbersOfUnitsBecomeStarsAndLabelsStay) {
  EXPECT_EQ(over_all_units("gpu.l2.13.hits{tenant=1}"), "gpu.l2.*.hits{tenant=1}");
  EXPECT_EQ(over_all_units("gpu.mmu.0.blame.walkers{tenant=0 holder=1}"), "gpu.mmu.*.blame.walkers{tenant=0 holder=1}");
  EXPECT_EQ(over_all_units("gpu.dispatcher.launches"), "gpu.dispatcher.launches");
  EXPECT_EQ(over_all_units("gpu.l2_tlb.0.hits"), "gpu.l2_tlb.*.hits");
}

TEST(UnitNames, ThoseThatDifferInANumberAloneAreGivenByTheirFirstAndLast) {
  const std::vector<std::string> names{"dispatcher",      "sm.0", "sm.1", "sm.2", "l2.0", "l2.0.translator", "l2.1",
                                       "l2.1.translator", "fbt",  "mmu.0"};
  EXPECT_EQ(in_ranges(names), "dispatcher, sm.0 to sm.2, l2.0 to l2.1, l2.0.translator to l2.1.translator, fbt, mmu.0");
  EXPECT_EQ(in_ranges({}), "");
}

}  // namespace
}  // namespace terrace
