// `terrace exec`.
// SPDX-License-Identifier: MIT
#include "run/exec.h"

#include <optional>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "text/output.h"

namespace terrace {

int exec_command(const CommandLine& line) {
  std::optional<OutputFile> json;  // opened first, so that a file that cannot be written is reported at once
  if (!line.exec.json.empty()) json.emplace(line.exec.json);
  const ExecResult result = execute_program(line.exec, write_stdout);
  write_stdout(exec_text(result));
  if (json) {
    json->write(json_text(exec_tree(result)));
    json->commit();
  }
  return !result.check || result.check->passed ? 0 : 1;
}

}  // namespace terrace
