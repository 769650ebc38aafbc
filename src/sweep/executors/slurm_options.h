// What Slurm is asked for with each job array: the table [slurm] of a sweep file, and --slurm-option.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace terrace {

/// How often the executor does what, in seconds.
struct SlurmPace {
  double look = 0.5;      // reads the folder of the tasks, which is cheap
  double ask = 3;         // calls squeue, which holds up everybody who asks the cluster something
  double gather = 3;      // collects tasks that come one by one, so that they become one array
  double grace = 5;       // from the end of a task until every machine sees what it wrote
  double patience = 300;  // a controller that restarts answers again by then
  double stop = 45;  // tasks that were cancelled are gone: Slurm's KillWait is 30 unless the cluster says otherwise
};

struct SlurmOptions {
  std::string partition, account, qos, time, memory;  // as sbatch takes them; empty: the cluster's own choice
  std::vector<std::string> options;                   // further options of sbatch, such as --constraint=epyc
  std::vector<std::string> setup;                     // lines of shell that a task runs first
  SlurmPace pace = {};                                // no key: tests have less time
};

/// The keys there are, for those who misspell one.
std::vector<std::string> slurm_option_names();
/// Sets one key; options and setup grow by one line. An unknown key or a bad value is an InputError.
void set_slurm_option(SlurmOptions& options, const std::string& key, const std::string& value);

}  // namespace terrace
