// SPDX-License-Identifier: MIT
#include "sweep/executor.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "engine/check.h"
#include "text/suggest.h"

namespace terrace {

namespace {

std::map<std::string, ExecutorKind>& executors() {
  static std::map<std::string, ExecutorKind> all;
  return all;
}

const ExecutorKind& kind_of(const std::string& name) {
  if (const auto found = executors().find(name); found != executors().end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [its_name, kind] : executors()) known.push_back(its_name);
  input_error("--executor: no executor named \"{}\"; available: {}{}", name, fmt::join(known, ", "),
              did_you_mean(name, known));
}

// More threads than this gain little on the machines of the papers (docs/speed.md).
constexpr u32 kMostChosenThreads = 8;

/// The first whole number in a file; `otherwise` when there is none ("max" is none).
u64 number_in(const char* path, u64 otherwise) {
  std::ifstream in(path);
  u64 number = 0;
  return in >> number ? number : otherwise;
}

}  // namespace

RegisterExecutor::RegisterExecutor(const char* name, ExecutorKind kind) {
  executors().emplace(name, kind);
}

std::unique_ptr<Executor> make_executor(const std::string& name, const ExecutorOptions& options) {
  return kind_of(name).make(options);
}

u32 default_jobs(const std::string& name) {
  return kind_of(name).default_jobs();
}

u32 threads_for(const std::string& executor, u32 jobs_at_once, u64 jobs) {
  const u32 cores = kind_of(executor).cores();
  const u64 at_once = std::max<u64>(1, std::min<u64>(jobs_at_once, jobs));
  return std::clamp<u32>(static_cast<u32>(cores / at_once), 1, kMostChosenThreads);
}

std::string tidy_message(std::string text) {
  constexpr std::size_t kMost = 16 * 1024;  // reports of deadlocks are long
  if (text.size() > kMost) text.resize(kMost);
  while (text.ends_with('\n')) text.pop_back();
  if (text.starts_with("terrace: ")) text.erase(0, 9);
  return text;
}

u64 spare_memory_bytes() {
  u64 available = ~u64{0};
  std::ifstream in("/proc/meminfo");
  std::string key, unit;
  for (u64 kilobytes = 0; in >> key >> kilobytes >> unit;)
    if (key == "MemAvailable:") available = kilobytes * 1024;
  const u64 limit = number_in("/sys/fs/cgroup/memory.max", ~u64{0});
  const u64 used = number_in("/sys/fs/cgroup/memory.current", 0);
  if (limit != ~u64{0}) available = std::min(available, limit - std::min(limit, used));
  return available / 10 * 9;
}

}  // namespace terrace
