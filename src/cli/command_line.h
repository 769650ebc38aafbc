// What the user typed, as a struct.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/loader.h"
#include "run/exec.h"

namespace terrace {

/// Options that choose a configuration; several sub-commands take them.
struct ConfigOptions {
  std::string gpu;
  std::vector<std::string> designs;
  std::vector<std::string> sets;
  std::string seed, until, warmup, stats_every;  // short for run.seed and so on
};

struct RunOptions {
  std::vector<std::string> tenants;
  std::string size, sms;
  bool alone = false, check = false;
  std::string threads;  // that simulate one run
  std::string json, timeline, timeline_events, log;
  std::vector<std::string> timeline_of, saves;
  std::vector<std::string> checkpoints;  // FILE@CYCLE or FILE@every:CYCLES
  std::string resume;
};

/// A page to watch and steer what runs.
struct LiveOptions {
  std::string address;
  bool open = false;  // to others than this machine
};

struct CudaOptions {
  std::string host_timeout, socket, clients, tenants, idle;
};

struct StoreOptions {
  std::string store = "results.db";
  std::string out;     // where a report goes
  bool stats = false;  // those of however many jobs
  std::string executor = "local", jobs, threads, memory, size, seeds, stats_every;
  std::vector<std::string> slurm;  // KEY=VALUE, over the sweep file's own
  bool dry_run = false, retry_failed = false;
};

struct CommandLine {
  std::string command;  // "run", "list", ...; empty when `print` is all there is to do
  std::string print;    // --help and --version
  ConfigOptions config;
  RunOptions run;
  ExecOptions exec;
  StoreOptions sweep;
  LiveOptions live;
  CudaOptions cuda;
  std::vector<std::vector<std::string>> programs;  // of `cuda`: a command line for each --
  std::vector<std::string> operands;               // KEY, WHAT, FILE.toml, A.json B.json, PAPER
  std::string list_of;                             // of `list claims`: a paper; of `list kernels`: a file
  bool markdown = false, quiet = false;
  std::string new_folder;  // of `new`: where it writes, instead of a folder of the name
};

/// A mistake is an InputError with a suggestion where a flag or sub-command is misspelt.
CommandLine parse_command_line(int argc, const char* const* argv);

/// The files and options in the order in which they apply.
Layers layers_of(const ConfigOptions& options);
/// The same for `run`: tenants, size and SMs are keys of the configuration too.
Layers layers_of(const CommandLine& line);

}  // namespace terrace
