// What every TLB fill policy owes the L2 TLB, and whoever saves a machine. What whole machines show of it is in
// memory_policy_contract_test.cc.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "config/assign.h"
#include "contract/policy_calls.h"
#include "engine/rng.h"
#include "translation/tlb_fill.h"
#include "wire/translate.h"

namespace terrace {
namespace {

struct Case {
  std::string policy;
  std::string set;   // a parameter that is not as by default
  std::string name;  // of that
  u32 tenants;
};
void PrintTo(const Case& tested, std::ostream* out) {
  *out << tested.policy << " " << tested.set << " of " << tested.tenants << " tenants";
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (u32 tenants = 1; tenants <= 5; ++tenants) {
    for (const std::string& name : Registry<TlbFillPolicy>::instance().names()) all.push_back({name, "", "", tenants});
    all.push_back({"tokens", "fill.tokens.rule=hill_climb", "_by_hill_climbing", tenants});  // remembers more
    all.push_back({"tokens", "fill.tokens.bypass_entries=0", "_without_bypass_cache", tenants});
  }
  return all;
}

constexpr u32 kSms = 6, kWarps = 8;

class Translations {
 public:
  Translations(u64 seed, u32 tenants) : rng_(seed, "translations"), epochs_(seed, "epochs"), miss_rates_(tenants, 50) {}

  /// Look-ups, until a translation arrives.
  TlbFillPolicy::Into step(TlbFillPolicy& policy) {
    for (;;) {
      const auto tenant = TenantId(rng_.below(miss_rates_.size()));
      const bool hit = rng_.below(100) >= miss_rates_[index(tenant)];
      policy.looked_up(tenant, hit);
      if (hit) continue;
      std::vector<TlbAsker> askers(1 + rng_.below(2));
      for (TlbAsker& asker : askers) asker = {SmId(rng_.below(kSms)), static_cast<u8>(rng_.below(kWarps))};
      return policy.choose(page_key(tenant, 12, rng_.below(1'000)), tenant, askers);
    }
  }
  /// SMs change hands, some tenants are not there, and in every eighth epoch nobody is.
  void epoch(TlbFillPolicy& policy) {
    std::vector<TenantEpoch> epochs(miss_rates_.size());
    const bool empty = ++number_ % 8 == 0;
    for (TenantEpoch& epoch : epochs) {
      for (u32 sm = 0; sm < kSms && !empty; ++sm) epoch.sms[sm] = epochs_.below(2) == 0;
      epoch.warps = static_cast<u32>(epochs_.below(epoch.sms.count() * kWarps + 1));
    }
    policy.epoch(epochs);
    for (u64& rate : miss_rates_) rate = 1 + epochs_.below(99);
  }

 private:
  Rng rng_, epochs_;
  std::vector<u64> miss_rates_;  // by tenant, percent
  u32 number_ = 0;
};

class EveryTlbFillPolicy : public testing::TestWithParam<Case> {
 protected:
  static std::unique_ptr<TlbFillPolicy> make() {
    Policy<TlbFillPolicy> policy(GetParam().policy);
    struct Holder {
      Policy<TlbFillPolicy>& policy;
      void describe(Fields& v) { v.policy("fill", policy, ""); }
    } holder{policy};
    if (!GetParam().set.empty()) assign(holder, split_assignment(GetParam().set, "test"));
    return policy.make({.tenants = tenants(), .sms = kSms, .warps = kWarps, .seed = 1});
  }
  static u32 tenants() { return GetParam().tenants; }
};

TEST_P(EveryTlbFillPolicy, FillsTheBypassCacheOnlyIfItHasOne) {
  const auto policy = make();
  Translations translations(5, tenants());
  for (u32 step = 0; step < 5'000; ++step) {
    if (step % 100 == 99) translations.epoch(*policy);
    if (translations.step(*policy) == TlbFillPolicy::Into::kBypass) {
      ASSERT_GT(policy->bypass_entries(), 0u) << "in step " << step;
    }
  }
}

TEST_P(EveryTlbFillPolicy, NeedsTheSameMachineFromBeginningToEnd) {
  const auto policy = make();
  const u32 entries = policy->bypass_entries();
  const bool word = policy->wants_merged_warps(), epochs = policy->by_epochs();
  Translations translations(6, tenants());
  for (u32 step = 0; step < 2'000; ++step) {
    if (step % 100 == 99) translations.epoch(*policy);
    translations.step(*policy);
    ASSERT_EQ(policy->bypass_entries(), entries) << "the machine is built";
    ASSERT_EQ(policy->wants_merged_warps(), word) << "the machine is wired";
    ASSERT_EQ(policy->by_epochs(), epochs);
  }
}

TEST_P(EveryTlbFillPolicy, DependsOnNothingButItsCalls) {
  expect_nothing_but_calls_to_count<Translations>(tenants(), make);
}

TEST_P(EveryTlbFillPolicy, NeedsNoEpochsUnlessItSaysSo) {
  if (make()->by_epochs()) GTEST_SKIP() << "it says so";
  const auto policy = make(), told = make();
  Translations calls(4, tenants()), same(4, tenants());
  for (u32 step = 0; step < 3'000; ++step) {
    if (step % 100 == 99) {
      const auto state = state_of(*told);
      same.epoch(*told);
      ASSERT_EQ(state_of(*told), state) << "it goes by epochs, and does not say so";
      calls.epoch(*policy);  // for the look-ups that follow
    }
    ASSERT_EQ(same.step(*told), calls.step(*policy)) << "in step " << step;
  }
}

TEST_P(EveryTlbFillPolicy, AFreshOneThatGetsItsStateGoesOnAlike) {
  expect_a_fresh_one_to_go_on_alike<Translations>(tenants(), make);
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryTlbFillPolicy, testing::ValuesIn(cases()), [](const auto& tested) {
  return tested.param.policy + tested.param.name + "_" + std::to_string(tested.param.tenants) + "_tenants";
});

}  // namespace
}  // namespace terrace
