// Runs a sweep: plans, runs what the store does not have, stores each result as it comes, plans again until nothing is
// missing. Ending it at any moment, in any way, loses nothing that is finished; the same command goes on.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/store.h"
#include "sweep/executor.h"
#include "sweep/sweep_file.h"
#include "sweep/sweep_plan.h"

namespace terrace {

struct SweepProgress {
  u64 done = 0, running = 0, failed = 0, total = 0;
  u64 waiting = 0;      // of those running: in a queue of the executor's
  double fraction = 0;  // of the time that all are expected to take
};

struct SweepOptions {
  std::string store = "results.db";
  std::string executor = "local";
  std::string size;  // in place of the file's sizes, when not empty
  ExecutorOptions workers;
  bool retry = false;                                  // also run again what failed by itself
  std::function<void(const SweepProgress&)> progress;  // it may throw Interrupted to end the sweep
  std::function<bool()> may_start;                     // whether one more job may start now; none: always
  std::function<void(const std::string&)> note;        // a sentence for the user, before jobs start
};

struct SweepSummary {
  u64 jobs = 0, ran = 0, stored_before = 0;
  double job_seconds = 0;  // of all processes that ran
  double own_seconds = 0;  // of processor time, in this process
  std::vector<std::pair<Job, JobState>> failed;
  std::vector<SearchOutcome> searches;
};

/// A sweep file, read, checked and planned: the constructor reports every mistake in it.
class Sweep {
 public:
  /// `size`, `seeds` and `stats_every` stand in place of the file's, when not empty and not 0.
  Sweep(const std::string& path, const std::string& size, const ConfigSource& configs, u64 seeds = 0,
        std::optional<u64> stats_every = std::nullopt);
  const SweepFile& file() const { return file_; }
  Plan plan(const MetricLookup& lookup);

 private:
  Sweep(const std::string& path, const std::string& size, const ConfigSource& configs, u64 seeds,
        std::optional<u64> stats_every, Mistakes mistakes);
  SweepFile file_;
  ConfigSource configs_;
  Planner planner_;
};

/// Throws Interrupted when the user stops it; finished jobs are stored then, too.
SweepSummary run_sweep(Sweep& sweep, const SweepOptions& options);

/// What --dry-run prints: the jobs, which of them the store has, and how long the others may take. The store may be
/// missing; it is not made.
std::string dry_run_text(Sweep& sweep, const SweepOptions& options);

/// How long jobs take, from jobs like them in a store, or else from the size alone.
class Estimator {
 public:
  explicit Estimator(std::vector<Effort> efforts) : efforts_(std::move(efforts)) {}
  struct Guess {
    double seconds;
    bool measured;  // from a job with the same tenants and size
  };
  Guess seconds(const Job& job) const;

 private:
  std::vector<Effort> efforts_;
};

}  // namespace terrace
