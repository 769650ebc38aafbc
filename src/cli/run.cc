// terrace run.
// SPDX-License-Identifier: MIT
#include "experiment/run.h"

#include <optional>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/root_config.h"
#include "config/loader.h"
#include "engine/check.h"
#include "engine/interrupt.h"
#include "text/output.h"

namespace terrace {

int run_command(const CommandLine& line) {
  if (line.run.alone) input_error("run: --alone comes with a later version; run each tenant by itself for now");
  if (!line.run.timeline.empty()) input_error("run: --timeline comes with a later version; leave it out for now");
  const ConfigLoader<RootConfig> loader(layers_of(line));
  RunRequest request;
  request.config = loader.config();
  request.check = line.run.check;
  request.log = line.run.log;
  std::optional<OutputFile> json;
  if (!line.run.json.empty()) json.emplace(line.run.json);
  Progress progress("run", Progress::style_of_stderr(line.run.quiet));
  request.progress = [&](double part, Cycle cycles, u64 warp_instructions) {
    check_interrupt();
    if (progress.due(part)) progress.update(part, cycles, warp_instructions);
  };
  const RunResult result = simulate(request);
  progress.finish();
  if (json) {
    json->write(json_text(result.json));
    json->commit();
  }
  write_stdout(result.log + result.text);
  return result.checks_passed ? 0 : 1;
}

}  // namespace terrace
