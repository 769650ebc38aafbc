// What a sweep file says under `at` applies at that size.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/check.h"
#include "sweep/sweep_file.h"

namespace terrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kFile = R"(
seeds = 3
[lists]
pairs = [["gups", "mm"], ["gups", "hs"]]
others = [["mm", "hs"]]
[at.tiny]
seeds = 1
[at.tiny.lists]
pairs = [["gups", "mm"]]
[[grid]]
name = "g"
gpu = "dws_30sm"
mix = ["pairs", "others"]
until = "window:2000000"
at.tiny.until = "window:1000000"
[grid.set]
mmu.walkers = [8, 12, 16]
[grid.at.paper]
size = "small"
set.mmu.walkers = [8, 16]
)";

SweepFile at_size(const std::string& text, const std::string& size) {
  Mistakes mistakes("s.toml");
  SweepFile file = parse_sweep("s.toml", text, size, mistakes);
  mistakes.raise();
  return file;
}

TEST(SweepSizes, KeysUnderASizeTakeThePlaceOfThoseBesideThem) {
  const Grid tiny = at_size(kFile, "tiny").grids.front();
  EXPECT_EQ(tiny.mixes.size(), 2u);  // one of pairs, one of others
  EXPECT_THAT(tiny.untils, ElementsAre("window:1000000"));
  EXPECT_THAT(tiny.seeds, ElementsAre(1));
  EXPECT_THAT(tiny.sizes, ElementsAre("tiny"));
  EXPECT_EQ(tiny.axes.front().values.size(), 3u);
}

TEST(SweepSizes, OtherSizesAreAsTheFileSays) {
  const Grid small = at_size(kFile, "small").grids.front();
  EXPECT_EQ(small.mixes.size(), 3u);
  EXPECT_THAT(small.untils, ElementsAre("window:2000000"));
  EXPECT_THAT(small.seeds, ElementsAre(1, 2, 3));
}

TEST(SweepSizes, AGridMayTakeTheInputsOfAnotherSizeAndItsOwnAxes) {
  const Grid paper = at_size(kFile, "paper").grids.front();
  EXPECT_THAT(paper.sizes, ElementsAre("small"));
  ASSERT_EQ(paper.axes.size(), 1u);
  EXPECT_EQ(paper.axes.front().values.size(), 2u);
}

TEST(SweepSizes, TheSizeIsPartOfTheNameOfAPapersSweep) {
  const std::string text = "name = \"x\"\npaper = \"dws\"\n[[grid]]\ngpu = \"dws_30sm\"\nworkload = \"mm\"\n";
  EXPECT_EQ(at_size(text, "tiny").name, "x_tiny");
  EXPECT_EQ(at_size(text, "").name, "x");
}

TEST(SweepSizes, WhatIsNoSizeIsRefusedWithItsLine) {
  const auto refusal = [](const std::string& text) {
    try {
      at_size(text, "tiny");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal(std::string(kFile) + "[at.tyni]\nseeds = 1\n"), HasSubstr("tyni"));
  EXPECT_THAT(refusal("at = 3\n[[grid]]\ngpu = \"dws_30sm\"\nworkload = \"mm\"\n"), HasSubstr("s.toml:1"));
  EXPECT_THAT(refusal("[at.tiny]\nseedz = 1\n[[grid]]\ngpu = \"dws_30sm\"\nworkload = \"mm\"\n"),
              HasSubstr("has no key \"seedz\""));
}

TEST(SweepSizes, AClaimHasAValueOrValuesOfItems) {
  const std::string grid = "[[grid]]\ngpu = \"dws_30sm\"\nworkload = \"mm\"\n[[claim]]\nid = \"c\"\n";
  const SweepFile file = at_size(grid + "values = [\"a = 1\", \"b = mean(cycles)\"]\n", "");
  ASSERT_EQ(file.claims.front().items.size(), 2u);
  EXPECT_EQ(file.claims.front().items[1].value, "mean(cycles)");
  EXPECT_THROW(at_size(grid, ""), InputError);
  EXPECT_THROW(at_size(grid + "value = \"1\"\nvalues = [\"a = 1\"]\n", ""), InputError);
  EXPECT_THROW(at_size(grid + "values = [\"no title\"]\n", ""), InputError);
}

}  // namespace
}  // namespace terrace
