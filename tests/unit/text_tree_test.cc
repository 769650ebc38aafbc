// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "engine/check.h"
#include "text/suggest.h"
#include "text/tree.h"

namespace terrace {
namespace {

std::string json_error(std::string_view text) {
  try {
    parse_json(text, "a.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Tree, WhatIsWrittenAsJsonReadsBackTheSame) {
  Tree tree;
  tree["largest"] = ~u64{0};
  tree["negative"] = i64{-3};
  tree["ratio"] = 0.1;
  tree["text"] = "a \"quoted\"\n\ttext \\ é";
  tree["flags"].push(true);
  tree["flags"].push(Tree());
  tree["deep"]["er"]["list"] = Tree::list();
  EXPECT_EQ(parse_json(json_text(tree), "a.json"), tree) << json_text(tree);
}

TEST(Tree, JsonKeepsTheOrderOfItsMembersAndShortListsOnOneLine) {
  Tree tree;
  tree["z"].push(u64{1});
  tree["z"].push(u64{2});
  tree["a"]["b"] = "c";
  EXPECT_EQ(json_text(tree), "{\n  \"z\": [1, 2],\n  \"a\": {\n    \"b\": \"c\"\n  }\n}\n");
}

TEST(Tree, AnInfiniteRatioIsWrittenAsNull) {
  EXPECT_EQ(json_text(Tree(1.0 / 0.0)), "null\n");
}

TEST(Tree, BadJsonIsRefusedWithItsLine) {
  EXPECT_EQ(json_error("{\n\"a\": }").substr(0, 26), "a.json:2: not valid JSON: ");
  EXPECT_EQ(json_error("").substr(0, 26), "a.json:1: not valid JSON: ");
  EXPECT_EQ(json_error(std::string(100'000, '[')), "a.json: not valid here: nested deeper than 256 levels");
}

TEST(Tree, TomlMembersComeInTheOrderOfTheirLines) {
  const Tree tree = parse_toml("z = 1\n[b]\nx = \"t\"\n[a]\ny = [1, -2, 0.5]\n[[l]]\nk = true\n[[l]]\n", "a.toml");
  ASSERT_EQ(tree.members().size(), 4u);
  EXPECT_EQ(tree.members()[0].key, "z");
  EXPECT_EQ(tree.members()[1].key, "b");
  EXPECT_EQ(tree.members()[1].value.find("x")->line, 3u);
  EXPECT_EQ(tree.members()[2].key, "a");
  EXPECT_EQ(*tree.members()[2].value.find("y"), Tree(Tree::List{u64{1}, i64{-2}, 0.5}));
  EXPECT_EQ(tree.members()[3].value.items().size(), 2u);
}

TEST(Suggest, CountsLettersAddedRemovedChangedAndSwapped) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("steal_afer", "steal_after"), 1u);
  EXPECT_EQ(edit_distance("wlakers", "walkers"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Suggest, NamesTheNearestAndNothingWhenAllAreFar) {
  const std::vector<std::string> known{"fcfs", "stealing", "stalling"};
  EXPECT_EQ(nearest("stealig", known), "stealing");
  EXPECT_EQ(nearest("priority", known), "");
}

}  // namespace
}  // namespace terrace
