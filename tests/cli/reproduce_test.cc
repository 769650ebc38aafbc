// terrace reproduce, as a user meets it.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "claims/catalogue.h"
#include "support/paths.h"
#include "support/program.h"
#include "support/scratch.h"
#include "text/tree.h"

namespace terrace {
namespace {

using ::testing::HasSubstr;

/// Every file is read, planned and checked against the catalogue; nothing runs. (Unit tests read them at the other sizes.)
TEST(Reproduce, PlansEveryPaperAtTiny) {
  const Scratch scratch;
  const Outcome outcome = run_terrace({"reproduce", "all", "--dry-run", "--store", "a.db"}, scratch.path().string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(" to run: about "));
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "a.db"));
}

/// Ctrl-C, the same command again, and the board of what the store then has.
TEST(Reproduce, ContinuesAfterAnInterruptionAndEndsWithTheBoard) {
  const Scratch scratch;
  const std::string folder = scratch.path().string();
  const std::vector<std::string> words{"reproduce", "simt",   "--size", "mini",    "--store", "a.db", "--out",
                                       "board",     "--jobs", "2",      "--quiet", "--seeds", "1"};
  Child first(terrace_program(), words, folder);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  first.signal(SIGINT);
  const Outcome stopped = first.wait();
  EXPECT_EQ(stopped.exit_code, 130);
  EXPECT_THAT(stopped.err, HasSubstr("repeat the command to continue"));
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "board" / "board.json"));

  const Outcome outcome = run_terrace(words, folder);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("* simt.fig8.speedup_irregular"));
  EXPECT_THAT(outcome.out, HasSubstr("6 of 6"));
  const Tree board = read_json((scratch.path() / "board" / "board.json").string());
  const std::size_t claims = read_claims(source_folder(), "simt").claims.size();
  ASSERT_EQ(board.find("rows")->items().size(), claims);
  for (const Tree& row : board.find("rows")->items()) {
    const bool measured = *row.find("verdict") != Tree("not measured");
    EXPECT_EQ(*row.find("size"), Tree(measured ? "mini" : "")) << row.text();
    // Eight CUs: read from the configuration of the runs.
    EXPECT_TRUE(*row.find("id") != Tree("simt.table1.config") || *row.find("verdict") == Tree("holds")) << row.text();
    EXPECT_TRUE(measured || *row.find("reason") != Tree("")) << row.text();
  }
  EXPECT_THAT(read_file((scratch.path() / "board" / "board.md").string()), HasSubstr("# The claims board"));
  EXPECT_THAT(outcome.out, HasSubstr("board/index.html"));
  for (const char* page : {"index.html", "paper_simt_mini.html", "run.html"})
    EXPECT_TRUE(std::filesystem::exists(scratch.path() / "board" / page)) << page;
}

TEST(Reproduce, AFolderThatCannotBeMadeIsRefusedBeforeAnythingRuns) {
  const Scratch scratch;
  scratch.write("file", "");
  const Outcome outcome =
      run_terrace({"reproduce", "simt", "--store", "a.db", "--out", "file/board"}, scratch.path().string());
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("file/board cannot be created"));
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "a.db"));
}

}  // namespace
}  // namespace terrace
