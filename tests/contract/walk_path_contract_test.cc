// What every walk path owes whoever saves a machine. What it owes a machine that runs is in
// memory_policy_contract_test.cc.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "engine/rng.h"
#include "support/part_state.h"
#include "translation/walk_path.h"

namespace terrace {
namespace {

using Case = std::tuple<std::string, u32>;  // policy, tenants

class EveryWalkPath : public testing::TestWithParam<Case> {
 protected:
  static std::unique_ptr<WalkPath> make() {
    return Registry<WalkPath>::instance().make(std::get<0>(GetParam()),
                                               {.tenants = std::get<1>(GetParam()), .seed = 1});
  }
};

TEST_P(EveryWalkPath, AFreshOneThatGetsItsStateGoesOnAlike) {
  constexpr u32 kSteps = 20'000, kEpoch = 300, kTwin = 1'130;
  Rng rng(10, "reads");
  const u32 tenants = std::get<1>(GetParam());
  const auto path = make();
  std::unique_ptr<WalkPath> twin;
  for (u32 step = 0; step < kSteps; ++step) {
    if (step % kTwin == 0) {
      ASSERT_NO_FATAL_FAILURE(renew_twin(*path, twin, make()));
    }
    if (step % kEpoch == kEpoch - 1) {
      std::vector<TenantEpoch> epochs(tenants);
      for (TenantEpoch& epoch : epochs) {
        epoch.l2_requests = 1'000;
        epoch.l2_hits = 500;
        for (u32 level = 0; level < kWalkLevels; ++level) {
          epoch.walk_lookups[level] = rng.below(120 / tenants);
          epoch.walk_hits[level] = rng.below(epoch.walk_lookups[level] + 1);
        }
      }
      path->epoch(epochs);
      twin->epoch(epochs);
    }
    const WalkRead read{.line = {rng.below(1'000) * 128},
                        .walker = static_cast<u32>(rng.below(16)),
                        .tenant = TenantId(rng.below(tenants)),
                        .level = static_cast<u8>(1 + rng.below(kWalkLevels))};
    const WalkPath::Way way = path->choose(read);
    ASSERT_EQ(twin->choose(read), way) << "in step " << step;
    ASSERT_TRUE(path->uses(way));
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string& name : Registry<WalkPath>::instance().names())
    for (u32 tenants = 1; tenants <= 5; ++tenants) all.emplace_back(name, tenants);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryWalkPath, testing::ValuesIn(cases()), [](const auto& tested) {
  return std::get<0>(tested.param) + "_" + std::to_string(std::get<1>(tested.param)) + "_tenants";
});

}  // namespace
}  // namespace terrace
