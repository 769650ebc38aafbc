// A point is where a sweep asks for a job (run/job.h): the same job may be asked for at several points and by several
// sweeps, and is run once.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/types.h"

namespace terrace {

/// What distinguishes points: gpu, design, mix, list, size, seed, sms, until, grid, and each key of set and tune.
using Labels = std::map<std::string, std::string>;

struct Point {
  std::string grid;
  Labels labels;
  std::string job;
  std::vector<std::string> alone;  // a job for each tenant; none when relative metrics are not wanted
  std::string reference;           // what they are, in words
};

/// The outcome of an oracle search for one mix.
struct SearchOutcome {
  std::string grid;
  Labels labels;
  std::string metric;
  std::string sms;  // the best shares: "10,14"
  double value = 0;
  u64 tried = 0;  // splits
};

}  // namespace terrace
