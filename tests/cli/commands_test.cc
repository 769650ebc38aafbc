// What works, as a user meets it.
// SPDX-License-Identifier: MIT
#include "cli/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace terrace
