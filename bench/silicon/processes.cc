// SPDX-License-Identifier: MIT
#include "processes.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <map>

#include "engine/check.h"

namespace terrace::silicon {
namespace {

[[noreturn]] void serve(const std::function<void(u64, std::FILE*)>& work, u64 piece, double seconds, std::FILE* lines) {
  alarm(static_cast<unsigned>(std::ceil(seconds)));  // ends a process that hangs in the driver
  int code = 0;
  try {
    work(piece, lines);
  } catch (const std::exception& error) {
    fmt::print(lines, "!{}\n", error.what());
    code = 2;
  }
  std::fflush(lines);
  std::fflush(stdout);
  _exit(code);
}

}  // namespace

void share_out(const std::vector<std::string>& pieces, const ProcessOptions& options, JsonFile& file,
               const std::function<void(u64, std::FILE*)>& work) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point began = Clock::now();
  struct Running {
    u64 piece;
    std::FILE* lines;
  };
  std::map<pid_t, Running> running;
  u64 next = 0;
  while (next < pieces.size() || !running.empty()) {
    if (next < pieces.size() && running.size() < options.at_once) {
      const u64 piece = next++;
      if (std::chrono::duration<double>(Clock::now() - began).count() >= options.seconds) {
        file.problem(pieces[piece], "there was no time for it; " + options.hint);
        continue;
      }
      std::FILE* const lines = std::tmpfile();
      if (!lines) input_error("no temporary file can be made; make room in /tmp");
      std::fflush(stdout);
      const pid_t id = fork();
      if (id < 0) input_error("no more processes can be made");
      if (id == 0) serve(work, piece, options.each, lines);
      running[id] = {piece, lines};
      continue;
    }
    int status = 0;
    const pid_t id = waitpid(-1, &status, 0);
    const auto ended = running.find(id);
    if (ended == running.end()) continue;
    const auto [piece, lines] = ended->second;
    running.erase(ended);
    std::rewind(lines);
    file.take_lines(pieces[piece], dup(fileno(lines)));
    std::fclose(lines);
    if (WIFSIGNALED(status))
      file.problem(pieces[piece], fmt::format("its process ended by signal {}", WTERMSIG(status)));
  }
}

}  // namespace terrace::silicon
