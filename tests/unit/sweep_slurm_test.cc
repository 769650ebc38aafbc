// The Slurm executor against a cluster of a few lines of shell, which answers as Slurm's commands do. scripts/check_slurm
// has the real one.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>

#include "engine/check.h"
#include "support/scratch.h"
#include "sweep/executor.h"
#include "sweep/executors/command.h"
#include "text/tree.h"

namespace terrace {
namespace {

using ::testing::HasSubstr;

/// $CLUSTER is its folder: calls (what sbatch was told), states (a line for each task, as squeue prints them).
constexpr const char* kSbatch = R"sh(
echo "$*" >>"$CLUSTER/calls"
[ ! -e "$CLUSTER/refuses" ] || { cat "$CLUSTER/refuses" >&2; exit 1; }
job=$(($(wc -l <"$CLUSTER/calls")))
for word in "$@"; do
  case $word in --array=0-*) last=${word#--array=0-} ;; esac
  script=$word
done
for task in $(seq 0 "$last"); do
  if [ -e "$CLUSTER/loses" ]; then
    echo "$job $task $(cat "$CLUSTER/loses")" >>"$CLUSTER/states"
    [ $task -lt "$last" ] || rm "$CLUSTER/loses"
  elif [ -e "$CLUSTER/queues" ]; then
    echo "$job $task PENDING Resources" >>"$CLUSTER/states"
  else
    SLURM_ARRAY_TASK_ID=$task bash "$script"
    echo "$job $task COMPLETED None" >>"$CLUSTER/states"
  fi
done
echo "$job"
)sh";

class SlurmExecutor : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster("scontrol",
            "[ ! -e $CLUSTER/down ] || { echo 'slurm_load_ctl_conf error: no controller' >&2; exit 1; }\n"
            "echo 'MaxArraySize            = 4'");
    cluster("sbatch", kSbatch);
    cluster("squeue", "echo \"$*\" >>\"$CLUSTER/asked\"; cat \"$CLUSTER/states\"");
    cluster("scancel", "echo \"$*\" >>\"$CLUSTER/cancelled\"; rm -f \"$CLUSTER/states\"; : >\"$CLUSTER/states\"");
    cluster("sacct", "exit 1");
    scratch_.write("states", "");
    old_path_ = getenv("PATH");
    setenv("PATH", ((scratch_.path() / "bin").string() + ":" + old_path_).c_str(), 1);
    setenv("CLUSTER", scratch_.path().c_str(), 1);
  }
  void TearDown() override {
    setenv("PATH", old_path_.c_str(), 1);
    unsetenv("CLUSTER");
  }
  void cluster(const std::string& command, const std::string& script) {
    chmod(scratch_.write("bin/" + command, "#!/bin/bash\n" + script + "\n").c_str(), 0755);
  }
  /// A job is `run --gpu CONFIG --json RESULT --threads N --quiet`: $3 and $5 in the script.
  std::unique_ptr<Executor> make(const std::string& script, u32 jobs = 10, SlurmOptions options = {}) {
    const std::string program = scratch_.write("worker", "#!/bin/bash\n" + script);
    chmod(program.c_str(), 0755);
    options.pace = {.look = 0.02, .ask = 0.05, .gather = 0.05, .grace = 0.2, .patience = 1, .stop = 2};
    return make_executor("slurm", {program, jobs, 0, 3, std::move(options)});
  }
  /// In a folder with a name that a shell must not take apart.
  Task task(const std::string& id) const {
    std::filesystem::create_directories(scratch_.path() / "it's jobs");
    return {id, (scratch_.path() / "it's jobs" / (id + ".toml")).string(),
            (scratch_.path() / "it's jobs" / (id + ".json")).string(), 0};
  }
  std::string said(const std::string& file) const { return read_file((scratch_.path() / file).string()); }
  static std::map<std::string, Ended> all(Executor& executor) {
    std::map<std::string, Ended> ended;
    while (executor.running() != 0)
      for (Ended& end : executor.wait(5)) ended[end.id] = end;
    return ended;
  }
  std::size_t files_of_jobs() const {
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(scratch_.path() / "it's jobs"))
      ++files;
    return files;
  }
  Scratch scratch_;
  std::string old_path_;
};

TEST_F(SlurmExecutor, RunsTasksAsArraysNoLongerThanTheClusterAllows) {
  SlurmOptions options;
  set_slurm_option(options, "partition", "main");
  set_slurm_option(options, "time", "1:30:00");
  set_slurm_option(options, "memory", "2G");
  set_slurm_option(options, "options", "--constraint=epyc");
  set_slurm_option(options, "setup", "export GREETING='good day'");
  const auto executor = make("echo \"$1 $2 $4 $6 $7 $8 $GREETING\" > \"$5\"", 10, options);
  for (const char* id : {"a", "b", "c", "d", "e"}) executor->start(task(id));
  EXPECT_EQ(executor->running(), 5u);
  EXPECT_EQ(executor->waiting(), 5u);
  const auto ended = all(*executor);
  ASSERT_EQ(ended.size(), 5u);
  for (const auto& [id, end] : ended) {
    EXPECT_EQ(end.exit_code, 0);
    EXPECT_EQ(said("it's jobs/" + id + ".json"), "run --gpu --json --threads 3 --quiet good day\n");
  }
  const std::string calls = said("calls");
  EXPECT_THAT(calls, HasSubstr("--cpus-per-task=3 "));
  EXPECT_THAT(calls, HasSubstr("--array=0-3 --partition=main --time=1:30:00 --mem=2G --constraint=epyc "));
  EXPECT_THAT(calls, HasSubstr("--array=0-0 "));
  EXPECT_EQ(files_of_jobs(), 5u) << "only results are left";
}

TEST_F(SlurmExecutor, KeepsWhatAFailedJobSaid) {
  const auto executor = make("echo 'terrace: deadlock: sm.0 waits' >&2; exit 4");
  executor->start(task("a"));
  const auto ended = all(*executor);
  EXPECT_EQ(ended.at("a").exit_code, 4);
  EXPECT_EQ(ended.at("a").message, "deadlock: sm.0 waits");
}

TEST_F(SlurmExecutor, SubmitsAgainATaskThatWasKilled) {
  // The first time it is killed, the second time it does its work.
  const auto executor = make("[ -e \"$3.tried\" ] || { touch \"$3.tried\"; kill -9 $$; }; echo done >\"$5\"");
  executor->start(task("a"));
  EXPECT_EQ(all(*executor).at("a").exit_code, 0);
  EXPECT_EQ(said("it's jobs/a.json"), "done\n");
}

TEST_F(SlurmExecutor, GivesUpATaskThatIsKilledEveryTime) {
  const auto executor = make("echo again >>\"$3.tries\"; kill -9 $$");
  executor->start(task("a"));
  const auto ended = all(*executor);
  EXPECT_EQ(ended.at("a").exit_code, -1);
  EXPECT_EQ(ended.at("a").message, "was ended by signal 9 (Killed)");
  EXPECT_EQ(said("it's jobs/a.toml.tries"), "again\nagain\nagain\n");
}

TEST_F(SlurmExecutor, SubmitsAgainWhatEndedWithoutAWord) {
  for (const char* state : {"NODE_FAIL None", "PENDING launch failed requeued held"}) {
    scratch_.write("loses", state);
    const auto executor = make("echo done >\"$5\"");
    executor->start(task("a"));
    EXPECT_EQ(all(*executor).at("a").exit_code, 0) << state;
  }
  EXPECT_THAT(said("cancelled"), HasSubstr("_0")) << "a task that is held is taken out of the queue";
}

TEST_F(SlurmExecutor, StopCancelsWhatIsInTheQueue) {
  scratch_.write("queues", "");
  const auto executor = make("exit 0");
  executor->start(task("a"));
  EXPECT_TRUE(executor->wait(0.1).empty());
  EXPECT_EQ(executor->running(), 1u);
  executor->stop();
  EXPECT_EQ(executor->running(), 0u);
  EXPECT_EQ(said("cancelled"), "--quiet 1\n");
  EXPECT_EQ(files_of_jobs(), 0u);
}

TEST_F(SlurmExecutor, HasRoomForAsManyAsItWasTold) {
  const auto executor = make("exit 0", 2);
  executor->start(task("a"));
  EXPECT_TRUE(executor->has_room(task("b")));
  executor->start(task("b"));
  EXPECT_FALSE(executor->has_room(task("c")));
}

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST_F(SlurmExecutor, SaysWhatSlurmRefuses) {
  scratch_.write("refuses", "sbatch: error: invalid partition specified: moon\n");
  const auto executor = make("exit 0");
  executor->start(task("a"));
  EXPECT_EQ(
      refusal([&] { executor->wait(1); }),
      "sbatch refuses the jobs: sbatch: error: invalid partition specified: moon; see [slurm] in docs/cluster.md, and "
      "repeat the command");
  scratch_.write("down", "");
  EXPECT_EQ(refusal([&] { make("exit 0"); }),
            "--executor slurm: Slurm does not answer: slurm_load_ctl_conf error: no controller");
}

TEST_F(SlurmExecutor, SaysWhenThereIsNoSlurmHere) {
  setenv("PATH", "/nonexistent", 1);
  EXPECT_EQ(refusal([&] { make_executor("slurm", {}); }),
            "--executor slurm: there is no scontrol here; run the sweep where sbatch works, such as a login node");
}

TEST_F(SlurmExecutor, SaysWhenNodesDoNotHaveTheProgram) {
  const auto executor = make_executor("slurm", {(scratch_.path() / "nobody").string(), 1, 0, {}});
  executor->start(task("a"));
  EXPECT_THAT(refusal([&] { all(*executor); }), HasSubstr("put the program where all nodes see it"));
}

TEST(SlurmOptions, RefusesWhatSbatchWouldNotTake) {
  const auto tried = [](const std::string& key, const std::string& value) {
    SlurmOptions options;
    return refusal([&] { set_slurm_option(options, key, value); });
  };
  for (const char* time : {"90", "1:30", "1:30:00", "2-12", "2-12:30", "2-12:30:00"})
    EXPECT_EQ(tried("time", time), "");
  for (const char* time : {"", "soon", "1h", "-5", "1:2:3:4"})
    EXPECT_THAT(tried("time", time), HasSubstr("slurm.time must be a time limit such as")) << time;
  EXPECT_EQ(tried("memory", "800M"), "");
  EXPECT_EQ(tried("memory", "much"),
            "slurm.memory must be a number with a unit, such as \"800M\" or \"2G\", not \"much\"");
  EXPECT_EQ(tried("partition", "a b"), "slurm.partition must be a name without spaces, not \"a b\"");
  EXPECT_EQ(tried("options", "-p main"),
            "slurm.options: \"-p main\" is no option of sbatch; write it as in \"--constraint=epyc\"");
  EXPECT_EQ(tried("options", "--array=0-5"), "slurm.options: --array is set by the sweep itself; leave it out");
  EXPECT_EQ(tried("partitoin", "x"), "slurm has no key \"partitoin\"; did you mean \"partition\"?");
}

TEST(Command, KeepsWhatAProgramSaysOnBothSides) {
  const CommandOutcome outcome = call_command({"sh", "-c", "echo out; echo wrong >&2; echo more >&2; exit 3"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.complaint(), "wrong");
  EXPECT_EQ(call_command({"sh", "-c", "exit 5"}).complaint(), "exit code 5");
  EXPECT_EQ(call_command({"no_such_program"}).exit_code, 127);
  EXPECT_EQ(call_command({"sh", "-c", "kill -9 $$"}).exit_code, -1);
  // More than a pipe holds.
  EXPECT_EQ(call_command({"sh", "-c", "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2"}).err.size(), 300000u);
}

}  // namespace
}  // namespace terrace
