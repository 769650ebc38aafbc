// What every SM partitioner owes the GPU, for one to five tenants that come and go.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/rng.h"
#include "tenancy/sm_partitioner.h"

namespace terrace {
namespace {

using Combination = std::tuple<std::string, u32>;  // partitioner, tenants
using Occasion = SmPartitioner::Occasion;

class EverySmPartitioner : public ::testing::TestWithParam<Combination> {
 protected:
  static constexpr u32 kSms = 13;

  u32 tenants() const { return std::get<1>(GetParam()); }
  SmPlan first_plan() const {
    SmPlan plan;
    plan.sms.resize(kSms);
    std::vector<TenantId> all;
    for (u32 i = 0; i < tenants(); ++i) all.push_back(TenantId(i));
    plan.divide_evenly(all);
    return plan;
  }
  std::unique_ptr<SmPartitioner> make() const {
    return Registry<SmPartitioner>::instance().make(std::get<0>(GetParam()), {tenants(), first_plan()});
  }

  /// Some life: tenants come and go, and between that epochs end in which each does something.
  std::vector<SmPartitioner::Situation> situations() const {
    Rng rng(7, "situations");
    std::vector<SmPartitioner::Situation> all;
    std::vector<bool> present(tenants(), false);
    std::vector<TenantEpoch> epoch(tenants());
    Cycle now = 0;
    for (u32 step = 0; step < 400; ++step, now += 20'000) {
      Occasion occasion = Occasion::kEpoch;
      if (step == 0) {
        occasion = Occasion::kArrival;
        for (u32 i = 0; i < tenants(); ++i) present[i] = i == 0 || rng.below(2) == 0;
      } else if (rng.below(8) == 0) {
        const auto who = rng.below(tenants());
        const auto others = std::count(present.begin(), present.end(), true) - (present[who] ? 1 : 0);
        if (others == 0 && present[who]) continue;
        occasion = present[who] ? Occasion::kDeparture : Occasion::kArrival;
        present[who] = !present[who];
      }
      SmPartitioner::Situation situation{occasion, now, {}, {}};
      for (u32 i = 0; i < tenants(); ++i) {
        if (present[i]) situation.present.push_back(TenantId(i));
        const u64 issued = present[i] ? rng.below(40'000) : 0;
        if (occasion == Occasion::kEpoch)
          epoch[i] = {20'000, issued, issued * 32, rng.below(3), issued / 10, issued / 20, issued / 30};
      }
      situation.epoch = epoch;
      all.push_back(std::move(situation));
    }
    return all;
  }
};

TEST_P(EverySmPartitioner, GivesEachTenantThatIsThereAnSm) {
  const auto partitioner = make();
  SmPlan plan = first_plan();
  for (const SmPartitioner::Situation& situation : situations()) {
    if (situation.occasion == Occasion::kEpoch && !partitioner->by_epochs()) continue;
    plan = partitioner->divide(situation, plan);
    ASSERT_EQ(plan.sms.size(), kSms);
    for (const TenantId tenant : situation.present) {
      EXPECT_GE(plan.running(tenant), 1u) << "tenant " << index(tenant) << " in cycle " << situation.now;
    }
  }
}

TEST_P(EverySmPartitioner, GivesNoSmToATenantThatIsNotThereUnlessSmsNeverMove) {
  const auto partitioner = make();
  SmPlan plan = first_plan();
  for (const SmPartitioner::Situation& situation : situations()) {
    if (situation.occasion == Occasion::kEpoch && !partitioner->by_epochs()) continue;
    plan = partitioner->divide(situation, plan);
    for (const SmUse& use : plan.sms) {
      if (!use.owner) continue;
      ASSERT_LT(index(*use.owner), tenants());
      if (partitioner->never_moves()) continue;
      EXPECT_TRUE(std::find(situation.present.begin(), situation.present.end(), *use.owner) != situation.present.end());
    }
  }
}

TEST_P(EverySmPartitioner, MovesNothingIfItSaysSo) {
  const auto partitioner = make();
  if (!partitioner->never_moves()) GTEST_SKIP() << "it may";
  for (const SmPartitioner::Situation& situation : situations()) {
    EXPECT_EQ(partitioner->divide(situation, first_plan()), first_plan());
  }
}

TEST_P(EverySmPartitioner, DependsOnNothingButItsCalls) {
  const auto one = make(), other = make();
  SmPlan plan = first_plan();
  for (const SmPartitioner::Situation& situation : situations()) {
    if (situation.occasion == Occasion::kEpoch && !one->by_epochs()) continue;
    const SmPlan next = one->divide(situation, plan);
    ASSERT_EQ(next, other->divide(situation, plan));
    plan = next;
  }
}

TEST_P(EverySmPartitioner, CanBeAskedWhatItNeedsBeforeAMachineExists) {
  const auto nothing = Registry<SmPartitioner>::instance().make(std::get<0>(GetParam()), {});
  EXPECT_EQ(nothing->never_moves(), make()->never_moves());
  EXPECT_EQ(nothing->by_epochs(), make()->by_epochs());
}

std::vector<Combination> combinations() {
  std::vector<Combination> all;
  for (const std::string& partitioner : Registry<SmPartitioner>::instance().names()) {
    for (u32 tenants = 1; tenants <= 5; ++tenants) all.emplace_back(partitioner, tenants);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Registered, EverySmPartitioner, ::testing::ValuesIn(combinations()), [](const auto& each) {
  return std::get<0>(each.param) + "_" + std::to_string(std::get<1>(each.param));
});

}  // namespace
}  // namespace terrace
