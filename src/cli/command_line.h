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
  std::string seed, until, warmup;  // short for run.seed, run.until and run.warmup
};

struct RunOptions {
  std::vector<std::string> tenants;
  std::string size, sms;
  bool alone = false, check = false, quiet = false;
  std::string json, timeline, log;
  std::vector<std::string> timeline_of;
};

struct StoreOptions {
  std::string store = "results.db";
  std::string out;     // where a report goes
  bool stats = false;  // those of however many jobs
  std::string executor = "local", jobs, memory, size, seeds;
  bool dry_run = false, retry_failed = false, quiet = false;
};

struct CommandLine {
  std::string command;  // "run", "list", ...; empty when `print` is all there is to do
  std::string print;    // --help and --version
  ConfigOptions config;
  RunOptions run;
  ExecOptions exec;
  StoreOptions sweep;
  std::vector<std::string> operands;  // KEY, WHAT, FILE.toml, A.json B.json
  bool markdown = false;
};

/// A mistake is an InputError with a suggestion where a flag or sub-command is misspelt.
CommandLine parse_command_line(int argc, const char* const* argv);

/// The files and options in the order in which they apply.
Layers layers_of(const ConfigOptions& options);
/// The same for `run`: tenants, size and SMs are keys of the configuration too.
Layers layers_of(const CommandLine& line);

}  // namespace terrace
