// What fuzzing the protocol begins from are good conversations: otherwise it would not get far.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "fuzz/protocol_seeds.h"
#include "fuzz/try_framing.h"

namespace terrace::cuda {
namespace {

void expect_success(const std::vector<Status>& ends, size_t calls) {
  ASSERT_EQ(ends.size(), calls);
  for (size_t i = 0; i < calls; ++i) EXPECT_EQ(ends[i], Status::kSuccess) << "call " << i;
}

TEST(CudaConversations, OfTheSeedsSucceedButForAFaultAtTheEnd) {
  const std::vector<std::vector<u8>> seeds = protocol_seeds();
  ASSERT_EQ(seeds.size(), 4u);
  const auto memory = try_clients(seeds[0]);
  ASSERT_EQ(memory.size(), 1u);
  expect_success(memory[0], 20);
  auto kernels = try_clients(seeds[1]);
  ASSERT_EQ(kernels.size(), 2u);
  expect_success(kernels[0], 22);
  ASSERT_FALSE(kernels[1].empty());
  EXPECT_EQ(kernels[1].back(), Status::kMisalignedAddress);
  kernels[1].pop_back();
  expect_success(kernels[1], 4);
}

TEST(CudaConversations, OfClientsThatSendNonsenseEndWithoutHarmToOthers) {
  auto ends = try_clients(protocol_seeds()[2]);  // checks what a client that comes last is answered
  ASSERT_EQ(ends.size(), 4u);
  ASSERT_EQ(ends[0].size(), 4u);  // greeted in parts
  EXPECT_EQ(ends[0][2], Status::kMemoryAllocation);
  ends[0].erase(ends[0].begin() + 2);
  expect_success(ends[0], 3);
  expect_success(ends[1], 1);  // sends less than it said
  expect_success(ends[2], 1);  // sends no message
}

TEST(CudaConversations, OfClientsWhoseWordsComeInPartsAreTheSame) {
  const auto ends = try_clients(protocol_seeds()[3]);
  ASSERT_EQ(ends.size(), 4u);
  expect_success(ends[0], 4);
  expect_success(ends[1], 1);     // stopped within a message
  EXPECT_TRUE(ends[2].empty());   // does not listen
  EXPECT_LE(ends[3].size(), 2u);  // vanished before it was served
}

TEST(CudaFraming, GivesTheMessagesThatWereSentHoweverTheyArrive) {
  const std::vector<std::vector<u8>> seeds = framing_seeds();
  const auto came_through = [&](size_t seed) { return try_framing(seeds[seed][0], std::span(seeds[seed]).subspan(1)); };
  ASSERT_EQ(seeds.size(), 4u);
  EXPECT_EQ(came_through(0), 4u);
  EXPECT_EQ(came_through(1), 2u);  // and a third one says that it is longer
  EXPECT_EQ(came_through(2), 2u);
  EXPECT_LE(came_through(3), 3u);  // the writer is deaf
}

}  // namespace
}  // namespace terrace::cuda
