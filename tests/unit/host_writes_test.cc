// Lines that the host writes between launches, named several times.
// SPDX-License-Identifier: MIT
#include "gpu/host_writes.h"

#include <gtest/gtest.h>

namespace terrace {
namespace {

LineRange lines(u64 first, u64 end) {
  return {LineKey::physical(first), LineKey::physical(end)};
}

std::vector<std::pair<u64, u64>> numbers(const std::vector<LineRange>& ranges) {
  std::vector<std::pair<u64, u64>> all;
  for (const LineRange& range : ranges) all.emplace_back(range.first.raw(), range.end.raw());
  return all;
}

TEST(HostWrites, AnElementOfABufferDoesNotHideTheLinesBeforeIt) {
  using Ranges = std::vector<std::pair<u64, u64>>;
  EXPECT_EQ(numbers(disjoint({lines(50, 51), lines(0, 100)})), (Ranges{{0, 100}}));
  EXPECT_EQ(numbers(disjoint({lines(0, 10), lines(5, 20), lines(20, 30), lines(40, 41)})), (Ranges{{0, 30}, {40, 41}}));
  EXPECT_EQ(numbers(disjoint({lines(7, 8), lines(3, 4)})), (Ranges{{3, 4}, {7, 8}}));
  const LineRange theirs{LineKey::of_tenant(TenantId(0), 5), LineKey::of_tenant(TenantId(0), 6)};
  EXPECT_EQ(disjoint({theirs, lines(0, 9)}).size(), 2u) << "two spaces";
}

}  // namespace
}  // namespace terrace
