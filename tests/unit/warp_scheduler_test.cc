// SPDX-License-Identifier: MIT
#include "sm/warp_scheduler.h"

#include <gtest/gtest.h>

namespace terrace {
namespace {

std::vector<u32> picks(WarpScheduler& scheduler, const std::vector<u64>& ready) {
  std::vector<u32> picked;
  for (const u64 mask : ready) picked.push_back(scheduler.pick(mask));
  return picked;
}

TEST(Lrr, TakesReadyWarpsInTurn) {
  const auto lrr = Registry<WarpScheduler>::instance().make("lrr", {});
  EXPECT_EQ(picks(*lrr, {0b1011, 0b1011, 0b1011, 0b1011, 0b0001, 0b1111}), (std::vector<u32>{0, 1, 3, 0, 0, 1}));
  EXPECT_EQ(lrr->pick(u64{1} << 63), 63u);
  EXPECT_EQ(lrr->pick(u64{1} << 63 | 4), 2u);
}

TEST(Gto, StaysWithAWarpWhileItIsReadyAndThenTakesTheOldest) {
  const auto gto = Registry<WarpScheduler>::instance().make("gto", {});
  u64 age = 0;
  for (const u32 warp : {2, 0, 1}) gto->started(warp, ++age);
  EXPECT_EQ(picks(*gto, {0b011, 0b111, 0b110, 0b011, 0b010, 0b111}), (std::vector<u32>{0, 0, 2, 0, 1, 1}));
}

TEST(Gto, ANewWarpInTheSameSlotIsTheYoungest) {
  const auto gto = Registry<WarpScheduler>::instance().make("gto", {});
  for (const u32 warp : {0, 1, 2}) gto->started(warp, warp);
  EXPECT_EQ(gto->pick(0b100), 2u);
  gto->started(0, 3);
  EXPECT_EQ(gto->pick(0b011), 1u);
}

}  // namespace
}  // namespace terrace
