// The store of results: one SQLite file that many processes may use at once. A job's result is written in one
// transaction, which is on disk when the call returns. docs/sweeps.md explains the tables to users.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/job.h"
#include "store/database.h"
#include "store/point.h"
#include "text/tree.h"

namespace terrace {

struct JobState {
  bool done = false;  // else failed
  int exit_code = 0;
  std::string message;
};

/// What an earlier job cost, for estimates.
struct Effort {
  std::string machine, tenants, size;
  double seconds = 0;
  u64 peak_rss_bytes = 0;
};

class Store {
 public:
  /// Opens it for writing; creates it if it does not exist, and upgrades it to the newest schema. If anything is wrong
  /// with it, an InputError is thrown and nothing is changed.
  explicit Store(const std::string& path);
  /// To read.
  static Store existing(const std::string& path);

  const std::string& path() const { return database_->path(); }

  std::map<std::string, JobState> states();
  std::vector<Effort> efforts();

  /// `result` is what terrace run wrote. An InputError when it is not that.
  void put_result(const Job& job, const Tree& result, double process_seconds);
  void put_failure(const Job& job, int exit_code, const std::string& message);

  /// In place of what an earlier sweep of this name left.
  void put_sweep(const std::string& name, const std::string& file, const std::vector<Point>& points);
  /// Metrics of every point whose jobs are done, and the searches' outcomes.
  void finish_sweep(const std::string& name, const std::vector<SearchOutcome>& searches, bool complete);

  /// Thread instructions per cycle of each tenant of a job that is done.
  std::optional<std::vector<double>> tenant_ipcs(const std::string& job);

  std::vector<std::string> sweeps();
  std::string sweep_file(const std::string& sweep);
  std::vector<Point> points(const std::string& sweep);

  /// For exports and expressions.
  Database& database() { return *database_; }

 private:
  Store() = default;
  void forget(const Job& job);
  u64 put_job(const Job& job, const JobState& state, const Tree* result);
  void put_tenants(u64 number, const Tree& result);
  void put_stats(u64 number, const Tree& result);
  void put_over_time(u64 number, const Tree& result);
  u64 stat_number(const std::string& name, const std::string& unit);

  std::unique_ptr<Database> database_;
  std::map<std::string, u64> stat_numbers_;
};

/// Throws an InputError if it is not a result of terrace run, if the device code is not the one the job was planned
/// with, or if a fault ended every tenant.
void check_result(const Job& job, const Tree& result);

/// The relative metrics of a point, from the rates of its tenants; none while a job is missing.
std::map<std::string, double> point_metrics(Store& store, const Point& point);

}  // namespace terrace
