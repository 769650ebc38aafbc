// Measurements on a real NVIDIA GPU (docs/silicon.md): two that papers made to motivate what they simulate, and
// microbenchmarks, which also run in Terrace.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "frontend/workload.h"
#include "micro_points.h"

namespace terrace::silicon {

/// CD-search's Figure 9: the time of each workload by the number of SMs that a sleeping shadow kernel leaves it. `folder` holds
/// the modules of the workloads; without names, the paper's fourteen run.
void measure_scaling(const std::string& folder, const std::string& out, const std::vector<std::string>& workloads);

/// MASK's Figure 1: processes that share a GPU in turn, against the same processes one after the other.
void measure_multiplexing(const std::string& folder, const std::string& out, unsigned most_processes);

/// All microbenchmarks, or those of some groups, in about so many seconds at most.
void measure_micro(const std::string& folder, const std::string& out, double budget,
                   const std::vector<std::string>& groups);

struct SimulatedOptions {
  std::string gpu;                // a machine's name or file
  std::vector<std::string> sets;  // KEY=VALUE
  PointOptions points;            // but for the number of SMs, which is the machine's
};
/// The same in Terrace; the file has the same form.
void simulate_micro(const std::string& folder, const std::string& out, const SimulatedOptions& options);
/// The same as files that `terrace run --tenant` takes.
void write_programs(const std::string& folder, const std::string& to, const PointOptions& options);

struct PairOptions {
  u64 budget = 240;                           // seconds
  u64 lead = 4'000'000, window = 12'000'000;  // nanoseconds: before a window, and its length
  std::vector<std::string> modes;             // streams, mps, mps-pinned, time-sliced; all when empty
};
/// Pairs of kernels that share the GPU, and each of them alone: pairs.json and alone.json in the folder `to`.
void measure_pairs(const std::string& folder, const std::string& to, const PairOptions& options);

struct PredictOptions {
  std::string gpu;
  std::vector<std::string> sets;
  u64 lead = 50'000, window = 200'000;  // cycles
  u64 part = 0, parts = 1;              // every so manieth run, from this one on
  bool alone = false;                   // no pairs
  std::string with;                     // this one alone, and pairs that it is part of; all when empty
  std::string split;                    // only this one, or all
  u32 side = 0;                         // of kernels alone: only this one, 1 or 2; 0: both
  std::vector<std::string> tenants;     // only these, alone and with each other; all when empty
};
/// The same in Terrace, each tenant on its own SMs; the files have the same form.
void predict_pairs(const std::string& folder, const std::string& to, const PredictOptions& options);

struct WorkloadOptions {
  InputSize size = InputSize::kSmall;
  u64 seconds = 90;                    // in all
  u64 jobs = 1;                        // processes at once
  std::vector<std::string> workloads;  // NAME[:key=value,...]; all when empty
  std::string gpu = {};                // simulated: a machine's name or file,
  std::vector<std::string> sets = {};  // KEY=VALUE,
  u64 each = 600;                      // and seconds for each
};
/// How long each kernel of each workload takes, with the inputs that Terrace simulates.
void measure_workloads(const std::string& folder, const std::string& out, const WorkloadOptions& options);
/// The same in Terrace; the file has the same form.
void simulate_workloads(const std::string& out, const WorkloadOptions& options);

/// The module with the kernels of silicon.cu.
std::string own_module(const std::string& folder);

}  // namespace terrace::silicon
