// terrace run.
// SPDX-License-Identifier: MIT
#include "run/run.h"

#include <optional>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/root_config.h"
#include "config/loader.h"
#include "engine/check.h"
#include "engine/interrupt.h"
#include "run/alone.h"
#include "run/metrics.h"
#include "text/output.h"

namespace terrace {
namespace {

std::function<void(double, Cycle, u64)> show(Progress& progress) {
  return [&progress](double part, Cycle cycles, u64 warp_instructions) {
    check_interrupt();
    if (progress.due(part)) progress.update(part, cycles, warp_instructions);
  };
}

/// Runs each tenant alone under the machine's reference design. --set changes the machine, as the tables `set` of
/// sweeps do: the reference has it too.
void compare_with_alone(const CommandLine& line, const GpuConfig& shared, RunResult& result) {
  std::string note;
  const std::string design =
      reference_design(shared, [](const std::string& name) { find_config(kDesigns, name); }, note);
  Layers layers = layers_of(line.config);
  layers.designs.clear();
  if (!design.empty()) layers.designs.push_back(find_config(kDesigns, design));
  const GpuConfig base = ConfigLoader<RootConfig>(layers).config();
  std::vector<double> ipc;
  for (u32 tenant = 0; tenant < result.json.find("tenants")->items().size(); ++tenant) {
    RunRequest request;
    request.config = alone_config(base, shared, tenant);
    Progress progress(fmt::format("alone: {}", request.config.run.tenants), Progress::style_of_stderr(line.run.quiet));
    request.progress = show(progress);
    const RunResult alone = simulate(request);
    ipc.push_back(std::get<double>(alone.json.find("tenants")->items()[0].find("ipc")->value));
  }
  add_relative_metrics(result, ipc, reference_text(design, shared.tenancy.reference_sms));
  if (!note.empty()) result.text += note + "\n";
}

}  // namespace

int run_command(const CommandLine& line) {
  if (line.run.timeline.empty() && !line.run.timeline_of.empty())
    input_error("run: --timeline-of selects statistics of a timeline; also give --timeline FILE");
  const ConfigLoader<RootConfig> loader(layers_of(line));
  RunRequest request;
  request.config = loader.config();
  request.check = line.run.check;
  request.log = line.run.log;
  request.timeline = !line.run.timeline.empty();
  request.timeline_of = line.run.timeline_of;
  std::optional<OutputFile> json, timeline;
  if (!line.run.json.empty()) json.emplace(line.run.json);
  if (request.timeline) timeline.emplace(line.run.timeline);
  Progress progress("run", Progress::style_of_stderr(line.run.quiet));
  request.progress = show(progress);
  RunResult result = simulate(request);
  progress.finish();
  if (line.run.alone) compare_with_alone(line, request.config, result);
  if (json) {
    json->write(json_text(result.json));
    json->commit();
  }
  if (timeline) {
    timeline->write(result.timeline);
    timeline->commit();
  }
  write_stdout(result.log + result.text);
  for (const std::string& fault : result.faults) say(fault);
  if (result.all_faulted) return kInputExitCode;  // as when exec meets a fault
  return result.checks_passed ? 0 : 1;
}

}  // namespace terrace
