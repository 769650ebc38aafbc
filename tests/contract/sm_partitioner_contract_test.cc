// What every SM partitioner owes the GPU, for one to five tenants that come and go.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/rng.h"
#include "support/part_state.h"
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
    return Registry<SmPartitioner>::instance().make(
        std::get<0>(GetParam()),
        {.tenants = tenants(),
         .first = first_plan(),
         .hardware =
             {.sms = kSms, .issue_width = 2, .line_bytes = 128, .noc = 200'000, .llc = 800'000, .memory = 100'000},
         .whole_sm = {.warps = 48, .blocks = 8, .registers = 32768, .shared_bytes = 49152}});
  }

  /// Some life: tenants come and go, and between that epochs end in which each does something.
  std::vector<SmPartitioner::Situation> situations() const {
    Rng rng(7, "situations");
    std::vector<SmPartitioner::Situation> all;
    std::vector<bool> present(tenants(), false);
    std::vector<TenantEpoch> epoch(tenants()), so_far(tenants());
    std::vector<std::vector<u64>> issued_on(kSms, std::vector<u64>(tenants(), 0));
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
      SmPartitioner::Situation situation{.occasion = occasion, .now = now, .present = {}, .epoch = {}};
      for (u32 i = 0; i < tenants(); ++i) {
        if (present[i]) situation.present.push_back(TenantId(i));
        const u64 issued = present[i] ? rng.below(40'000) : 0;
        if (occasion == Occasion::kEpoch)
          epoch[i] = {20'000, issued, issued * 32, rng.below(3), issued / 10, issued / 20, issued / 30};
        so_far[i].warp_instructions += issued;
        so_far[i].l2_requests += issued / (1 + 20 * i);
        so_far[i].l2_hits += issued / (2 + 20 * i);
        so_far[i].blocks_done += rng.below(2);
        for (u32 sm = 0; sm < kSms; ++sm) issued_on[sm][i] += issued / kSms;
        situation.block.push_back({.warps = 4 + 4 * i, .blocks = 1, .registers = 4096, .shared_bytes = 0});
      }
      situation.epoch = epoch;
      situation.so_far = so_far;
      situation.issued = issued_on;
      all.push_back(std::move(situation));
    }
    return all;
  }
};

/// As the GPU does: at epochs those who go by them, otherwise those whose appointment has come.
SmPlan ask(SmPartitioner& partitioner, SmPartitioner::Situation situation, const SmPlan& plan) {
  if (situation.occasion == Occasion::kEpoch && !partitioner.by_epochs()) {
    if (partitioner.appointment() > situation.now) return plan;
    situation.occasion = Occasion::kAppointment;
  }
  return partitioner.divide(situation, plan);
}

TEST_P(EverySmPartitioner, GivesEachTenantThatIsThereAnSm) {
  const auto partitioner = make();
  SmPlan plan = first_plan();
  for (const SmPartitioner::Situation& situation : situations()) {
    plan = ask(*partitioner, situation, plan);
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
    plan = ask(*partitioner, situation, plan);
    for (const SmUse& use : plan.sms) {
      if (!use.owner) continue;
      ASSERT_LT(index(*use.owner), tenants());
      if (partitioner->never_moves()) continue;
      EXPECT_TRUE(std::find(situation.present.begin(), situation.present.end(), *use.owner) != situation.present.end());
    }
  }
}

TEST_P(EverySmPartitioner, SharesSmsOnlyIfItSaysSoAndTakesPowerOnlyFromThoseThatAreNobodys) {
  const auto partitioner = make();
  SmPlan plan = first_plan();
  for (const SmPartitioner::Situation& situation : situations()) {
    plan = ask(*partitioner, situation, plan);
    for (const SmUse& use : plan.sms) {
      EXPECT_TRUE(!use.shared() || partitioner->shares_sms());
      EXPECT_TRUE(!use.gated || (!use.owner && !use.shared()));
    }
  }
}

TEST_P(EverySmPartitioner, HasItsNextAppointmentLater) {
  const auto partitioner = make();
  SmPlan plan = first_plan();
  for (const SmPartitioner::Situation& situation : situations()) {
    plan = ask(*partitioner, situation, plan);
    EXPECT_GT(partitioner->appointment(), situation.now);
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
    const SmPlan next = ask(*one, situation, plan);
    ASSERT_EQ(next, ask(*other, situation, plan));
    plan = next;
  }
}

TEST_P(EverySmPartitioner, AFreshOneThatGetsItsStateGoesOnAlike) {
  const auto partitioner = make();
  std::unique_ptr<SmPartitioner> twin;
  SmPlan plan = first_plan();
  u32 step = 0;
  for (const SmPartitioner::Situation& situation : situations()) {
    if (step++ % 7 == 0) {  // often enough to meet each phase of a search
      ASSERT_NO_FATAL_FAILURE(renew_twin(*partitioner, twin, make()));
    }
    const SmPlan next = ask(*partitioner, situation, plan);
    ASSERT_EQ(ask(*twin, situation, plan), next) << "in cycle " << situation.now;
    ASSERT_EQ(twin->appointment(), partitioner->appointment());
    ASSERT_EQ(twin->searching(), partitioner->searching());
    ASSERT_EQ(twin->take_decisions().size(), partitioner->take_decisions().size());
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
