// `terrace exec`: runs a program functionally, without any timing, counts what it does, and checks its result.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/functional_runner.h"
#include "frontend/user_program.h"
#include "text/tree.h"

namespace terrace {

struct ExecOptions {
  std::string program;  // NAME[:key=value,...] or FILE.toml
  std::string size;     // of a workload; tiny when empty
  std::string variant;
  std::string seed, slice;          // short for the parameters of these names
  std::vector<std::string> params;  // key=value
  std::string code;                 // device code in place of the workload's own: a .ptx or .cu file
  std::string loop_limit;           // jumps back of one warp; DeviceCode's when empty
  std::string limit;                // warp instructions of a launch; FunctionalConfig's when empty
  bool check = false;
  std::string json;                // where to write the result file, or empty
  std::vector<std::string> saves;  // BUFFER=FILE: what to write in the end
};

struct KernelCounts {
  std::string kernel;
  FunctionalCounts counts;
};

struct ExecResult {
  std::string program;
  std::string code_file;
  u64 code_hash = 0;
  std::vector<std::pair<std::string, std::string>> params;  // as resolved; none for a user's program
  u64 footprint_bytes = 0;
  FunctionalCounts total;
  std::vector<KernelCounts> kernels;  // in the order of their first launch
  u64 digest = 0;                     // over all buffers
  double seconds = 0;                 // of the execution alone: neither input generation nor check
  std::optional<CheckResult> check;
  std::map<std::string, u64> unknown_opcodes;  // of traces: instructions that did nothing but issue
};

/// Runs every launch of a program whose buffers are allocated and filled; counts by kernel.
std::vector<KernelCounts> run_functionally(Program& program, InstStream& stream, GuestMemory& memory,
                                           FunctionalConfig config = {});

/// Runs the program; `print` gets what its kernels print, launch by launch. Wrong input, or a program that touches what
/// is not its own, is an InputError.
ExecResult execute_program(const ExecOptions& options, const Printer& print = {});

/// For a person, and for a file ("terrace.exec/1").
std::string exec_text(const ExecResult& result);
Tree exec_tree(const ExecResult& result);

}  // namespace terrace
