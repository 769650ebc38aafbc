// One simulation, from its configuration to its result: loads the tenants' programs, builds the GPU, runs it and
// describes the result.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/scheduler.h"
#include "gpu/config.h"
#include "run/checkpoint.h"
#include "text/tree.h"

namespace terrace {

class Gpu;
class GuestMemory;
class InstStream;
class Program;
class Visitors;
struct TenantProgress;

/// A tenant that whoever asks for the run brings along and keeps, such as a process (src/cuda).
struct GivenTenant {
  std::string name;
  Program* program = nullptr;
  GuestMemory* memory = nullptr;
  InstStream* stream = nullptr;
  std::function<u64()> code_hash;  // asked after the run
  Visitors* visitors = nullptr;    // it comes and goes as these say
};

struct RunRequest {
  GpuConfig config;
  std::vector<GivenTenant> given;  // instead of those of run.tenants
  bool check = false;              // also check every tenant's results
  std::vector<std::string> saves;  // [TENANT:]BUFFER=FILE: what to write when a tenant first completes
  /// Called now and then with the fraction done (negative when it is unknown), cycles and warp instructions. It may
  /// throw to end the run.
  std::function<void(double, Cycle, u64)> progress;
  /// Asked as often: whether to end the run here, with the result so far.
  std::function<bool()> stop;
  /// Called when a tenant that comes and goes has gone, with what it has done in all its visits.
  std::function<void(u32, const TenantProgress&)> on_departure;
  /// Called for each tenant when the run has ended, before the result is described.
  std::function<void(u32, const TenantProgress&)> on_end;
  /// Called as often, for those who want to see more of the machine.
  std::function<void(const Gpu&)> watch;
  Scheduler::Options options;
  /// Gets what kernels print, when their launches end; without it the text is lost.
  std::function<void(std::string_view)> print;
  std::string log;                       // UNIT@FROM:TO, or empty
  bool timeline = false;                 // statistics at the end of each epoch (run.epoch):
  std::vector<std::string> timeline_of;  // those whose names begin so; all when empty
  u64 timeline_events = 0;               // trace events to keep, at most; 0: none
  std::vector<CheckpointWish> checkpoints;
  Tree asked = {};                     // kept in them, for whoever asks
  std::shared_ptr<Checkpoint> resume;  // where the run goes on; null: it begins
};

struct RunResult {
  Tree json;             // schema terrace.run/1
  std::string text;      // the same for a person: a table and a few lines
  std::string log;       // the events asked for
  std::string timeline;  // as CSV
  std::string events;    // trace events, as JSON (schema terrace.timeline/1)
  bool checks_passed = true;
  std::vector<std::string> faults;   // a sentence for each tenant that a fault ended
  bool all_faulted = false;          // it ended every one of them
  std::vector<std::string> unsaved;  // a sentence for each checkpoint that was not written
};

/// Anything wrong with the request is an InputError, before anything runs.
RunResult simulate(const RunRequest& request);

}  // namespace terrace
