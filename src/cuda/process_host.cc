// SPDX-License-Identifier: MIT
#include "cuda/process_host.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "engine/check.h"
#include "engine/interrupt.h"

extern char** environ;

namespace terrace::cuda {
namespace {

/// The environment of the simulator, with its library in front and the socket.
std::vector<std::string> environment_of(const ProcessHost::Setup& setup) {
  std::vector<std::string> all;
  std::string path = setup.library_folder;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view entry = *each;
    if (entry.starts_with("LD_LIBRARY_PATH="))
      path.append(":").append(entry.substr(entry.find('=') + 1));
    else if (!entry.starts_with(kSocketVariable))
      all.emplace_back(entry);
  }
  all.push_back("LD_LIBRARY_PATH=" + path);
  all.push_back(fmt::format("{}={}", kSocketVariable, setup.socket));
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

ProcessHost::ProcessHost(Setup setup) : setup_(std::move(setup)), listening_(listen_at(setup_.socket)) {
  std::vector<std::string> words = setup_.command, environment = environment_of(setup_);
  const std::vector<char*> argv = pointers(words), envp = pointers(environment);
  int failure[2];
  SIM_CHECK(pipe2(failure, O_CLOEXEC) == 0, "no pipe: {}", std::strerror(errno));
  Descriptor told(failure[0]), tells(failure[1]);
  pid_ = fork();
  SIM_CHECK(pid_ >= 0, "no process: {}", std::strerror(errno));
  if (pid_ == 0) {
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    execvpe(argv[0], argv.data(), envp.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t ignored = write(failure[1], &error, sizeof error);
    _exit(127);
  }
  tells = Descriptor();
  int error = 0;
  if (::read(told.number(), &error, sizeof error) == sizeof error) {
    waitpid(pid_, nullptr, 0);
    ended_ = true;
    unlink(setup_.socket.c_str());
    input_error("cannot start {}: {}; give the program after --, as on a command line", setup_.command[0],
                std::strerror(error));
  }
  process_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  SIM_CHECK(process_, "cannot watch process {}: {}", pid_, std::strerror(errno));
}

ProcessHost::~ProcessHost() {
  reap(true);
  unlink(setup_.socket.c_str());
}

void ProcessHost::reap(bool kill_it) {
  if (ended_) return;
  if (kill_it) kill(pid_, SIGKILL);
  while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  ended_ = true;
}

std::unique_ptr<Connection> ProcessHost::next() {
  const auto since = std::chrono::steady_clock::now();
  while (!ended_) {
    pollfd waiting[2] = {{listening_.number(), POLLIN, 0}, {process_.number(), POLLIN, 0}};
    const int ready = poll(waiting, 2, 100);
    check_interrupt();
    if (ready > 0 && (waiting[0].revents & POLLIN) != 0) {
      if (Descriptor accepted = accept_own(listening_))
        return std::make_unique<Connection>(std::move(accepted), setup_.patience_s);
      continue;
    }
    if (ready > 0 && waiting[1].revents != 0) {
      reap(false);
      break;
    }
    const auto waited = std::chrono::steady_clock::now() - since;
    if (setup_.patience_s != 0 && waited > std::chrono::seconds(setup_.patience_s)) {
      hung_ = true;
      reap(true);
    }
  }
  return nullptr;
}

CheckResult ProcessHost::outcome() const {
  if (hung_) return {false, fmt::format("made no call for {} s and was ended", setup_.patience_s)};
  if (!ended_) return {false, "still runs"};
  if (WIFSIGNALED(status_)) return {false, fmt::format("ended by signal {}", WTERMSIG(status_))};
  const int code = WEXITSTATUS(status_);
  return {code == 0, fmt::format("exit code {}", code)};
}

}  // namespace terrace::cuda
