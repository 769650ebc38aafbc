// Jobs as processes on this machine. They die with us, whatever ends us; Ctrl-C on a terminal reaches only us, and we
// stop them. When they outgrow the memory set aside, the youngest is ended and has to wait until the others are done;
// one that is too large even by itself fails, with a sentence.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <list>

#include "engine/check.h"
#include "engine/interrupt.h"
#include "sweep/executor.h"

namespace terrace {

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

/// Often enough that a job cannot take much more before it is seen, seldom enough to cost nothing.
constexpr double kMemoryLookSeconds = 0.2;
/// A worker that was asked to stop looks between cycles; after this it is not asked any more.
constexpr double kStopSeconds = 2.0;
/// More than this is not read: what follows is left out of the message anyway.
constexpr std::size_t kMessageBytes = 64 * 1024;

struct Worker {
  Task task;
  pid_t pid = -1;
  int errors = -1;  // its standard error: closed when it ends
  Clock::time_point started;
  std::string message;
  bool outgrown = false;
};

u64 resident_bytes(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/statm");
  u64 total = 0, resident = 0;
  in >> total >> resident;
  return resident * static_cast<u64>(sysconf(_SC_PAGESIZE));
}

class LocalExecutor final : public Executor {
 public:
  explicit LocalExecutor(const ExecutorOptions& options)
      : options_(options), memory_(options.memory_bytes == 0 ? spare_memory_bytes() : options.memory_bytes) {}

  ~LocalExecutor() override {
    for (Worker& worker : workers_) {
      kill(worker.pid, SIGKILL);
      reap(worker);
    }
  }

  bool has_room(const Task& task) const override {
    if (workers_.empty()) return true;
    if (workers_.size() >= options_.jobs) return false;
    u64 needed = task.memory_bytes;
    for (const Worker& worker : workers_) needed += std::max(worker.task.memory_bytes, resident_bytes(worker.pid));
    return needed <= memory_;
  }

  void start(const Task& task) override {
    int ends[2], launched[2];
    if (pipe2(ends, O_CLOEXEC) != 0) input_error("a job cannot be started: {}", std::strerror(errno));
    if (pipe2(launched, O_CLOEXEC) != 0) give_up({ends[0], ends[1]});
    // Made before the fork: a child may not allocate.
    const std::string threads = std::to_string(task.threads);
    const char* words[] = {
        "terrace",       "run",     "--gpu", task.config_path.c_str(), "--json", task.result_path.c_str(), "--threads",
        threads.c_str(), "--quiet", nullptr};
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) give_up({ends[0], ends[1], launched[0], launched[1]});
    if (pid == 0) become_worker(words, ends[1], parent);
    close(ends[1]);
    close(launched[1]);
    // Until it runs its own program its memory is ours, and would count as its own.
    wait_for_end_of(launched[0]);
    close(launched[0]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    workers_.push_back({task, pid, ends[0], Clock::now(), "", false});
  }

  std::vector<Ended> wait(double seconds) override {
    const Clock::time_point from = Clock::now();
    std::vector<Ended> ended;
    while (ended.empty() && !workers_.empty() && !interrupted()) {
      const double left = seconds - seconds_since(from);
      if (left <= 0) break;
      poll_for(std::min(left, kMemoryLookSeconds));
      collect(ended);
      watch_memory();
    }
    return ended;
  }

  u32 running() const override { return static_cast<u32>(workers_.size()); }

  void stop() override {
    for (const Worker& worker : workers_) kill(worker.pid, SIGTERM);
    const Clock::time_point from = Clock::now();
    std::vector<Ended> ended;
    while (!workers_.empty() && seconds_since(from) < kStopSeconds) {
      poll_for(0.05);
      collect(ended);
    }
    for (Worker& worker : workers_) {
      kill(worker.pid, SIGKILL);
      reap(worker);
    }
    workers_.clear();
  }

 private:
  [[noreturn]] static void give_up(std::initializer_list<int> files) {
    const int error = errno;
    for (const int file : files) close(file);
    input_error("a job cannot be started: {}", std::strerror(error));
  }

  static void wait_for_end_of(int file) {
    char none;
    while (read(file, &none, 1) < 0 && errno == EINTR) {
    }
  }

  [[noreturn]] void become_worker(const char* const* words, int errors, pid_t parent) const {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // it died before we asked
    const int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    execv(options_.program.c_str(), const_cast<char* const*>(words));
    _exit(127);
  }

  void poll_for(double seconds) {
    std::vector<pollfd> watched;
    for (const Worker& worker : workers_) watched.push_back({worker.errors, POLLIN, 0});
    poll(watched.data(), watched.size(), static_cast<int>(seconds * 1000) + 1);
  }

  /// True when the worker has closed its standard error: it has ended, or is about to.
  static bool drain(Worker& worker) {
    char block[4096];
    while (true) {
      const ssize_t got = read(worker.errors, block, sizeof block);
      if (got > 0 && worker.message.size() < kMessageBytes) worker.message.append(block, static_cast<std::size_t>(got));
      if (got == 0) return true;
      if (got < 0 && errno != EINTR) return false;
    }
  }

  static int reap(Worker& worker) {
    int status = 0;
    while (waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
    }
    close(worker.errors);
    return status;
  }

  void collect(std::vector<Ended>& ended) {
    for (auto worker = workers_.begin(); worker != workers_.end();) {
      if (!drain(*worker)) {
        ++worker;
        continue;
      }
      const int status = reap(*worker);
      ended.push_back(end_of(*worker, status));
      worker = workers_.erase(worker);
    }
  }

  Ended end_of(const Worker& worker, int status) const {
    Ended end{worker.task.id, -1, tidy_message(worker.message), seconds_since(worker.started)};
    if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
    if (worker.outgrown && !WIFEXITED(status))
      end.message = fmt::format(
          "needs more than the {} MB of memory that jobs may use; use a smaller size, or give more "
          "with --memory",
          memory_ >> 20);
    else if (!WIFEXITED(status))
      end.message = fmt::format("was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return end;
  }

  void watch_memory() {
    if (seconds_since(looked_) < kMemoryLookSeconds) return;
    looked_ = Clock::now();
    u64 used = 0;
    for (const Worker& worker : workers_) used += resident_bytes(worker.pid);
    if (used <= memory_ || workers_.empty()) return;
    // The youngest has least to lose.
    workers_.back().outgrown = true;
    kill(workers_.back().pid, SIGKILL);
  }

  ExecutorOptions options_;
  u64 memory_;
  std::list<Worker> workers_;  // in the order of their start
  Clock::time_point looked_ = Clock::now();
};

/// The cores that this process may use.
u32 cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<u32>(CPU_COUNT(&set));
}

const RegisterExecutor kLocal("local", {[](const ExecutorOptions& options) -> std::unique_ptr<Executor> {
                                          return std::make_unique<LocalExecutor>(options);
                                        },
                                        cores, cores});

}  // namespace

}  // namespace terrace
