// SPDX-License-Identifier: MIT
#include "sweep/executors/command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "engine/check.h"

namespace terrace {

namespace {

/// Reads what is there; false when the other side is closed.
bool drain(int file, std::string& into) {
  char block[4096];
  const ssize_t got = read(file, block, sizeof block);
  if (got > 0) into.append(block, static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

void read_both(int out, int err, CommandOutcome& outcome) {
  pollfd watched[] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
  std::string* into[] = {&outcome.out, &outcome.err};
  while (watched[0].fd >= 0 || watched[1].fd >= 0) {
    if (poll(watched, 2, -1) < 0 && errno != EINTR) break;
    for (int i = 0; i < 2; ++i)
      if (watched[i].fd >= 0 && watched[i].revents != 0 && !drain(watched[i].fd, *into[i])) watched[i].fd = -1;
  }
}

}  // namespace

std::string CommandOutcome::complaint() const {
  const std::size_t from = err.find_first_not_of(" \n");
  if (from == err.npos) return fmt::format("exit code {}", exit_code);
  return err.substr(from, err.find('\n', from) - from);
}

CommandOutcome call_command(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0) input_error("{} cannot be started: {}", words[0], std::strerror(errno));
  const pid_t pid = pipe2(err, O_CLOEXEC) == 0 ? fork() : -1;
  if (pid < 0) input_error("{} cannot be started: {}", words[0], std::strerror(errno));
  if (pid == 0) {
    setpgid(0, 0);
    const int nowhere = open("/dev/null", O_RDONLY);
    dup2(nowhere, STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  CommandOutcome outcome;
  read_both(out[0], err[0], outcome);
  close(out[0]);
  close(err[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

}  // namespace terrace
