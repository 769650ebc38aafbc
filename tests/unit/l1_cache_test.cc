// The L1 and what its SM writes: a line that is written to while it is fetched.
// SPDX-License-Identifier: MIT
#include "cache/l1_cache.h"

#include <gtest/gtest.h>

namespace terrace {
namespace {

constexpr TenantId kTenant{0};
constexpr LineKey kLine = LineKey::physical(7);

class L1Writes : public testing::TestWithParam<bool> {
 protected:
  void write(LineKey line) {
    if (GetParam()) {
      l1.atomic(line, kTenant);
    } else {
      l1.store(line, kTenant);
    }
  }
  L1Cache l1{{.bytes = 1024, .ways = 4}, 128};
};

TEST_P(L1Writes, ALineThatIsWrittenToWhileItIsFetchedIsNotJoinedAndNotKept) {
  ASSERT_EQ(l1.look(kLine), L1Cache::Outcome::kMiss);
  l1.load(kLine, L1Cache::Outcome::kMiss, {.record = 1}, kTenant);
  ASSERT_EQ(l1.look(kLine), L1Cache::Outcome::kMerged);
  write(kLine);
  write(kLine);
  EXPECT_EQ(l1.look(kLine), L1Cache::Outcome::kRefused);
  u32 told = 0;
  l1.fill(kLine, kLine, {}, [&](const L1Cache::Waiter& waiter) { told += waiter.record; });
  EXPECT_EQ(told, 1u) << "who waited from before gets its line";
  EXPECT_EQ(l1.look(kLine), L1Cache::Outcome::kMiss);
}

TEST_P(L1Writes, AFetchAfterTheWriteIsKept) {
  write(kLine);
  l1.load(kLine, L1Cache::Outcome::kMiss, {}, kTenant);
  EXPECT_EQ(l1.look(kLine), L1Cache::Outcome::kMerged);
  l1.fill(kLine, kLine, {}, [](const L1Cache::Waiter&) {});
  EXPECT_EQ(l1.look(kLine), L1Cache::Outcome::kHit);
}

INSTANTIATE_TEST_SUITE_P(StoresAndAtomics, L1Writes, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "atomic" : "store"; });

}  // namespace
}  // namespace terrace
