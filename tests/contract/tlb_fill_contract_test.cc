// What every TLB fill policy owes whoever saves a machine. What it owes a machine that runs is in
// memory_policy_contract_test.cc.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "config/assign.h"
#include "engine/rng.h"
#include "support/part_state.h"
#include "translation/tlb_fill.h"
#include "wire/translate.h"

namespace terrace {
namespace {

struct Case {
  std::string policy;
  std::string set;  // a parameter that is not as by default
  u32 tenants;
};
void PrintTo(const Case& tested, std::ostream* out) {
  *out << tested.policy << " " << tested.set << " of " << tested.tenants << " tenants";
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (u32 tenants = 1; tenants <= 5; ++tenants) {
    for (const std::string& name : Registry<TlbFillPolicy>::instance().names()) all.push_back({name, "", tenants});
    all.push_back({"tokens", "fill.tokens.rule=hill_climb", tenants});  // remembers more
  }
  return all;
}

class EveryTlbFillPolicy : public testing::TestWithParam<Case> {
 protected:
  static constexpr u32 kSms = 6, kWarps = 8;
  std::unique_ptr<TlbFillPolicy> make() {
    Policy<TlbFillPolicy> policy(GetParam().policy);
    struct Holder {
      Policy<TlbFillPolicy>& policy;
      void describe(Fields& v) { v.policy("fill", policy, ""); }
    } holder{policy};
    if (!GetParam().set.empty()) assign(holder, split_assignment(GetParam().set, "test"));
    return policy.make({.tenants = GetParam().tenants, .sms = kSms, .warps = kWarps, .seed = 1});
  }
};

TEST_P(EveryTlbFillPolicy, AFreshOneThatGetsItsStateGoesOnAlike) {
  constexpr u32 kSteps = 20'000, kEpoch = 250, kTwin = 1'110;
  Rng rng(9, "translations");
  const u32 tenants = GetParam().tenants;
  const auto policy = make();
  std::unique_ptr<TlbFillPolicy> twin;
  std::vector<u64> miss_rates(tenants, 50);
  for (u32 step = 0; step < kSteps; ++step) {
    if (step % kTwin == 0) {
      ASSERT_NO_FATAL_FAILURE(renew_twin(*policy, twin, make()));
    }
    if (step % kEpoch == kEpoch - 1) {
      std::vector<TenantEpoch> epochs(tenants);
      for (TenantEpoch& epoch : epochs) {
        for (u32 sm = 0; sm < kSms; ++sm) epoch.sms[sm] = rng.below(2) == 0;
        epoch.warps = static_cast<u32>(rng.below(epoch.sms.count() * kWarps + 1));
      }
      policy->epoch(epochs);
      twin->epoch(epochs);
      for (u64& rate : miss_rates) rate = rng.below(100);
    }
    const auto tenant = TenantId(rng.below(tenants));
    const bool hit = rng.below(100) >= miss_rates[index(tenant)];
    for (TlbFillPolicy* each : {policy.get(), twin.get()}) each->looked_up(tenant, hit);
    if (hit) continue;
    std::vector<TlbAsker> askers(1 + rng.below(2));
    for (TlbAsker& asker : askers) asker = {SmId(rng.below(kSms)), static_cast<u8>(rng.below(kWarps))};
    const u64 key = page_key(tenant, 12, rng.below(1'000));
    ASSERT_EQ(twin->choose(key, tenant, askers), policy->choose(key, tenant, askers)) << "in step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryTlbFillPolicy, testing::ValuesIn(cases()), [](const auto& tested) {
  return tested.param.policy + (tested.param.set.empty() ? "_" : "_otherwise_") + std::to_string(tested.param.tenants) +
         "_tenants";
});

}  // namespace
}  // namespace terrace
