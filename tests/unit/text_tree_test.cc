// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "engine/check.h"
#include "engine/rng.h"
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

/// Whatever bytes come, they are read or refused: a few of them changed, removed, repeated.
template <class Parse>
void survive_mutations(std::string_view seed_text, Parse parse) {
  Rng rng(7, seed_text);
  int refused = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string text(seed_text);
    for (u64 edits = 1 + rng.below(4); edits > 0; --edits) {
      const std::size_t at = rng.below(text.size());
      const u64 kind = rng.below(3);
      if (kind == 0) text[at] = static_cast<char>(rng.below(256));
      if (kind == 1) text.erase(at, 1 + rng.below(5));
      if (kind == 2) text.insert(at, text.substr(rng.below(text.size()), 12));
      if (text.empty()) text = " ";
    }
    try {
      parse(text, "mutated");
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 300) << "the mutations hardly damage anything";
  EXPECT_LT(refused, 1500);
}

TEST(Tree, DamagedTomlIsReadOrRefused) {
  survive_mutations(
      "# c\n[run]\nseed = 0x1f\nuntil = \"cycles:3\"\n[a.\"b c\"]\nx = [1, -2.5e3, {y = true}]\n[[t]]\nz = 'q'\n",
      parse_toml);
}

TEST(Tree, DamagedJsonIsReadOrRefused) {
  survive_mutations(R"({"schema": "terrace.run/1", "a": [1, -2.5e3, {"b": null}], "t": true, "u": "\u00e9\n"})",
                    parse_json);
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

TEST(Suggest, AFormerNameLeadsToTheNewOneWhereThatExists) {
  EXPECT_EQ(nearest("series", std::vector<std::string>{"seed", "stats_every"}), "stats_every");
  EXPECT_EQ(nearest("--slots", std::vector<std::string>{"--socket", "--tenants"}), "--tenants");
  EXPECT_EQ(nearest("series", std::vector<std::string>{"seed", "title"}), "");
}

}  // namespace
}  // namespace terrace
