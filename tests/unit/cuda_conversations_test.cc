// The conversations that fuzzing the protocol begins from are good ones: otherwise it would not get far.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "fuzz/protocol_seeds.h"
#include "fuzz/try_conversation.h"

namespace terrace::cuda {
namespace {

TEST(CudaConversations, OfTheSeedsSucceedButForAFaultAtTheEnd) {
  const std::vector<std::vector<u8>> seeds = protocol_seeds();
  ASSERT_EQ(seeds.size(), 2u);
  for (const std::vector<u8>& seed : seeds) {
    const std::vector<Status> ends = try_conversation(seed);
    ASSERT_GT(ends.size(), 15u);
    for (size_t i = 0; i + 1 < ends.size(); ++i) EXPECT_EQ(ends[i], Status::kSuccess) << "call " << i;
    EXPECT_EQ(ends.back(), &seed == &seeds.back() ? Status::kIllegalAddress : Status::kSuccess);
  }
}

}  // namespace
}  // namespace terrace::cuda
