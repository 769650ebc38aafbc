// SPDX-License-Identifier: MIT
#include "sweep/executors/slurm_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "engine/check.h"
#include "sweep/executors/command.h"

namespace terrace {

namespace {

/// Larger arrays make long scripts, and nothing faster.
constexpr u64 kMostTasks = 1000;

/// A line such as "MaxArraySize            = 1001": one more than the highest number of a task.
u32 most_tasks_in(const std::string& settings) {
  const std::string key = "MaxArraySize";
  const std::size_t at = settings.find(key), value = settings.find_first_of("0123456789", at + key.size());
  if (at == settings.npos || value == settings.npos) return kMostTasks;
  const u64 size = std::strtoull(settings.c_str() + value, nullptr, 10);
  if (size < 2) input_error("--executor slurm: this cluster allows no job arrays (MaxArraySize = {})", size);
  return static_cast<u32>(std::min(size, kMostTasks));
}

SlurmCluster::Phase phase_of(const std::string& word) {
  // What else there is goes on by itself, or soon has one of these names.
  for (const char* end : {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY",
                          "BOOT_FAIL", "DEADLINE", "REVOKED"})
    if (word == end) return SlurmCluster::Phase::kEnded;
  return word == "RUNNING" || word == "COMPLETING" ? SlurmCluster::Phase::kRunning : SlurmCluster::Phase::kWaiting;
}

}  // namespace

SlurmCluster::SlurmCluster(SlurmOptions options) : options_(std::move(options)) {
  const CommandOutcome settings = call_command({"scontrol", "show", "config"});
  if (settings.exit_code == 127)
    input_error("--executor slurm: there is no scontrol here; run the sweep where sbatch works, such as a login node");
  if (settings.exit_code != 0) input_error("--executor slurm: Slurm does not answer: {}", settings.complaint());
  most_tasks_ = most_tasks_in(settings.out);
}

SlurmCluster::Submitted SlurmCluster::submit(const std::string& script, const std::string& name, u32 tasks, u32 cores) {
  std::vector<std::string> words{"sbatch",
                                 "--parsable",
                                 "--job-name=" + name,
                                 "--output=/dev/null",
                                 "--ntasks=1",
                                 fmt::format("--cpus-per-task={}", cores),
                                 fmt::format("--array=0-{}", tasks - 1)};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.push_back(fmt::format("--{}={}", option, value));
  };
  add("partition", options_.partition);
  add("account", options_.account);
  add("qos", options_.qos);
  add("time", options_.time);
  add("mem", options_.memory);
  words.insert(words.end(), options_.options.begin(), options_.options.end());
  words.push_back(script);
  const CommandOutcome outcome = call_command(words);
  // "12" or "12;cluster"
  const u64 job = outcome.exit_code == 0 ? std::strtoull(outcome.out.c_str(), nullptr, 10) : 0;
  return {job, job == 0 ? outcome.complaint() : ""};
}

std::optional<std::map<SlurmTask, SlurmCluster::State>> SlurmCluster::states(const std::string& name) {
  const CommandOutcome outcome =
      call_command({"squeue", "--noheader", "--array", "--states=all", "--name=" + name, "--format=%F %K %T %r"});
  if (outcome.exit_code != 0) return std::nullopt;
  std::map<SlurmTask, State> states;
  std::istringstream lines(outcome.out);
  std::string word, reason;
  u64 job = 0;
  u32 task = 0;
  while (lines >> job >> task >> word && std::getline(lines, reason)) {
    const bool stuck = word == "PENDING" && reason.ends_with("launch failed requeued held");
    states[{job, task}] = {stuck ? Phase::kStuck : phase_of(word), word};
  }
  return states;
}

std::string SlurmCluster::accounted(SlurmTask task) {
  const CommandOutcome outcome = call_command({"sacct", "--noheader", "--parsable2", "--allocations", "--format=State",
                                               fmt::format("--jobs={}_{}", task.first, task.second)});
  // "CANCELLED by 1000"
  return outcome.exit_code == 0 ? outcome.out.substr(0, outcome.out.find_first_of(" \n")) : "";
}

void SlurmCluster::cancel(SlurmTask task) {
  call_command({"scancel", "--quiet", fmt::format("{}_{}", task.first, task.second)});
}

void SlurmCluster::cancel(const std::vector<u64>& jobs) {
  std::vector<std::string> words{"scancel", "--quiet"};
  for (const u64 job : jobs) words.push_back(fmt::format("{}", job));
  if (!jobs.empty()) call_command(words);
}

}  // namespace terrace
