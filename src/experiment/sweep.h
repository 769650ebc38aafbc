// The words of a sweep. A job is one simulation, known by a hash of everything its result depends on. A point is where
// a sweep asks for a job: the same job may be asked for at several points and by several sweeps, and is run once.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/types.h"

namespace terrace {

struct Job {
  std::string id;      // of configuration, code and device code (job_identity.h)
  std::string config;  // resolved, as TOML
  std::string machine, tenants, size, sms;
  u64 seed = 0;
  std::vector<std::string> ptx;  // hash of each tenant's device code
  u64 memory_bytes = 0;          // about what it will need

  std::string title() const {
    return machine + " " + tenants + " " + size + (sms.empty() ? "" : " on " + sms + " SMs");
  }
};

/// What tells points apart: gpu, design, mix, list, size, seed, sms, until, grid, and each key of a set or tune table.
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
