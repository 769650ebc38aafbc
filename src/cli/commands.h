// The sub-commands.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace terrace {

struct CommandLine;

struct SubCommand {
  std::string_view name;
  std::string_view summary;
  std::string_view example;
  int (*act)(const CommandLine&);  // returns the exit code
};
const std::vector<SubCommand>& sub_commands();

int run_command(const CommandLine& line);
int exec_command(const CommandLine& line);
int new_command(const CommandLine& line);
int cuda_command(const CommandLine& line);
int serve_command(const CommandLine& line);
int explain_command(const CommandLine& line);
int list_command(const CommandLine& line);
int diff_command(const CommandLine& line);
int sweep_command(const CommandLine& line);
int report_command(const CommandLine& line);
int reproduce_command(const CommandLine& line);

/// What `terrace list` can list.
std::vector<std::string> listings();
/// The text of one listing; an unknown one is an InputError.
std::string listing(std::string_view what, bool markdown);
/// The claims of a paper, or of all when none is named.
std::string claims_listing(const std::string& paper, bool markdown);

/// The kernels of a .ptx or .cu file, or of that which a .toml file names.
std::string kernels_listing(const std::string& file, bool markdown);

/// Parses and performs a command line. Everything the user can do wrong is an InputError.
int run_command_line(int argc, const char* const* argv);

/// For what the user can correct: an input, or a program that faults.
inline constexpr int kInputExitCode = 2;

/// One sentence on standard error.
void say(std::string_view sentence);

/// Runs `act`, turns what it throws into one sentence on standard error, and returns the exit code: 0 to 2 as returned,
/// 2 for an InputError, 3 for a ModelError, 4 for a Deadlock, 130 when interrupted.
int exit_code_of(const std::function<int()>& act);

}  // namespace terrace
