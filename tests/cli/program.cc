// SPDX-License-Identifier: MIT
#include "support/program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace terrace {

namespace {

std::string temporary_file() {
  std::string name = "/tmp/terrace_out_XXXXXX";
  close(mkstemp(name.data()));
  return name;
}

std::string take(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  unlink(path.c_str());
  return text.str();
}

void redirect(int descriptor, const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_TRUNC);
  if (file < 0 || dup2(file, descriptor) < 0) _exit(126);
  close(file);
}

}  // namespace

Child::Child(const std::string& program, const std::vector<std::string>& arguments, const std::string& folder,
             const std::string& stdout_file)
    : out_file_(temporary_file()), err_file_(temporary_file()) {
  std::vector<char*> words{const_cast<char*>("terrace")};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  pid_ = fork();
  if (pid_ != 0) return;
  redirect(STDOUT_FILENO, stdout_file.empty() ? out_file_ : stdout_file);
  redirect(STDERR_FILENO, err_file_);
  if (chdir(folder.c_str()) == 0) execv(program.c_str(), words.data());
  _exit(127);
}

Child::~Child() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  unlink(out_file_.c_str());
  unlink(err_file_.c_str());
}

void Child::signal(int number) {
  kill(pid_, number);
}

Outcome Child::wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), take(out_file_), take(err_file_)};
}

Outcome run_terrace(const std::vector<std::string>& arguments, const std::string& folder) {
  return Child(terrace_program(), arguments, folder).wait();
}

}  // namespace terrace
