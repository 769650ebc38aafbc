// What every L2 admission policy and every L2 victim policy owes its slice, and whoever saves a machine. What whole machines
// show of them is in memory_policy_contract_test.cc.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>

#include "cache/l2_admission.h"
#include "cache/l2_victim.h"
#include "contract/policy_calls.h"
#include "engine/rng.h"

namespace terrace {
namespace {

class Requests {
 public:
  Requests(u64 seed, u32 tenants) : rng_(seed, "requests"), epochs_(seed, "epochs"), tenants_(tenants) {}

  L2Request next() {
    constexpr AccessKind kKinds[] = {AccessKind::kLoad, AccessKind::kStore, AccessKind::kAtomic, AccessKind::kWalk};
    const AccessKind kind = kKinds[rng_.below(4)];
    return {TenantId(rng_.below(tenants_)), kind, static_cast<u8>(kind == AccessKind::kWalk ? 1 + rng_.below(4) : 0)};
  }
  L2Admission::Choice offer(L2Admission& policy, const L2Request& request) {
    const auto choice = policy.admit(request);
    const bool hit = rng_.below(4) >= request.walk_level;  // the root's entries hit most
    if (choice != L2Admission::Choice::kBypass) policy.looked_up(request, hit);
    return choice;
  }
  L2Admission::Choice step(L2Admission& policy) { return offer(policy, next()); }
  /// In every other one nobody does anything.
  void epoch(L2Admission& policy) {
    std::vector<TenantEpoch> epochs(tenants_);
    if (++number_ % 2 == 0) {
      for (TenantEpoch& epoch : epochs) {
        epoch.l2_requests = epochs_.below(10'000);
        epoch.l2_hits = epochs_.below(epoch.l2_requests + 1);
      }
    }
    policy.epoch(epochs);
  }

 private:
  Rng rng_, epochs_;
  u32 tenants_, number_ = 0;
};

class EveryL2Admission : public testing::TestWithParam<PolicyAndTenants> {
 protected:
  static std::unique_ptr<L2Admission> make() {
    return Registry<L2Admission>::instance().make(std::get<0>(GetParam()),
                                                  {.tenants = tenants(), .slice = 3, .seed = 1});
  }
  static u32 tenants() { return std::get<1>(GetParam()); }
};

TEST_P(EveryL2Admission, LetsOnlyReadsOfPageTablesPass) {
  const auto policy = make();
  Requests requests(5, tenants());
  for (u32 step = 0; step < 10'000; ++step) {
    if (step % 250 == 249) requests.epoch(*policy);
    const L2Request request = requests.next();
    const auto choice = requests.offer(*policy, request);
    if (request.walk_level == 0) {
      ASSERT_NE(choice, L2Admission::Choice::kBypass) << "in step " << step << ": the line may be dirty here";
    }
  }
}

TEST_P(EveryL2Admission, ChangesNothingWhenItIsAskedAgain) {
  const auto policy = make();
  Requests requests(6, tenants());
  for (u32 step = 0; step < 2'000; ++step) {
    if (step % 250 == 249) requests.epoch(*policy);
    const L2Request request = requests.next();
    const auto state = state_of(*policy);
    const auto choice = policy->admit(request);
    ASSERT_EQ(policy->admit(request), choice) << "a slice without room asks again";
    ASSERT_EQ(state_of(*policy), state);
    ASSERT_EQ(requests.offer(*policy, request), choice);
  }
}

TEST_P(EveryL2Admission, AdmitsAllIfItSaysSo) {
  const auto policy = make();
  if (!policy->admits_all()) GTEST_SKIP() << "it does not say so";
  Requests requests(7, tenants());
  for (u32 step = 0; step < 5'000; ++step) {
    if (step % 250 == 249) requests.epoch(*policy);
    ASSERT_EQ(requests.step(*policy), L2Admission::Choice::kCache)
        << "in step " << step << ", and it would not be asked";
  }
}

TEST_P(EveryL2Admission, DependsOnNothingButItsCalls) {
  expect_nothing_but_calls_to_count<Requests>(tenants(), make);
}

TEST_P(EveryL2Admission, NeedsNoEpochsUnlessItSaysSo) {
  if (make()->by_epochs()) GTEST_SKIP() << "it says so";
  expect_epochs_to_change_nothing<Requests>(tenants(), make);
}

TEST_P(EveryL2Admission, AFreshOneThatGetsItsStateGoesOnAlike) {
  expect_a_fresh_one_to_go_on_alike<Requests>(tenants(), make);
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryL2Admission, testing::ValuesIn(policies_and_tenants<L2Admission>()),
                         policy_and_tenants_name);

/// A small cache in which lines come, are used again and go.
class Lines {
 public:
  static constexpr u32 kSets = 16, kWays = 8;
  struct Arrival {
    u32 way = 0;
    bool free = false;           // nothing was there
    TenantId whose{}, pushed{};  // who comes, who goes
    bool is_lru = false;         // the way is what `lru` of all ways says
    bool wasted = false;         // another way was free that the policy has given to this tenant before
    friend bool operator==(const Arrival&, const Arrival&) = default;
  };
  Lines(u64 seed, u32 tenants) : rng_(seed, "lines"), tenants_(tenants) {}

  /// Until a line arrives.
  Arrival step(L2Victim& policy) {
    for (;;) {
      const u64 key = rng_.below(300);
      const i32 entry = tags_.find(key);
      if (rng_.below(8) == 0) {  // the host writes it, or its page goes
        if (entry >= 0) tags_.invalidate(static_cast<u32>(entry));
      } else if (entry >= 0) {
        tags_.touch(static_cast<u32>(entry));
      } else {
        return fill(policy, key);
      }
    }
  }
  static void epoch(L2Victim&) {}

 private:
  Arrival fill(L2Victim& policy, u64 key) {
    L2Line arriving;
    arriving.tenant = TenantId(rng_.below(tenants_));
    arriving.walk_level = static_cast<u8>(rng_.below(5));
    const L2Set set(tags_, key);
    const u32 way = policy.victim(set, arriving);
    EXPECT_LT(way, kWays);
    if (way >= kWays) return {.way = way};
    Arrival arrival{.way = way,
                    .free = !set.valid(way),
                    .whose = arriving.tenant,
                    .pushed = set.valid(way) ? set.line(way).tenant : TenantId{},
                    .is_lru = way == set.lru()};
    u32& given = given_[index(arriving.tenant)];
    for (u32 i = 0; i < kWays && set.valid(way); ++i) arrival.wasted |= (given >> i & 1) != 0 && !set.valid(i);
    given |= 1u << way;
    tags_.fill(set.first() + way, key) = arriving;
    return arrival;
  }

  TagArray<L2Line> tags_{{.entries = kSets * kWays, .ways = kWays}};
  Rng rng_;
  u32 tenants_;
  std::array<u32, kMaxTenants> given_{};  // by tenant: ways of any set that it has filled so far, a bit each
};

class EveryL2Victim : public testing::TestWithParam<PolicyAndTenants> {
 protected:
  static std::unique_ptr<L2Victim> make() {
    return Registry<L2Victim>::instance().make(std::get<0>(GetParam()),
                                               {.tenants = tenants(), .ways = Lines::kWays, .slice = 3, .seed = 1});
  }
  static u32 tenants() { return std::get<1>(GetParam()); }
};

TEST_P(EveryL2Victim, PushesNoLineOutWhileOneOfItsWaysIsFree) {
  const auto policy = make();
  Lines lines(5, tenants());
  u32 free = 0;
  for (u32 step = 0; step < 10'000; ++step) {
    const Lines::Arrival arrival = lines.step(*policy);
    ASSERT_FALSE(arrival.wasted) << "in step " << step;
    free += arrival.free;
  }
  EXPECT_GT(free, 500u) << "or there was no occasion";
}

TEST_P(EveryL2Victim, PushesOutOnlyLinesOfTheSameTenantIfItSaysSo) {
  const auto policy = make();
  if (!policy->divides_tenants()) GTEST_SKIP() << "it does not say so";
  Lines lines(6, tenants());
  for (u32 step = 0; step < 10'000; ++step) {
    const Lines::Arrival arrival = lines.step(*policy);
    ASSERT_TRUE(arrival.free || arrival.pushed == arrival.whose) << "in step " << step;
  }
}

TEST_P(EveryL2Victim, TakesTheLeastRecentlyUsedWayIfItSaysSo) {
  const auto policy = make();
  if (!policy->takes_lru()) GTEST_SKIP() << "it does not say so";
  Lines lines(7, tenants());
  for (u32 step = 0; step < 5'000; ++step)
    ASSERT_TRUE(lines.step(*policy).is_lru) << "in step " << step << ", and it would not be asked";
}

TEST_P(EveryL2Victim, DependsOnNothingButItsCalls) {
  expect_nothing_but_calls_to_count<Lines>(tenants(), make);
}

TEST_P(EveryL2Victim, AFreshOneThatGetsItsStateGoesOnAlike) {
  expect_a_fresh_one_to_go_on_alike<Lines>(tenants(), make);
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryL2Victim, testing::ValuesIn(policies_and_tenants<L2Victim>()),
                         policy_and_tenants_name);

}  // namespace
}  // namespace terrace
