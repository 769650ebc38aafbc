// Runs jobs: as processes on this machine, or on a cluster. An executor starts jobs and reports which have ended; it knows
// nothing about sweeps, stores or results. A job is the command line
//   PROGRAM run --gpu CONFIG --json RESULT --threads N --quiet
// which writes RESULT completely or not at all. A new executor is a file in executors/ that ends with a RegisterExecutor.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/types.h"
#include "sweep/executors/slurm_options.h"

namespace terrace {

struct ExecutorOptions {
  std::string program;   // the binary that runs a job
  u32 jobs = 1;          // at most so many at once
  u64 memory_bytes = 0;  // for all of them together; 0: what the machine can spare
  u32 threads = 0;       // of each job; 0: chosen by their number
  SlurmOptions slurm = {};
};

struct Task {
  std::string id;
  std::string config_path, result_path;
  u64 memory_bytes = 0;  // about what it will need
  u32 threads = 1;
};

struct Ended {
  std::string id;
  int exit_code = 0;    // -1: it did not end by itself, and running it again may help
  std::string message;  // what it said on standard error
  double seconds = 0;
};

class Executor {
 public:
  virtual ~Executor() = default;  // ends whatever still runs, at once
  /// Whether one more may start now. One may always start when none runs.
  virtual bool has_room(const Task& task) const = 0;
  /// Called only when there is room.
  virtual void start(const Task& task) = 0;
  /// What ended since the last call. Waits until something ends or so many seconds have passed; an interrupt ends the
  /// wait.
  virtual std::vector<Ended> wait(double seconds) = 0;
  /// Those that were started and have not ended.
  virtual u32 running() const = 0;
  /// Of those, how many wait in a queue.
  virtual u32 waiting() const { return 0; }
  /// Asks everything to stop and waits until it has.
  virtual void stop() = 0;
};

struct ExecutorKind {
  std::unique_ptr<Executor> (*make)(const ExecutorOptions&);
  u32 (*default_jobs)();  // at once, unless the user says otherwise
  u32 (*cores)();         // that they share; 0: each job gets what it asks for
};
struct RegisterExecutor {
  RegisterExecutor(const char* name, ExecutorKind kind);
};
/// By name; an unknown one is an InputError that names those there are.
std::unique_ptr<Executor> make_executor(const std::string& name, const ExecutorOptions& options);
u32 default_jobs(const std::string& name);

/// Threads of each job, unless the user says how many: so many that all cores are used, which matters only if there are fewer
/// jobs than cores. A run on several threads does less for each core than several runs do.
u32 threads_for(const std::string& executor, u32 jobs_at_once, u64 jobs);

/// What a job said on standard error, as a sentence: without the program's name and the end of the line, and not longer
/// than anybody reads in a table.
std::string tidy_message(std::string text);

/// What the machine can spare for jobs: nine tenths of what is free now, within the limit of the process's group.
u64 spare_memory_bytes();

}  // namespace terrace
