// Counting lines and pages of warp-level accesses, and comparing results. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <limits>

#include "frontend/access_profile.h"
#include "support/checks.h"

namespace terrace {
namespace {

/// A load by the given lanes, lane i at first + i x step.
Effect load(u64 active, u64 first, u64 step) {
  Effect effect;
  effect.active = active;
  effect.action = MemoryAction::kLoad;
  effect.space = MemorySpace::kGlobal;
  effect.bytes = 4;
  for (u64 lane = 0; lane < 64; ++lane) effect.address[lane] = first + lane * step;
  return effect;
}

DecodedInst memory_instruction() {
  DecodedInst inst;
  inst.cls = InstClass::kMemory;
  return inst;
}

TEST(AccessProfile, ACoalescedLoadIsOneLineAndOnePage) {
  AccessProfile profile;
  profile.record(memory_instruction(), load(0xffffffff, 1 << 20, 4));
  EXPECT_EQ(profile.lines_per_access(), 1);
  EXPECT_EQ(profile.pages_per_access(), 1);
  EXPECT_EQ(profile.thread_instructions(), 32u);
}

TEST(AccessProfile, LanesAPageApartTouchAPageEach) {
  AccessProfile profile;
  profile.record(memory_instruction(), load(0xffffffff, 1 << 20, 4096));
  EXPECT_EQ(profile.lines_per_access(), 32);
  EXPECT_EQ(profile.most_pages(), 32u);
}

TEST(AccessProfile, OnlyLanesThatTakePartCount) {
  AccessProfile profile;
  profile.record(memory_instruction(), load(0x7fff, 1 << 20, 4096));
  profile.record(memory_instruction(), load(0, 1 << 20, 4096));
  EXPECT_EQ(profile.accesses(), 1u);
  EXPECT_EQ(profile.pages_per_access(), 15);
  EXPECT_EQ(profile.warp_instructions(), 2u);
}

TEST(AccessProfile, SharedMemoryIsCountedApart) {
  AccessProfile profile;
  Effect effect = load(0xffffffff, 0, 4);
  effect.space = MemorySpace::kShared;
  profile.record(memory_instruction(), effect);
  EXPECT_EQ(profile.shared_accesses(), 1u);
  EXPECT_EQ(profile.accesses(), 0u);
}

TEST(AccessProfile, AWideLocalAccessTouchesTheLineOfEachWord) {
  AccessProfile profile;
  Effect effect = load(0xffffffff, 1 << 20, 4);
  effect.space = MemorySpace::kLocal;
  effect.words = 2;
  effect.stride = 16384;
  profile.record(memory_instruction(), effect);
  EXPECT_EQ(profile.lines_per_access(), 2);
  EXPECT_EQ(profile.pages_per_access(), 2);
}

TEST(RelativeCheck, FailsOnAValueThatIsNotANumber) {
  RelativeCheck check("x", 1e-3);
  check.compare(0, 1, 1);
  check.compare(1, std::numeric_limits<double>::quiet_NaN(), 1);
  EXPECT_FALSE(check.result().passed);
}

TEST(RelativeCheck, FailsWhenEverythingIsZeroEvenIfThatIsExpected) {
  RelativeCheck check("x", 1e-3);
  check.compare(0, 0, 0);
  EXPECT_FALSE(check.result().passed);
  EXPECT_FALSE(RelativeCheck("y", 1).result().passed);
}

TEST(RelativeCheck, PassesJustInsideItsToleranceAndFailsJustOutside) {
  RelativeCheck inside("x", 1e-3), outside("x", 1e-3);
  inside.compare(0, 100.09, 100);
  outside.compare(0, 100.11, 100);
  EXPECT_TRUE(inside.result().passed);
  EXPECT_FALSE(outside.result().passed);
}

TEST(NormCheck, FailsOnAValueThatIsNotANumber) {
  NormCheck check("x", 1e-3);
  check.compare(1, 1);
  check.compare(std::numeric_limits<double>::quiet_NaN(), 1);
  EXPECT_FALSE(check.result().passed);
}

TEST(ExactCheck, NamesTheFirstWrongValueAndCountsThem) {
  ExactCheck check("level");
  for (u64 i = 0; i < 10; ++i) check.compare(i, static_cast<i64>(i), i < 7 ? static_cast<i64>(i) : 0);
  EXPECT_FALSE(check.result().passed);
  EXPECT_EQ(check.result().message, "level[7] is 7 and should be 0; 3 of 10 values are wrong");
}

}  // namespace
}  // namespace terrace
