// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "config/assign.h"
#include "engine/check.h"
#include "support/assign_list.h"

namespace terrace {
namespace {

enum class Path { kL2, kDram };

struct Inner {
  u8 level = 4;
  void describe(Fields& v) { v("level", level, in(1, 1000), "levels of the tree"); }
};

struct Params {
  bool on = false;
  u32 walkers = 16;
  Fraction share{500'000};
  std::string graph = "uniform";
  std::vector<u64> sizes{1, 2};
  Path via = Path::kL2;
  Inner tree;
  void describe(Fields& v) {
    v("on", on, "whether");
    v("walkers", walkers, in(1, 1024), "page walkers");
    v("share", share, in(0, Fraction::kOne), "share");
    v("graph", graph, "kind of graph");
    v("sizes", sizes, in(1, 64), "sizes");
    v("via", via, {"l2", "dram"}, "path");
    v.group("tree", tree, "tree");
  }
};

std::string error_of(auto&& act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

std::string refused(std::string_view list) {
  Params params;
  return error_of([&] { assign_list(params, list, "--tenant", "bfs"); });
}

std::string refused(std::string path, Tree value) {
  Params params;
  return error_of([&] { assign(params, {std::move(path), std::move(value), false, {"x.toml", 3}}); });
}

TEST(Assign, TextTakesTheTypeOfItsKey) {
  Params params;
  assign_list(params, "on=true,walkers=0x2_0,share=0.25,graph=\"rmat\",sizes=[3, 4],via=dram,tree.level=3", "--set");
  EXPECT_TRUE(params.on);
  EXPECT_EQ(params.walkers, 32u);
  EXPECT_EQ(params.share.millionths, 250'000u);
  EXPECT_EQ(params.graph, "rmat");
  EXPECT_EQ(params.sizes, (std::vector<u64>{3, 4}));
  EXPECT_EQ(params.via, Path::kDram);
  EXPECT_EQ(params.tree.level, 3);
}

TEST(Assign, ADecimalFromAFileIsExactInMillionths) {
  Params params;
  assign(params, {"share", Tree(0.51), false, {}});
  EXPECT_EQ(params.share.millionths, 510'000u);
  assign(params, {"share", Tree(u64{1}), false, {}});
  EXPECT_EQ(params.share.millionths, Fraction::kOne);
}

TEST(Assign, AnUnknownKeyIsCorrectedInPlace) {
  EXPECT_EQ(refused("walker=3"), "--tenant: bfs.walker is not a known key; did you mean \"walkers\"?");
}

TEST(Assign, AnUnknownKeyFarFromAllNamesTheKeysThereAre) {
  EXPECT_EQ(refused("zzzzzz=3"),
            "--tenant: bfs.zzzzzz is not a known key; the keys are on, walkers, share, graph, sizes, via, tree.level");
}

TEST(Assign, AKeyOfTheWrongGroupIsCorrectedByItsWholePath) {
  EXPECT_EQ(refused("tre.level=3"), "--tenant: bfs.tre.level is not a known key; did you mean \"tree.level\"?");
}

TEST(Assign, EachTypeSaysWhatItMayBe) {
  EXPECT_EQ(refused("on=yes"), "--tenant: bfs.on must be true or false, not \"yes\"");
  EXPECT_EQ(refused("walkers=4096"), "--tenant: bfs.walkers must be a whole number from 1 to 1024, not 4096");
  EXPECT_EQ(refused("walkers=-1"), "--tenant: bfs.walkers must be a whole number from 1 to 1024, not \"-1\"");
  EXPECT_EQ(refused("share=1.5"),
            "--tenant: bfs.share must be a decimal from 0.0 to 1.0 with at most six digits after the point, not 1.5");
  EXPECT_EQ(refused("sizes=[1,65]"), "--tenant: bfs.sizes must be a list of whole numbers from 1 to 64, and holds 65");
  EXPECT_EQ(refused("via=drm"),
            "--tenant: bfs.via must be one of \"l2\", \"dram\", not \"drm\"; did you mean \"dram\"?");
  EXPECT_EQ(refused("tree=3"), "--tenant: bfs.tree is a group of keys; set one of its keys");
}

TEST(Assign, ARangeWiderThanTheFieldIsCutToTheField) {
  EXPECT_EQ(refused("tree.level=256"), "--tenant: bfs.tree.level must be a whole number from 1 to 255, not 256");
}

TEST(Assign, AValueFromAFileMustHaveTheKeysType) {
  EXPECT_EQ(refused("walkers", Tree("16")), "x.toml:3: walkers must be a whole number from 1 to 1024, not \"16\"");
  EXPECT_EQ(refused("walkers", Tree(i64{-4})), "x.toml:3: walkers must be a whole number from 1 to 1024, not -4");
  EXPECT_EQ(refused("walkers", Tree(1.5)), "x.toml:3: walkers must be a whole number from 1 to 1024, not 1.5");
  EXPECT_EQ(refused("graph", Tree(true)), "x.toml:3: graph must be text, not true");
  EXPECT_EQ(refused("sizes", Tree(u64{3})), "x.toml:3: sizes must be a list of whole numbers from 1 to 64, not 3");
  EXPECT_EQ(refused("share", Tree(0.1234567)),
            "x.toml:3: share must be a decimal from 0.0 to 1.0 with at most six digits after the point, not 0.1234567");
}

TEST(Assign, WhatIsNotKeyEqualsValueIsRefused) {
  EXPECT_EQ(refused("walkers"), "--tenant: \"walkers\" is not of the form key=value");
  EXPECT_EQ(refused("=3"), "--tenant: \"=3\" is not of the form key=value");
  EXPECT_EQ(refused("on=true,"), "--tenant: \"\" is not of the form key=value");
  EXPECT_EQ(refused("on=true,on=false"), "--tenant: \"on=true,on=false\" gives on twice; give it once");
}

}  // namespace
}  // namespace terrace
