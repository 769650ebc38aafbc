// From a sweep file to jobs. A plan depends on the file and on the results so far: an oracle search chooses its next runs
// when the previous ones are done, and points that need its outcome wait for it. So an interrupted sweep continues by
// planning again.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "run/job_identity.h"
#include "store/point.h"
#include "sweep/oracle_search.h"
#include "sweep/sweep_file.h"

namespace terrace {

struct Plan {
  std::vector<Job> jobs;  // each once, alone runs among them
  std::vector<Point> points;
  std::vector<SearchOutcome> searches;  // those that are finished
  bool complete = true;                 // false: more jobs follow when these are done
  std::vector<std::string> notes;       // for the user
};

/// A point's metric as far as it is known.
using MetricLookup = std::function<SplitScore(const Point&, const std::string& metric)>;

class Planner {
 public:
  Planner(const SweepFile& file, const ConfigSource& configs) : file_(file), configs_(configs) {}

  /// Mistakes that show only now (unknown machines, impossible combinations) go to `mistakes`; then the plan is void.
  Plan plan(const MetricLookup& lookup, Mistakes& mistakes);

 private:
  struct Choice;  // one value of each axis of a grid
  void plan_grid(const Grid& grid);
  bool check_parts(const Grid& grid);
  void for_each_choice(const Grid& grid, const std::function<void(const Choice&)>& act);
  void plan_choice(const Choice& choice);
  void search(const Choice& choice);
  const std::vector<u64>* found_split(const Choice& choice, const Shares& shares);
  Point add_point(const Choice& choice, const Shares& shares);
  std::string add_job(GpuConfig config);
  const GpuConfig& base_config(const std::string& gpu, const std::vector<std::string>& designs, const Choice& choice,
                               bool machine_only);

  const SweepFile& file_;
  const ConfigSource& configs_;
  ProgramCatalogue programs_;
  std::map<std::string, GpuConfig> bases_;
  // Of the plan in the making.
  Plan* plan_ = nullptr;
  Mistakes* mistakes_ = nullptr;
  const MetricLookup* lookup_ = nullptr;
  std::map<std::string, std::vector<u64>> splits_;  // found, by search, machine, mix, size and seed
  std::map<std::string, bool> planned_;             // jobs, by id
};

}  // namespace terrace
