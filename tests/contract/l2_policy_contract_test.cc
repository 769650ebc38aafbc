// What every L2 admission policy and every L2 victim policy owes whoever saves a machine. What they owe a machine that runs
// is in memory_policy_contract_test.cc.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "cache/l2_admission.h"
#include "cache/l2_victim.h"
#include "engine/rng.h"
#include "support/part_state.h"

namespace terrace {
namespace {

using Combination = std::tuple<std::string, u32>;  // policy, tenants

template <class Slot>
std::vector<Combination> combinations() {
  std::vector<Combination> all;
  for (const std::string& name : Registry<Slot>::instance().names()) {
    for (u32 tenants = 1; tenants <= 5; ++tenants) all.emplace_back(name, tenants);
  }
  return all;
}
std::string told(const testing::TestParamInfo<Combination>& tested) {
  return std::get<0>(tested.param) + "_" + std::to_string(std::get<1>(tested.param)) + "_tenants";
}

class EveryL2Admission : public testing::TestWithParam<Combination> {};

TEST_P(EveryL2Admission, AFreshOneThatGetsItsStateGoesOnAlike) {
  constexpr AccessKind kKinds[] = {AccessKind::kLoad, AccessKind::kStore, AccessKind::kAtomic, AccessKind::kWalk};
  const u32 tenants = std::get<1>(GetParam());
  const auto make = [&] {
    return Registry<L2Admission>::instance().make(std::get<0>(GetParam()), {.tenants = tenants, .slice = 3, .seed = 1});
  };
  const auto policy = make();
  std::unique_ptr<L2Admission> twin;
  Rng rng(11, "requests");
  for (u32 step = 0; step < 20'000; ++step) {
    if (step % 1'110 == 0) {
      ASSERT_NO_FATAL_FAILURE(renew_twin(*policy, twin, make()));
    }
    if (step % 500 == 499) {
      std::vector<TenantEpoch> epochs(tenants);
      for (TenantEpoch& epoch : epochs) epoch.l2_requests = rng.below(10'000);
      policy->epoch(epochs);
      twin->epoch(epochs);
    }
    const AccessKind kind = kKinds[rng.below(4)];
    const auto level = static_cast<u8>(kind == AccessKind::kWalk ? 1 + rng.below(4) : 0);
    const L2Request request{TenantId(rng.below(tenants)), kind, level};
    const auto choice = policy->admit(request);
    ASSERT_EQ(twin->admit(request), choice) << "in step " << step;
    if (choice == L2Admission::Choice::kBypass) continue;
    const bool hit = rng.below(4) >= level;  // the root's entries hit most
    policy->looked_up(request, hit);
    twin->looked_up(request, hit);
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryL2Admission, testing::ValuesIn(combinations<L2Admission>()), told);

class EveryL2Victim : public testing::TestWithParam<Combination> {};

TEST_P(EveryL2Victim, AFreshOneThatGetsItsStateGoesOnAlike) {
  constexpr u32 kWays = 8;
  const u32 tenants = std::get<1>(GetParam());
  const auto make = [&] {
    return Registry<L2Victim>::instance().make(std::get<0>(GetParam()),
                                               {.tenants = tenants, .ways = kWays, .slice = 3, .seed = 1});
  };
  const auto policy = make();
  std::unique_ptr<L2Victim> twin;
  TagArray<L2Line> tags({.entries = 16 * kWays, .ways = kWays});
  Rng rng(12, "lines");
  for (u32 step = 0; step < 20'000; ++step) {
    if (step % 1'110 == 0) {
      ASSERT_NO_FATAL_FAILURE(renew_twin(*policy, twin, make()));
    }
    const u64 key = rng.below(1'000);
    if (const i32 entry = tags.find(key); entry >= 0) {
      tags.touch(static_cast<u32>(entry));
      continue;
    }
    L2Line arriving;
    arriving.tenant = TenantId(rng.below(tenants));
    arriving.walk_level = static_cast<u8>(rng.below(5));
    const L2Set set(tags, key);
    const u32 way = policy->victim(set, arriving);
    ASSERT_LT(way, kWays);
    ASSERT_EQ(twin->victim(set, arriving), way) << "in step " << step;
    tags.fill(set.first() + way, key) = arriving;
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryL2Victim, testing::ValuesIn(combinations<L2Victim>()), told);

}  // namespace
}  // namespace terrace
