// Jobs as processes, with scripts in the place of simulations.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>

#include "engine/check.h"
#include "support/scratch.h"
#include "sweep/executor.h"
#include "sweep/job_spool.h"

namespace terrace {
namespace {

using ::testing::HasSubstr;

class LocalExecutor : public ::testing::Test {
 protected:
  /// A job is `run --gpu CONFIG --json RESULT --quiet`: $3 and $5 in the script.
  std::unique_ptr<Executor> make(const std::string& script, u32 jobs = 2, u64 memory = 0) {
    const std::string program = scratch_.write("worker", "#!/bin/bash\n" + script);
    chmod(program.c_str(), 0755);
    return make_executor("local", {program, jobs, memory});
  }
  Task task(const std::string& id, u64 memory = 0) const {
    return {id, (scratch_.path() / (id + ".toml")).string(), (scratch_.path() / (id + ".json")).string(), memory};
  }
  static std::vector<Ended> all(Executor& executor) {
    std::vector<Ended> ended;
    while (executor.running() != 0)
      for (Ended& end : executor.wait(5)) ended.push_back(std::move(end));
    return ended;
  }
  Scratch scratch_;
};

TEST_F(LocalExecutor, GivesTheJobItsFilesAndTellsHowItEnded) {
  const auto executor = make("echo \"$1 $2 $4 $6 $7 $8\" > \"$5\"; exit 0");
  executor->start(task("a"));
  const auto ended = all(*executor);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].id, "a");
  EXPECT_EQ(ended[0].exit_code, 0);
  std::string line;
  std::getline(std::ifstream(scratch_.path() / "a.json") >> std::ws, line);
  EXPECT_EQ(line, "run --gpu --json --threads 1 --quiet");
}

TEST_F(LocalExecutor, KeepsWhatAFailedJobSaid) {
  const auto executor = make("echo 'terrace: deadlock: sm.0 waits' >&2; exit 4");
  executor->start(task("a"));
  const auto ended = all(*executor);
  EXPECT_EQ(ended.at(0).exit_code, 4);
  EXPECT_EQ(ended.at(0).message, "deadlock: sm.0 waits");
}

TEST_F(LocalExecutor, AJobThatIsKilledDidNotEndByItself) {
  const auto executor = make("kill -9 $$");
  executor->start(task("a"));
  const auto ended = all(*executor);
  EXPECT_EQ(ended.at(0).exit_code, -1);
  EXPECT_EQ(ended.at(0).message, "was ended by signal 9 (Killed)");
}

TEST_F(LocalExecutor, HasRoomForAsManyAsItWasTold) {
  const auto executor = make("sleep 0.2", 2);
  EXPECT_TRUE(executor->has_room(task("a")));
  executor->start(task("a"));
  EXPECT_TRUE(executor->has_room(task("b")));
  executor->start(task("b"));
  EXPECT_FALSE(executor->has_room(task("c")));
  EXPECT_EQ(all(*executor).size(), 2u);
  EXPECT_TRUE(executor->has_room(task("c")));
}

TEST_F(LocalExecutor, LetsALargeJobWaitUntilItIsAlone) {
  const auto executor = make("sleep 0.1", 4, u64{1} << 30);
  executor->start(task("a", u64{600} << 20));
  EXPECT_FALSE(executor->has_room(task("b", u64{600} << 20)));
  EXPECT_TRUE(executor->has_room(task("c", u64{100} << 20)));
  all(*executor);
  EXPECT_TRUE(executor->has_room(task("b", u64{6} << 40)));
}

TEST_F(LocalExecutor, EndsTheYoungestWhenMemoryRunsOut) {
  // The first stays small; the second grows to about 60 MB.
  const auto executor =
      make("if [[ $3 == *large* ]]; then x=$(head -c 60000000 /dev/zero | tr '\\0' x); sleep 5; else sleep 1; fi", 2,
           u64{40} << 20);
  executor->start(task("small"));
  executor->start(task("large"));
  for (const Ended& end : all(*executor)) {
    if (end.id == "small") {
      EXPECT_EQ(end.exit_code, 0);
    }
    if (end.id == "large") {
      EXPECT_EQ(end.exit_code, -1);
      EXPECT_THAT(end.message, HasSubstr("needs more than the 40 MB of memory that jobs may use"));
      EXPECT_LT(end.seconds, 4);
    }
  }
}

TEST_F(LocalExecutor, StopsWhatRunsWithinSeconds) {
  const auto executor = make("trap '' TERM; sleep 60 & wait; sleep 60");
  executor->start(task("a"));
  executor->start(task("b"));
  const auto from = std::chrono::steady_clock::now();
  executor->stop();
  EXPECT_EQ(executor->running(), 0u);
  EXPECT_LT(std::chrono::steady_clock::now() - from, std::chrono::seconds(4));
}

TEST_F(LocalExecutor, AnUnknownExecutorIsRefusedWithThoseThereAre) {
  try {
    make_executor("locl", {});
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "--executor: no executor named \"locl\"; available: local, slurm; did you mean \"local\"?");
  }
}

TEST(JobSpool, TwoSweepsCannotHaveTheSameJobAndTheLastRemovesTheFolder) {
  const Scratch scratch;
  const std::string store = (scratch.path() / "results.db").string();
  {
    JobSpool one(store);
    EXPECT_TRUE(one.lock("a"));
    {
      JobSpool two(store);
      EXPECT_FALSE(two.lock("a"));
      EXPECT_TRUE(two.lock("b"));
      EXPECT_FALSE(one.lock("b"));
      one.unlock("a");
      EXPECT_TRUE(two.lock("a"));
    }
    EXPECT_TRUE(one.lock("b")) << "locks end with their holder";
    EXPECT_TRUE(std::filesystem::exists(store + "-jobs"));
  }
  EXPECT_FALSE(std::filesystem::exists(store + "-jobs"));
}

TEST(JobSpool, KeepsResultsThatAreInNoStoreYet) {
  const Scratch scratch;
  const std::string store = (scratch.path() / "results.db").string();
  {
    JobSpool spool(store);
    scratch.write("results.db-jobs/a.json", "{}");
  }
  JobSpool again(store);
  EXPECT_TRUE(again.has_result("a"));
  EXPECT_FALSE(again.has_result("b"));
}

}  // namespace
}  // namespace terrace
