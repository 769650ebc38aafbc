// SPDX-License-Identifier: MIT
#include "wire/fault_list.h"

#include <gtest/gtest.h>

#include <string>

namespace terrace {
namespace {

struct Fault {
  TenantId tenant{};
  std::string what;
};

TEST(FaultList, GivesTheFirstFaultOfEachTenantOnceInTheOrderInWhichTheyCame) {
  FaultList<Fault> list;
  list.note({TenantId(2), "first of 2"});
  list.note({TenantId(0), "first of 0"});
  list.note({TenantId(2), "second of 2"});
  EXPECT_EQ(list.take().value().what, "first of 2");
  EXPECT_EQ(list.take().value().what, "first of 0");
  EXPECT_FALSE(list.take().has_value());
}

TEST(FaultList, TakesAFaultOfATenantWhoseLastOneWasTaken) {
  FaultList<Fault> list;
  list.note({TenantId(0), "one"});
  list.take();
  list.note({TenantId(0), "other"});
  EXPECT_EQ(list.take().value().what, "other");
}

}  // namespace
}  // namespace terrace
