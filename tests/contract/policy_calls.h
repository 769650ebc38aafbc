// What contract suites of policies have in common. A suite writes down the calls that its slot's policies get, as a class:
//
//   Calls(seed, tenants)   the same calls for the same two, as long as policies answer the same
//   step(policy)           the next ones, and what the policy answered
//   epoch(policy)          the end of an epoch
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "config/registry.h"
#include "support/part_state.h"

namespace terrace {

/// A policy of a slot, and how many tenants there are.
using PolicyAndTenants = std::tuple<std::string, u32>;

template <class Slot>
std::vector<PolicyAndTenants> policies_and_tenants() {
  std::vector<PolicyAndTenants> all;
  for (const std::string& name : Registry<Slot>::instance().names()) {
    for (u32 tenants = 1; tenants <= 5; ++tenants) all.emplace_back(name, tenants);
  }
  return all;
}

inline std::string policy_and_tenants_name(const testing::TestParamInfo<PolicyAndTenants>& tested) {
  return std::get<0>(tested.param) + "_" + std::to_string(std::get<1>(tested.param)) + "_tenants";
}

/// Two that get the same calls say the same, whatever a third one is asked in between. `make()` makes one.
template <class Calls, class Make>
void expect_nothing_but_calls_to_count(u32 tenants, Make&& make) {
  const auto policy = make(), again = make(), another = make();
  Calls calls(1, tenants), same(1, tenants), others(2, tenants);
  for (u32 step = 0; step < 6'000; ++step) {
    const auto answer = calls.step(*policy);
    others.step(*another);
    ASSERT_EQ(same.step(*again), answer) << "in step " << step;
    if (step % 250 != 249) continue;
    calls.epoch(*policy);
    if (step % 500 == 499) others.epoch(*another);
    same.epoch(*again);
  }
}

/// A fresh one that gets the state of another goes on like that one.
template <class Calls, class Make>
void expect_a_fresh_one_to_go_on_alike(u32 tenants, Make&& make) {
  const auto policy = make();
  auto twin = make();
  twin.reset();
  Calls calls(3, tenants), same(3, tenants);
  for (u32 step = 0; step < 20'000; ++step) {
    if (step % 1'110 == 0) {
      ASSERT_NO_FATAL_FAILURE(renew_twin(*policy, twin, make()));
    }
    const auto answer = calls.step(*policy);
    ASSERT_EQ(same.step(*twin), answer) << "in step " << step;
    if (step % 270 != 269) continue;
    calls.epoch(*policy);
    same.epoch(*twin);
  }
}

/// Whoever does not say `by_epochs` is not told of epochs, and so must not need to be.
template <class Calls, class Make>
void expect_epochs_to_change_nothing(u32 tenants, Make&& make) {
  const auto policy = make(), told = make();
  Calls calls(4, tenants), same(4, tenants);
  for (u32 step = 0; step < 3'000; ++step) {
    if (step % 100 == 99) {
      same.epoch(*told);
      ASSERT_EQ(state_of(*told), state_of(*policy)) << "it goes by epochs, and does not say so";
    }
    const auto answer = calls.step(*policy);
    ASSERT_EQ(same.step(*told), answer) << "in step " << step;
  }
}

}  // namespace terrace
