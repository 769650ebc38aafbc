// What every walk path owes its walkers, and whoever saves a machine. What whole machines show of it is in
// memory_policy_contract_test.cc.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "contract/policy_calls.h"
#include "engine/rng.h"
#include "translation/walk_path.h"

namespace terrace {
namespace {

class Reads {
 public:
  Reads(u64 seed, u32 tenants) : rng_(seed, "reads"), epochs_(seed, "epochs"), tenants_(tenants) {}

  WalkPath::Way step(WalkPath& path) {
    return path.choose({.line = {rng_.below(1'000) * 128},
                        .walker = static_cast<u32>(rng_.below(16)),
                        .tenant = TenantId(rng_.below(tenants_)),
                        .level = static_cast<u8>(1 + rng_.below(kWalkLevels))});
  }
  /// In every eighth one nobody does anything.
  void epoch(WalkPath& path) {
    std::vector<TenantEpoch> epochs(tenants_);
    if (++number_ % 8 != 0) {
      for (TenantEpoch& epoch : epochs) {
        epoch.l2_requests = 1'000;
        epoch.l2_hits = 500;
        for (u32 level = 0; level < kWalkLevels; ++level) {
          epoch.walk_lookups[level] = epochs_.below(120 / tenants_);
          epoch.walk_hits[level] = epochs_.below(epoch.walk_lookups[level] + 1);
        }
      }
    }
    path.epoch(epochs);
  }

 private:
  Rng rng_, epochs_;
  u32 tenants_, number_ = 0;
};

class EveryWalkPath : public testing::TestWithParam<PolicyAndTenants> {
 protected:
  static std::unique_ptr<WalkPath> make() {
    return Registry<WalkPath>::instance().make(std::get<0>(GetParam()), {.tenants = tenants(), .seed = 1});
  }
  static u32 tenants() { return std::get<1>(GetParam()); }
};

TEST_P(EveryWalkPath, TakesOnlyWaysForWhichTheMachineWasWired) {
  const auto path = make();
  const bool uses[] = {path->uses(WalkPath::Way::kL2), path->uses(WalkPath::Way::kMemory)};
  EXPECT_TRUE(uses[0] || uses[1]);
  Reads reads(5, tenants());
  for (u32 step = 0; step < 10'000; ++step) {
    if (step % 250 == 249) reads.epoch(*path);
    const WalkPath::Way way = reads.step(*path);
    ASSERT_TRUE(way == WalkPath::Way::kL2 ? uses[0] : uses[1]) << "in step " << step;
    ASSERT_EQ(path->uses(WalkPath::Way::kL2), uses[0]) << "it is asked once";
    ASSERT_EQ(path->uses(WalkPath::Way::kMemory), uses[1]) << "it is asked once";
  }
}

TEST_P(EveryWalkPath, DependsOnNothingButItsCalls) {
  expect_nothing_but_calls_to_count<Reads>(tenants(), make);
}

TEST_P(EveryWalkPath, NeedsNoEpochsUnlessItSaysSo) {
  if (make()->by_epochs()) GTEST_SKIP() << "it says so";
  expect_epochs_to_change_nothing<Reads>(tenants(), make);
}

TEST_P(EveryWalkPath, AFreshOneThatGetsItsStateGoesOnAlike) {
  expect_a_fresh_one_to_go_on_alike<Reads>(tenants(), make);
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryWalkPath, testing::ValuesIn(policies_and_tenants<WalkPath>()),
                         policy_and_tenants_name);

}  // namespace
}  // namespace terrace
