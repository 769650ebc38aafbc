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
  for (const u32 warp : {2, 0, 1}) gto->started(warp, TenantId(0));
  EXPECT_EQ(picks(*gto, {0b011, 0b111, 0b110, 0b011, 0b010, 0b111}), (std::vector<u32>{0, 0, 2, 0, 1, 1}));
}

TEST(Gto, ANewWarpInTheSamePlaceIsTheYoungest) {
  const auto gto = Registry<WarpScheduler>::instance().make("gto", {});
  for (const u32 warp : {0, 1, 2}) gto->started(warp, TenantId(0));
  EXPECT_EQ(gto->pick(0b100), 2u);
  gto->started(0, TenantId(0));
  EXPECT_EQ(gto->pick(0b011), 1u);
}

TEST(TenantGto, TenantsIssueInTurnAndEachIsGreedyThenOldest) {
  const auto scheduler = Registry<WarpScheduler>::instance().make("tenant_gto", {});
  // Warps 0 and 1 are the first tenant's, 2 and 3 the second's; 1 and 3 are the older ones.
  for (const u32 warp : {1u, 3u, 0u, 2u}) scheduler->started(warp, TenantId(warp / 2));
  EXPECT_EQ(scheduler->pick(0b1111), 1u) << "the oldest of the first tenant";
  EXPECT_EQ(scheduler->pick(0b1111), 3u) << "then the other tenant";
  EXPECT_EQ(scheduler->pick(0b1101), 0u) << "its last warp is not ready";
  EXPECT_EQ(scheduler->pick(0b1111), 3u) << "greedy";
  EXPECT_EQ(scheduler->pick(0b1111), 0u) << "greedy, though an older one is ready";
  EXPECT_EQ(scheduler->pick(0b0011), 0u) << "nobody else is ready: the same tenant again";
  scheduler->started(0, TenantId(1));
  EXPECT_EQ(scheduler->pick(0b0001), 0u) << "the place is the other tenant's now";
  EXPECT_EQ(scheduler->pick(0b0011), 1u);
}

}  // namespace
}  // namespace terrace
