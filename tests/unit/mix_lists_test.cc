// The workload sets of the papers: as large as printed, by the papers' rules, of workloads that exist; and how a sweep
// names them.
// SPDX-License-Identifier: MIT
#include "sweep/mix_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "engine/check.h"
#include "frontend/workload.h"
#include "support/paths.h"
#include "support/scratch.h"
#include "sweep/mix_name.h"
#include "sweep/sweep_file.h"

namespace terrace {
namespace {

using ::testing::HasSubstr;
using Mixes = std::vector<std::vector<std::string>>;

LayerFile set_file(const std::string& set) {
  return {source_folder() + "/configs/sets/" + set + ".toml", "configs/sets/" + set + ".toml"};
}
std::map<std::string, Mixes> lists_of(const std::string& set) {
  std::map<std::string, Mixes> lists;
  for (const MixList& list : read_mix_lists(set_file(set))) lists[list.name] = list.mixes;
  return lists;
}
std::string name_of(const std::string& tenant) {
  return tenant.substr(0, tenant.find(':'));
}
std::set<std::string> names_in(const Mixes& mixes) {
  std::set<std::string> names;
  for (const auto& mix : mixes)
    for (const std::string& tenant : mix) names.insert(name_of(tenant));
  return names;
}
/// Without order: each mix, and the mixes.
std::set<std::set<std::string>> as_sets(const Mixes& mixes) {
  std::set<std::set<std::string>> all;
  for (const auto& mix : mixes) all.insert({mix.begin(), mix.end()});
  return all;
}
/// So many mixes, all different, each of so many different tenants.
void expect_different(const Mixes& mixes, u64 count, u64 tenants) {
  EXPECT_EQ(mixes.size(), count);
  EXPECT_EQ(as_sets(mixes).size(), count) << "a mix stands twice";
  for (const auto& mix : as_sets(mixes)) EXPECT_EQ(mix.size(), tenants);
}
Mixes together(const std::map<std::string, Mixes>& lists, const std::vector<std::string>& names) {
  Mixes all;
  for (const std::string& name : names) all.insert(all.end(), lists.at(name).begin(), lists.at(name).end());
  return all;
}
bool contains_all(const Mixes& all, const Mixes& some) {
  const auto whole = as_sets(all), part = as_sets(some);
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

class EverySet : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Of, EverySet, testing::Values("mask", "dws", "simt", "cd", "vc"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(EverySet, HasOnlyWorkloadsThatExistWithInputsOfEverySize) {
  for (const MixList& list : read_mix_lists(set_file(GetParam()))) {
    for (const auto& mix : list.mixes) {
      for (const std::string& tenant : mix) {
        for (const InputSize size : {InputSize::kMini, InputSize::kTiny, InputSize::kSmall, InputSize::kPaper})
          EXPECT_NO_THROW(resolve_params(parse_workload(tenant, size))) << list.name << ": " << tenant;
      }
    }
  }
}

TEST(MixLists, OfMaskAreAsLargeAsPrintedAndByItsRule) {
  const auto lists = lists_of("mask");
  expect_different(lists.at("applications"), 27, 1);
  EXPECT_EQ(as_sets(together(lists, {"low_low", "low_high", "high_low", "high_high"})),
            as_sets(lists.at("applications")));
  EXPECT_EQ(lists.at("low_low").size(), 2u);
  EXPECT_EQ(lists.at("low_high").size(), 8u);
  EXPECT_EQ(lists.at("high_low").size(), 4u);
  EXPECT_EQ(lists.at("high_high").size(), 13u);

  const Mixes& pairs = lists.at("pairs");
  expect_different(pairs, 35, 2);
  expect_different(lists.at("named_pairs"), 9, 2);
  expect_different(lists.at("figure7"), 4, 2);
  EXPECT_TRUE(contains_all(pairs, lists.at("named_pairs")) && contains_all(pairs, lists.at("figure7")));
  EXPECT_EQ(as_sets(together(lists, {"none_high", "one_high", "two_high"})), as_sets(pairs));
  const std::set<std::string> low = names_in(lists.at("low_low")), high = names_in(lists.at("high_high"));
  u64 with = 0;
  for (const char* category : {"none_high", "one_high", "two_high"}) {
    for (const auto& pair : lists.at(category)) {
      const auto of = [&](const std::set<std::string>& names) {
        return std::count_if(pair.begin(), pair.end(), [&](const auto& t) { return names.contains(name_of(t)); });
      };
      EXPECT_LT(of(low), 2) << "never two that translation hardly concerns";
      EXPECT_EQ(of(high), static_cast<i64>(with)) << category;
    }
    ++with;
  }
  u64 tenants = 0;
  for (const char* count : {"one", "two", "three", "four", "five"}) expect_different(lists.at(count), 5, ++tenants);
}

TEST(MixLists, OfDwsAreAsLargeAsPrintedOfAllSixClasses) {
  const auto lists = lists_of("dws");
  expect_different(lists.at("applications"), 13, 1);
  EXPECT_EQ(as_sets(together(lists, {"light", "medium", "heavy"})), as_sets(lists.at("applications")));
  expect_different(lists.at("pairs"), 45, 2);
  EXPECT_TRUE(contains_all(lists.at("pairs"), lists.at("named_pairs")));
  const std::vector<std::string> classes{"light_light", "medium_light", "medium_medium",
                                         "heavy_light", "heavy_medium", "heavy_heavy"};
  EXPECT_EQ(as_sets(together(lists, classes)), as_sets(lists.at("pairs")));
  for (const std::string& name : classes) {
    EXPECT_FALSE(lists.at(name).empty()) << name;
    const auto first = names_in(lists.at(name.substr(0, name.find('_'))));
    const auto second = names_in(lists.at(name.substr(name.find('_') + 1)));
    for (const auto& pair : lists.at(name))
      EXPECT_TRUE(first.contains(name_of(pair.at(0))) && second.contains(name_of(pair.at(1)))) << name;
  }
  EXPECT_EQ(together(lists, {"heavy_light", "heavy_medium", "heavy_heavy"}).size(), 32u) << "sensitive to translation";
  expect_different(lists.at("three"), 7, 3);
  expect_different(lists.at("four"), 7, 4);
  for (const auto& pair : lists.at("large_pages")) EXPECT_THAT(pair.at(0), HasSubstr(",")) << "an enlarged input";
}

TEST(MixLists, OfTheOtherPapersAreAsLargeAsPrinted) {
  const auto simt = lists_of("simt"), cd = lists_of("cd"), vc = lists_of("vc");
  expect_different(simt.at("applications"), 12, 1);
  EXPECT_EQ(as_sets(together(simt, {"irregular", "regular"})), as_sets(simt.at("applications")));
  EXPECT_EQ(simt.at("irregular").size(), 6u);

  expect_different(cd.at("applications"), 14, 1);
  expect_different(cd.at("pairs"), 91, 2);
  expect_different(cd.at("heterogeneous"), 49, 2);
  expect_different(cd.at("memory_pairs"), 21, 2);
  expect_different(cd.at("compute_pairs"), 21, 2);
  EXPECT_EQ(as_sets(together(cd, {"heterogeneous", "memory_pairs", "compute_pairs"})), as_sets(cd.at("pairs")));
  EXPECT_TRUE(contains_all(cd.at("pairs"), cd.at("named_pairs")));
  expect_different(cd.at("quads"), 20, 4);
  expect_different(cd.at("memory_quads"), 10, 4);

  expect_different(vc.at("applications"), 15, 1);
  EXPECT_EQ(as_sets(together(vc, {"high", "low"})), as_sets(vc.at("applications")));
  EXPECT_EQ(vc.at("low").size(), 5u);
}

class SweepOfSets : public ::testing::Test {
 protected:
  SweepFile read(const std::string& mix, Mistakes& mistakes, const std::string& head = "",
                 const std::string& size = "") {
    const ConfigSource configs{{}, {}, [](const std::string& name) {
                                 if (std::filesystem::exists(set_file(name).path)) return set_file(name);
                                 input_error("no set of mixes named \"{}\"", name);
                               }};
    return parse_sweep("s.toml", head + "[[grid]]\ngpu = \"mask_maxwell30\"\nmix = " + mix + "\n", size, mistakes, 0,
                       &configs);
  }
  std::string refusal(const std::string& mix, const std::string& head = "") {
    Mistakes mistakes("s.toml");
    read(mix, mistakes, head);
    try {
      mistakes.raise();
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(SweepOfSets, NamesListsAsSetDotList) {
  Mistakes mistakes("s.toml");
  const SweepFile file = read("[\"simt.irregular\", \"mask.figure7\", [\"gups\", \"mm\"]]", mistakes);
  mistakes.raise();
  ASSERT_EQ(file.grids.at(0).mixes.size(), 6u + 4u + 1u);
  EXPECT_EQ(file.grids[0].mixes[0].label, "xsbench:variant=simt");
  EXPECT_EQ(file.grids[0].mixes[0].list, "simt.irregular");
  EXPECT_EQ(file.grids[0].mixes[6].label, "3ds:variant=mask+histo:variant=mask");
}

/// A paper's whole list, and a part of it at a size, under one name: expressions select either.
TEST_F(SweepOfSets, GivesAListOfASetANameOfItsOwn) {
  const std::string head =
      "[lists]\npairs = \"mask.pairs\"\n[at.tiny.lists]\npairs = [[\"gups:variant=mask\", \"mm:variant=mask\"]]\n";
  Mistakes mistakes("s.toml");
  const SweepFile whole = read("\"pairs\"", mistakes, head, "small"), part = read("\"pairs\"", mistakes, head, "tiny");
  mistakes.raise();
  ASSERT_EQ(whole.grids.at(0).mixes.size(), 35u);
  ASSERT_EQ(part.grids.at(0).mixes.size(), 1u);
  EXPECT_EQ(whole.grids[0].mixes[0].list, "pairs");
  EXPECT_EQ(part.grids[0].mixes[0].list, "pairs");
  EXPECT_THAT(
      refusal("\"pairs\"", "[lists]\npairs = \"mask.pair\"\n"),
      HasSubstr("s.toml:2: lists.pairs: `terrace list sets` has no \"mask.pair\"; did you mean \"mask.pairs\"?"));
}

TEST(MixNames, AreAsPapersWriteThem) {
  EXPECT_EQ(shown_mix("gesummv:variant=cd+leu:variant=cd"), "GESUMMV + LEU");
  EXPECT_EQ(shown_mix("gups:variant=dws,table_log2=25+mm"), "GUPS (table_log2=25) + MM");
  EXPECT_EQ(shown_mix("3ds"), "3DS");
  EXPECT_EQ(shown_mix("kernels/my_kernel.toml gups", ' '), "my_kernel + GUPS") << "a file of the user's keeps its name";
}

TEST_F(SweepOfSets, IsToldWhichSetOrListThereIsNot) {
  EXPECT_THAT(refusal("\"mask.pair\""), HasSubstr("s.toml:3: no list named \"mask.pair\""));
  EXPECT_THAT(refusal("\"mask.pair\""), HasSubstr("did you mean \"mask.pairs\""));
  EXPECT_THAT(refusal("\"musk.pairs\""), HasSubstr("s.toml:3: no set of mixes named \"musk\""));
}

TEST(MixLists, RefusesWhatIsNoSetInOneSentence) {
  const Scratch scratch;
  const auto refusal = [&](const std::string& text) -> std::string {
    try {
      read_mix_lists({scratch.write("a.toml", text), "a.toml"});
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal("[about]\n"), "a.toml has no table [lists]");
  EXPECT_EQ(refusal("[lists]\na = [[\"mm\"]]\n"), "a.toml has no table [about] with a line on each list");
  EXPECT_EQ(refusal("[about]\nb = \"b\"\n[lists]\na = [[\"mm\"]]\n"), "a.toml:2: [about] names b, which is not a list");
  EXPECT_EQ(refusal("[about]\n[lists]\na = [[\"mm\"]]\n"), "a.toml:3: the list a has no line under [about]");
  EXPECT_EQ(refusal("[about]\na = \"a\"\n[lists]\na = []\n"), "a.toml:4: a list of mixes is empty; leave it out");
  EXPECT_EQ(refusal("[about]\na = \"a\"\n[lists]\na = [[1]]\n"), "a.toml:4: a tenant must be text, not 1");
  EXPECT_THAT(refusal("[about]\na = \"a\"\n[lists]\na = [\"mm\"]\n"), HasSubstr("a mix is a list of tenants"));
}

}  // namespace
}  // namespace terrace
