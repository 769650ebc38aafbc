// What every warp scheduler owes the SM.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <bit>

#include "engine/rng.h"
#include "sm/warp_scheduler.h"
#include "support/part_state.h"

namespace terrace {
namespace {

class EveryWarpScheduler : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr u32 kWarps = 48;
  static std::unique_ptr<WarpScheduler> make() {
    auto scheduler = Registry<WarpScheduler>::instance().make(GetParam(), {kWarps});
    for (u32 warp = 0; warp < kWarps; ++warp) scheduler->started(warp, TenantId(0));
    return scheduler;
  }
};

TEST_P(EveryWarpScheduler, PicksAReadyWarp) {
  const auto scheduler = make();
  Rng rng(1, "ready");
  for (int i = 0; i < 10'000; ++i) {
    const u64 ready = rng.next() & rng.next() & rng.next() & ((u64{1} << kWarps) - 1);
    if (ready == 0) continue;
    const u32 picked = scheduler->pick(ready);
    ASSERT_LT(picked, kWarps);
    ASSERT_TRUE(ready >> picked & 1) << "warp " << picked << " is not ready";
    if (rng.below(50) == 0) scheduler->started(picked, TenantId(0));
  }
}

TEST_P(EveryWarpScheduler, PicksTheOnlyReadyWarp) {
  const auto scheduler = make();
  for (const u32 warp : {0u, 47u, 3u, 3u, 46u, 0u}) EXPECT_EQ(scheduler->pick(u64{1} << warp), warp);
}

TEST_P(EveryWarpScheduler, ServesEveryWarpThatStaysReadyOnceTheOthersHaveDoneTheirWork) {
  const auto scheduler = make();
  u64 ready = (u64{1} << kWarps) - 1;
  std::vector<u32> left(kWarps, 7);  // instructions that each warp has
  u32 issued = 0;
  while (ready != 0) {
    const u32 warp = scheduler->pick(ready);
    ++issued;
    if (--left[warp] == 0) ready &= ~(u64{1} << warp);
  }
  EXPECT_EQ(issued, 7 * kWarps);
}

TEST_P(EveryWarpScheduler, DependsOnNothingButItsCalls) {
  const auto one = make(), other = make();
  Rng rng(2, "ready");
  for (int i = 0; i < 1'000; ++i) {
    const u64 ready = rng.next() >> 16 | 1;
    ASSERT_EQ(one->pick(ready), other->pick(ready));
  }
}

TEST_P(EveryWarpScheduler, AFreshOneThatGetsItsStateGoesOnAlike) {
  const auto scheduler = make();
  std::unique_ptr<WarpScheduler> twin;
  Rng rng(3, "ready");
  for (int i = 0; i < 5'000; ++i) {
    if (i % 111 == 0) {
      ASSERT_NO_FATAL_FAILURE(
          renew_twin(*scheduler, twin, Registry<WarpScheduler>::instance().make(GetParam(), {kWarps})));
    }
    if (rng.below(20) == 0) {
      const u32 place = static_cast<u32>(rng.below(kWarps));
      const auto tenant = TenantId(rng.below(3));
      scheduler->started(place, tenant);
      twin->started(place, tenant);
    }
    const u64 ready = (rng.next() & rng.next()) >> 16 | u64{1} << rng.below(kWarps);
    ASSERT_EQ(twin->pick(ready), scheduler->pick(ready)) << "in step " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryWarpScheduler,
                         ::testing::ValuesIn(Registry<WarpScheduler>::instance().names()),
                         [](const auto& policy) { return policy.param; });

}  // namespace
}  // namespace terrace
