// The laws of time: what a run computes depends on its configuration and seed alone. Not on who sleeps, not on the
// order in which units tick, not on the compiler or the build. Machines with queues of one or two entries are tested
// too: most mistakes only show when everything pushes back.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "engine/check.h"
#include "golden/golden.h"
#include "toy/toy_machine.h"

namespace terrace::toy {
namespace {

struct Case {
  std::string mix;
  u32 queue;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Mix& mix : mixes()) {
    for (const u32 queue : {16u, 2u, 1u}) all.push_back({mix.name, queue});
  }
  return all;
}

Config config_of(const Case& c) {
  Config config;
  config.mix = mix(c.mix);
  config.queue = c.queue;
  config.instructions = c.mix == "compute" ? 60'000 : 12'000;
  return config;
}

/// The digest, or what a run without one says: a planted mistake may well end in a deadlock.
std::string outcome(const Config& config) {
  try {
    return run(config).summary;
  } catch (const Deadlock&) {
    return "deadlock";
  }
}

class Laws : public testing::TestWithParam<Case> {};

TEST_P(Laws, SleepingChangesNothing) {
  Config config = config_of(GetParam());
  const Result sleeping = run(config);
  config.options.sleep = false;
  const Result awake = run(config);
  EXPECT_EQ(sleeping.summary, awake.summary);
  EXPECT_EQ(sleeping.digest, awake.digest);
  EXPECT_LT(sleeping.ticks, awake.ticks) << "nobody slept, so nothing was tested";
}

TEST_P(Laws, TheOrderOfTicksChangesNothing) {
  Config config = config_of(GetParam());
  const Result straight = run(config);
  for (const u64 seed : {1, 2, 3, 4}) {
    config.options.permute_seed = seed;
    EXPECT_EQ(straight.summary, run(config).summary) << "permutation " << seed;
  }
}

TEST_P(Laws, EveryInstructionIsIssuedAndTheSeedMatters) {
  Config config = config_of(GetParam());
  const Result one = run(config);
  EXPECT_EQ(one.instructions, config.instructions / config.mix.active_sms * config.mix.active_sms);
  config.seed = 2;
  EXPECT_NE(one.digest, run(config).digest) << "another seed gives the same run";
}

std::string name_of(const testing::TestParamInfo<Case>& tested) {
  return tested.param.mix + "_queue" + std::to_string(tested.param.queue);
}
INSTANTIATE_TEST_SUITE_P(Mixes, Laws, testing::ValuesIn(cases()), name_of);

TEST(LawsAcrossBuilds, EveryCompilerAndBuildComputesTheSame) {
  std::string all;
  for (const Case& c : cases()) {
    const Result result = run(config_of(c));
    all += fmt::format("{} queue={} cycles={} {}digest={:016x}\n", c.mix, c.queue, result.cycles, result.summary,
                       result.digest);
  }
  expect_golden("toy_machine.txt", all);
}

TEST(Deadlock, IsFoundAtOnceAndSaysWhoWaitsForWhat) {
  Config config = config_of({"compute", 1});
  config.warps = 4;  // so few that all of them sleep at once
  config.mistake = Mistake::kForgottenWake;
  try {
    run(config);
    FAIL() << "the machine with a forgotten wake ran to its end";
  } catch (const terrace::Deadlock& deadlock) {
    EXPECT_NE(std::string(deadlock.what()).find("instructions are left to issue"), std::string::npos)
        << deadlock.what();
  }
}

/// Whether any case tells the machine with the mistake from one that sleeps never, or ticks in another order.
bool caught(Mistake mistake) {
  for (const Case& c : cases()) {
    Config config = config_of(c);
    config.mistake = mistake;
    const std::string straight = outcome(config);
    Config awake = config;
    awake.options.sleep = false;
    if (straight != outcome(awake)) return true;
    for (const u64 seed : {1, 2}) {
      Config permuted = config;
      permuted.options.permute_seed = seed;
      if (straight != outcome(permuted)) return true;
    }
  }
  return false;
}

TEST(PlantedMistakes, AForgottenWakeIsCaught) {
  EXPECT_TRUE(caught(Mistake::kForgottenWake));
}
TEST(PlantedMistakes, ASameCycleCreditIsCaught) {
  EXPECT_TRUE(caught(Mistake::kSameCycleCredit));
}
TEST(PlantedMistakes, ARoundRobinPointerThatMovesOnEachTickIsCaught) {
  EXPECT_TRUE(caught(Mistake::kPointerPerTick));
}
TEST(PlantedMistakes, AStatisticThatCountsTicksIsCaught) {
  EXPECT_TRUE(caught(Mistake::kCounterPerTick));
}
TEST(PlantedMistakes, WithoutAMistakeNothingIsCaught) {
  EXPECT_FALSE(caught(Mistake::kNone));
}

}  // namespace
}  // namespace terrace::toy
