// What works, as a user meets it.
// SPDX-License-Identifier: MIT
#include "cli/commands.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "support/paths.h"
#include "support/program.h"
#include "support/scratch.h"
#include "text/tree.h"
#include "version.h"

namespace terrace {
namespace {

std::string said(const std::vector<std::string>& arguments, const std::string& folder = "/") {
  const Outcome outcome = run_terrace(arguments, folder);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  return outcome.out;
}

TEST(CommandLine, HelpShowsEveryCommandWithAnExample) {
  const std::string help = said({"--help"});
  for (const SubCommand& command : sub_commands())
    EXPECT_NE(help.find(std::string(command.example)), std::string::npos) << command.name;
}

TEST(CommandLine, EveryCommandHasHelpOfItsOwnWithItsExample) {
  for (const SubCommand& command : sub_commands()) {
    const std::string help = said({std::string(command.name), "--help"});
    EXPECT_NE(help.find("Usage: terrace " + std::string(command.name)), std::string::npos) << help;
    EXPECT_NE(help.find(std::string(command.example)), std::string::npos) << help;
  }
}

TEST(CommandLine, VersionNamesVersionRevisionAndCompiler) {
  EXPECT_EQ(said({"--version"}), "terrace " + version() + " (revision " + revision() + ", " + compiler() + ")\n");
}

TEST(Explain, TellsMeaningRangeValueAndWhereItCameFrom) {
  const Scratch scratch;
  scratch.write("m.toml", "[run]\nseed = 5\n");
  scratch.write("d.toml", "# another seed\nrun.seed = 6\n");
  EXPECT_EQ(
      said({"explain", "run.seed", "--gpu", "m.toml", "--design", "d.toml", "--set", "run.seed=7"},
           scratch.path().string()),
      "run.seed = 7\n  seed of every random stream\n  a whole number\n  set by --set\n    overrides 6 from d.toml:2\n"
      "    overrides 5 from m.toml:2\n    overrides 1, the default\n");
  EXPECT_EQ(said({"explain", "run.seed"}),
            "run.seed = 1\n  seed of every random stream\n  a whole number\n  default value\n");
}

TEST(List, ShowsPoliciesWithTheirSummaries) {
  const std::string text = said({"list", "policies"});
  EXPECT_NE(text.find("warp scheduler (sm.warp_scheduler): which ready warp issues\n"), std::string::npos);
  EXPECT_NE(text.find("  gto: greedy-then-oldest: the last warp while it is ready, else the oldest\n"),
            std::string::npos);
  EXPECT_NE(said({"list", "warp_scheduler"}).find("  lrr: "), std::string::npos);
}

TEST(Diff, ExitsWithOneWhenStatisticsDiffer) {
  const Scratch scratch;
  const auto result = [](const char* walks) {
    return std::string(R"({"schema": "terrace.run/1", "stats": {"walks": {"unit": "walks", "value": )") + walks + "}}}";
  };
  scratch.write("a.json", result("4"));
  scratch.write("b.json", result("5"));
  EXPECT_EQ(said({"diff", "a.json", "a.json"}, scratch.path().string()), "No statistic differs.\n");
  const Outcome outcome = run_terrace({"diff", "a.json", "b.json"}, scratch.path().string());
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.out, "1 statistic differs:\n       a.json  b.json  change\nwalks       4       5  +25 %\n");
}

TEST(Output, AFullDiskIsToldInOneSentence) {
  const Outcome outcome = Child(terrace_program(), {"list", "keys"}, "/", "/dev/full").wait();
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, "terrace: standard output cannot be written: No space left on device\n");
}

TEST(Output, AClosedPipeEndsACommandQuietly) {
  // The reader is gone before anything is written.
  const std::string line = terrace_program() + " list stats | { exec 0<&-; sleep 1; }; echo ${PIPESTATUS[0]}";
  const Outcome outcome = Child("/bin/bash", {"-c", line}, "/").wait();
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out, "0\n");
}

TEST(Options, EveryCommandTakesQuiet) {
  for (const SubCommand& command : sub_commands())
    EXPECT_THAT(said({std::string(command.name), "--help"}), ::testing::HasSubstr("--quiet")) << command.name;
}

TEST(Reference, PagesAreCurrent) {
  for (const char* page : {"keys", "policies", "stats", "claims"}) {
    const std::string path = source_folder() + "/docs/reference/" + page + ".md";
    EXPECT_EQ(read_file(path), said({"list", page, "--markdown"})) << "run scripts/update_reference";
  }
}

/// The lines of one policy in a list of those of a slot: its own, and those of its parameters.
std::string lines_of(const std::string& policy, const std::string& list) {
  const std::size_t first = list.find("  " + policy + ": ");
  if (first == std::string::npos) return "";
  std::size_t end = list.find('\n', first) + 1;
  while (list.compare(end, 4, "    ") == 0) end = list.find('\n', end) + 1;
  return list.substr(first, end - first);
}
std::string without(const std::string& part, std::string text) {
  const std::size_t at = text.find(part);
  return part.empty() || at == std::string::npos ? text : text.erase(at, part.size());
}

/// A policy that docs/add_a_policy.md adds, and which list shows it.
struct AddedPolicy {
  std::string name, list;
};
void PrintTo(const AddedPolicy& added, std::ostream* out) {
  *out << added.name;
}
class ThePageThatAddsAPolicy : public testing::TestWithParam<AddedPolicy> {
 protected:
  /// The output of `terrace list` as the page shows it.
  std::string shown() const {
    const std::string page = read_file(source_folder() + "/docs/add_a_policy.md");
    const std::string command = "build/dev/terrace list " + GetParam().list + "\n```\n\n```\n";
    const std::size_t at = page.find(command);
    EXPECT_NE(at, std::string::npos) << "the page does not show this list";
    if (at == std::string::npos) return "";
    const std::size_t begin = at + command.size();
    return page.substr(begin, page.find("```\n", begin) - begin);
  }
  std::string its_lines() const { return lines_of(GetParam().name, shown()); }
};

TEST_P(ThePageThatAddsAPolicy, ShowsTheOtherPoliciesOfTheSlotAsTheyAreListed) {
  ASSERT_NE(its_lines(), "") << "the page does not show the policy that it adds";
  const std::string listed = said({"list", GetParam().list});
  EXPECT_EQ(without(its_lines(), shown()), without(lines_of(GetParam().name, listed), listed));
}

TEST_P(ThePageThatAddsAPolicy, ShowsTheNewOneAsItsCodeDescribesIt) {
  const std::string code = read_file(source_folder() + "/docs/examples/" + GetParam().name + ".cc");
  const auto in_code = [&](const std::string& text) { return code.find(text) != std::string::npos; };
  std::istringstream lines(its_lines());
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(in_code('"' + line.substr(line.find(": ") + 2) + '"')) << line;
  std::smatch parts;
  while (std::getline(lines, line)) {
    ASSERT_TRUE(std::regex_match(line, parts, std::regex(R"(    (\w+) = (\w+): (.*) \((.*)\))"))) << line;
    EXPECT_TRUE(in_code(fmt::format("{} = {};", parts[1].str(), parts[2].str()))) << line;
    EXPECT_TRUE(in_code('"' + parts[3].str() + '"')) << line;
    const std::string values = parts[4];
    if (values != "true or false") {
      ASSERT_TRUE(std::regex_match(values, parts, std::regex(R"(a whole number from (\d+) to (\d+))"))) << line;
      EXPECT_TRUE(in_code(fmt::format("in({}, {})", parts[1].str(), parts[2].str()))) << line;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ThePageThatAddsAPolicy,
                         testing::Values(AddedPolicy{"turns", "warp_scheduler"},
                                         AddedPolicy{"leaf_bypass", "admission"}, AddedPolicy{"busiest", "partition"}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace terrace
