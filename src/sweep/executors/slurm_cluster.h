// What is asked of Slurm, through its own commands: sbatch, squeue, sacct, scancel and scontrol.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/types.h"
#include "sweep/executors/slurm_options.h"

namespace terrace {

/// The number of a job array, and of a task in it.
using SlurmTask = std::pair<u64, u32>;

class SlurmCluster {
 public:
  /// An InputError when there is no Slurm here, or when it does not answer.
  explicit SlurmCluster(SlurmOptions options);

  /// That an array may have.
  u32 most_tasks() const { return most_tasks_; }

  struct Submitted {
    u64 job = 0;          // 0: it was refused
    std::string refusal;  // as sbatch says it
  };
  /// `cores` for each task.
  Submitted submit(const std::string& script, const std::string& name, u32 tasks, u32 cores);

  /// kStuck: its node could not start it, and Slurm holds it back until somebody looks.
  enum class Phase : u8 { kWaiting, kRunning, kStuck, kEnded };
  struct State {
    Phase phase = Phase::kEnded;
    std::string word;  // as Slurm says it: TIMEOUT, NODE_FAIL, ...
  };
  /// Of all tasks of arrays of that name. Slurm forgets those that ended minutes ago. Nothing when it does not answer.
  std::optional<std::map<SlurmTask, State>> states(const std::string& name);
  /// How a task ended, from the accounting of a cluster that has one; else nothing.
  std::string accounted(SlurmTask task);

  void cancel(const std::vector<u64>& jobs);
  void cancel(SlurmTask task);

 private:
  SlurmOptions options_;
  u32 most_tasks_ = 1;
};

}  // namespace terrace
