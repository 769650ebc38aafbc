// SPDX-License-Identifier: MIT
#include "frontend/device_code.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <vector>

#include "engine/check.h"
#include "engine/hash.h"
#include "text/plain_file.h"
#include "text/program_folder.h"
#include "text/tree.h"

extern char** environ;

namespace terrace {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

constexpr char kCompiler[] = "clang++-19";

/// A folder that goes away with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "terrace-XXXXXX").string();
    if (!mkdtemp(name.data())) input_error("cannot make a temporary folder: {}; set TMPDIR", std::strerror(errno));
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

/// Runs a command found on the PATH with its error output in a file; its exit status, or 127 when there is none such.
int run(std::vector<std::string> words, const std::string& errors) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) return 127;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

/// The first line of a compiler's output that says what is wrong.
std::string first_error(const std::string& errors) {
  std::istringstream lines(read_file(errors));
  std::string line, first;
  while (std::getline(lines, line)) {
    if (line.find("error:") != line.npos) return line;
    if (first.empty()) first = line;
  }
  return first;
}

/// The PTX without what depends on where its sources lie: their folders. The compiler repeats their names in comments.
std::string without_folders(const std::string& ptx) {
  constexpr std::string_view kFile = "\t.file\t", kLocation = "\t.loc\t";
  std::istringstream lines(ptx);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kLocation)) {
      line.erase(std::min(line.find("//"), line.size()));
      line.erase(line.find_last_not_of(" \t") + 1);
    } else if (const auto quote = line.find('"'); line.starts_with(kFile) && quote != line.npos) {
      const auto slash = line.rfind('/');
      if (slash != line.npos && slash > quote) line.erase(quote + 1, slash - quote);
    }
    result += line + "\n";
  }
  return result;
}

std::string compile(const std::string& source, const std::string& more_flags) {
  const TemporaryFolder folder;
  const std::string ptx = folder.file("module.ptx"), errors = folder.file("errors");
  std::vector<std::string> words{kCompiler};
  std::istringstream flags(TERRACE_DEVICE_FLAGS " " + more_flags);
  for (std::string flag; flags >> flag;) words.push_back(flag);
  // As nvcc does, it finds CUDA's names without an #include, and keeps the lines of the source for messages.
  const std::string include = workload_folder() + "/include", toolkit = include + "/terrace_device/toolkit";
  for (const std::string& word : {"-gline-tables-only"s, "-I" + include, "-I" + toolkit, "-include"s,
                                  toolkit + "/cuda_runtime.h", source, "-o"s, ptx})
    words.push_back(word);
  const int status = run(std::move(words), errors);
  if (status == 127) input_error("{}: compiling it needs {}; install clang-19, or give a .ptx file", source, kCompiler);
  if (status != 0) input_error("{} does not compile: {}", source, first_error(errors));
  return without_folders(read_file(ptx));
}

}  // namespace

u64 DeviceCode::hash() const {
  return hash64(text);
}

DeviceCode read_device_code(const std::string& path, const std::string& more_flags) {
  const std::string suffix = fs::path(path).extension().string();
  if (suffix != ".ptx" && suffix != ".cu") input_error("{}: device code is a .ptx or a .cu file", path);
  if (suffix == ".cu" && !fs::exists(path)) input_error("{}: there is no such file", path);
  require_plain_file(path);
  return {path, suffix == ".cu" ? compile(path, more_flags) : read_file(path)};
}

DeviceCode read_linked_code(const std::vector<std::string>& paths) {
  DeviceCode linked;
  for (const std::string& path : paths) {
    const DeviceCode part = read_device_code(path);
    linked.file.append(linked.file.empty() ? "" : ", ").append(part.file);
    linked.text.append(linked.text.empty() ? "" : "\n").append(part.text);
  }
  return linked;
}

std::string workload_folder() {
  const auto folder = program_folder();
  for (const char* candidate : {"workloads", "../share/terrace/workloads"}) {
    if (fs::is_directory(folder / candidate)) return (folder / candidate).lexically_normal().string();
  }
  input_error(
      "the workloads' device code is neither in {0}/workloads nor in {0}/../share/terrace/workloads; "
      "run terrace from its build folder or install it whole",
      folder.string());
}

DeviceCode read_workload_module(std::string_view module) {
  const std::string file = fmt::format("{}.ptx", module);
  return {file, read_file(workload_folder() + "/" + file)};
}

}  // namespace terrace
