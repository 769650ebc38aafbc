// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "engine/check.h"
#include "engine/interrupt.h"
#include "support/scratch.h"
#include "text/output.h"
#include "text/tree.h"

namespace terrace {
namespace {

std::string refused(const std::string& path) {
  try {
    OutputFile file(path);
    file.write("x");
    file.commit();
  } catch (const InputError& error) {
    return error.what();
  }
  return "written";
}

TEST(OutputFile, AppearsWholeWhenItIsCommitted) {
  const Scratch scratch;
  const std::string path = scratch.write("a.json", "old");
  OutputFile file(path);
  file.write("new ");
  EXPECT_EQ(read_file(path), "old");
  file.write("text");
  file.commit();
  EXPECT_EQ(read_file(path), "new text");
  EXPECT_EQ(scratch.files(), 1u);
}

TEST(OutputFile, LeavesNothingWhenItIsNot) {
  const Scratch scratch;
  {
    OutputFile(scratch.path().string() + "/a.json").write("half");
  }
  EXPECT_EQ(scratch.files(), 0u);
}

TEST(OutputFile, WhatCannotBeWrittenIsRefusedInOneSentence) {
  const Scratch scratch;
  const std::string folder = scratch.path().string();
  EXPECT_EQ(refused(folder), folder + ": cannot be written: Is a directory");
  EXPECT_EQ(refused(folder + "/no/a.json"), folder + "/no/a.json: cannot be written: No such file or directory");
  EXPECT_EQ(refused(""), "\"\": cannot be written: No such file or directory");
  EXPECT_EQ(refused("/dev/full"), "/dev/full: cannot be written: No space left on device");
  EXPECT_EQ(refused("/dev/null"), "written");
  EXPECT_EQ(scratch.files(), 0u);
}

/// A long command in a child process: works until it is told to stop. Returns the exit code; `signals` are sent a while
/// apart once the file is open.
int interrupted_with(const std::string& path, int signals, bool listens) {
  int ready[2];
  if (pipe(ready) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    catch_interrupts();
    close(STDERR_FILENO);
    _exit(exit_code_of([&] {
      OutputFile file(path);
      file.write("half a result");
      if (write(ready[1], "x", 1) != 1) return 1;
      for (;;) {
        usleep(1000);
        if (listens) check_interrupt();
      }
      return 0;
    }));
  }
  char go = 0;
  EXPECT_EQ(read(ready[0], &go, 1), 1);
  for (int i = 0; i < signals; ++i) {
    kill(child, SIGINT);
    usleep(50'000);
  }
  int status = 0;
  waitpid(child, &status, 0);
  close(ready[0]);
  close(ready[1]);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Interrupt, EndsALongCommandWithItsExitCodeAndNoHalfWrittenFile) {
  const Scratch scratch;
  EXPECT_EQ(interrupted_with(scratch.path().string() + "/a.json", 1, true), 130);
  EXPECT_EQ(scratch.files(), 0u);
}

TEST(Interrupt, ASecondOneEndsACommandThatDoesNotListen) {
  const Scratch scratch;
  EXPECT_EQ(interrupted_with(scratch.path().string() + "/a.json", 2, false), 130);
  EXPECT_EQ(scratch.files(), 0u);
}

TEST(ExitCode, FollowsTheKindOfFailure) {
  EXPECT_EQ(exit_code_of([] { return 1; }), 1);
  EXPECT_EQ(exit_code_of([]() -> int { throw InputError("x"); }), 2);
  EXPECT_EQ(exit_code_of([]() -> int { throw ModelError("x"); }), 3);
  EXPECT_EQ(exit_code_of([]() -> int { throw Deadlock("x"); }), 4);
  EXPECT_EQ(exit_code_of([]() -> int { throw Interrupted(); }), 130);
}

}  // namespace
}  // namespace terrace
