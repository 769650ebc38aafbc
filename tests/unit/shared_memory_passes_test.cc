// How often an access to shared memory visits its busiest bank.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "sm/coalescer.h"

namespace terrace {
namespace {

constexpr u32 kBanks = 32;
constexpr u64 kLanes = 0xffffffff;

/// 32 lanes, so many words apart.
u32 passes(u32 words_apart, bool in_turn, u32 bytes = 4) {
  Effect effect;
  effect.bytes = static_cast<u8>(bytes);
  effect.words = 1;
  for (u32 lane = 0; lane < 32; ++lane) effect.address[lane] = u64{lane} * words_apart * 4;
  return shared_memory_passes(effect, kLanes, kBanks, in_turn);
}

TEST(SharedMemoryPasses, LanesOfOneWordGoTogetherUnlessEachTakesItsTurn) {
  EXPECT_EQ(passes(0, false), 1u);
  EXPECT_EQ(passes(0, true), 32u);
}

TEST(SharedMemoryPasses, LanesOfDifferentWordsOfOneBankTakeTurnsInAnyCase) {
  EXPECT_EQ(passes(2, false), 2u);
  EXPECT_EQ(passes(2, true), 2u);
  EXPECT_EQ(passes(32, false), 32u);
  EXPECT_EQ(passes(32, true), 32u);
}

TEST(SharedMemoryPasses, LanesOfDifferentBanksGoTogetherInAnyCase) {
  EXPECT_EQ(passes(1, false), 1u);
  EXPECT_EQ(passes(1, true), 1u);
}

TEST(SharedMemoryPasses, WordsOfTwoBanksTakeTheTurnsOfTheBusierOne) {
  EXPECT_EQ(passes(0, true, 8), 32u);
  EXPECT_EQ(passes(2, false, 8), 2u);
}

}  // namespace
}  // namespace terrace
