// Runs another program and keeps what it says.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace terrace {

struct CommandOutcome {
  int exit_code = 0;  // 127: there is no such program; -1: a signal ended it
  std::string out, err;

  /// The first line of what it said on standard error, or its exit code when it said nothing.
  std::string complaint() const;
};

/// `words[0]` is looked for as a shell would. Ctrl-C on a terminal does not reach it. Meant for commands that end soon.
CommandOutcome call_command(const std::vector<std::string>& words);

}  // namespace terrace
