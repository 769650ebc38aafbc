// SPDX-License-Identifier: MIT
#include "stats/diff.h"

#include "cli/command_line.h"
#include "cli/commands.h"
#include "engine/check.h"
#include "text/output.h"
#include "text/tree.h"

namespace terrace {

namespace {

Tree read_result(const std::string& path) {
  Tree result = read_json(path);
  const Tree* schema = result.find("schema");
  if (!schema || !result.find("stats"))
    input_error("{}: is not a result of terrace run: it has no schema and stats", path);
  if (*schema != Tree("terrace.run/1"))
    input_error("{}: has schema {}, and this version reads \"terrace.run/1\"", path, schema->text());
  return result;
}

}  // namespace

int diff_command(const CommandLine& line) {
  const std::string &name_a = line.operands[0], &name_b = line.operands[1];
  const Tree a = read_result(name_a);
  const Tree b = read_result(name_b);
  const ResultDiff diff = diff_results(a, b);
  write_stdout(diff_text(diff, name_a, name_b));
  return diff.stats.empty() ? 0 : 1;
}

}  // namespace terrace
