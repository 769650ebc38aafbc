// terrace run.
// SPDX-License-Identifier: MIT
#include "run/run.h"

#include <optional>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/live_page.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/root_config.h"
#include "cli/threads.h"
#include "config/field_list.h"
#include "config/field_text.h"
#include "config/loader.h"
#include "engine/check.h"
#include "engine/interrupt.h"
#include "gpu/gpu.h"
#include "run/alone.h"
#include "run/checkpoint.h"
#include "run/metrics.h"
#include "text/gzip.h"
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
void compare_with_alone(const CommandLine& line, const ConfigOptions& options, const GpuConfig& shared,
                        RunResult& result) {
  std::string note;
  const std::string design =
      reference_design(shared, [](const std::string& name) { find_config(kDesigns, name); }, note);
  Layers layers = layers_of(options);
  layers.designs.clear();
  if (!design.empty()) layers.designs.push_back(find_config(kDesigns, design));
  const GpuConfig base = ConfigLoader<RootConfig>(layers).config();
  std::vector<double> ipc;
  for (u32 tenant = 0; tenant < result.json.find("tenants")->items().size(); ++tenant) {
    RunRequest request;
    request.config = alone_config(base, shared, tenant);
    request.options.threads = threads_of(line.run.threads, line.command, 1);
    Progress progress(fmt::format("alone: {}", request.config.run.tenants), Progress::style_of_stderr(line.quiet));
    request.progress = show(progress);
    const RunResult alone = simulate(request);
    ipc.push_back(std::get<double>(alone.json.find("tenants")->items()[0].find("ipc")->value));
  }
  add_relative_metrics(result, ipc, reference_text(design, shared.tenancy.reference_sms));
  if (!note.empty()) result.text += note + "\n";
}

/// A sample for the page.
std::string live_sample(const Gpu& gpu, double part) {
  const MachineLook look = gpu.look();
  Tree::List tenants;
  for (u32 i = 0; i < look.tenants.size(); ++i) {
    const TenantEpoch& done = look.tenants[i];
    tenants.push_back({{"name", gpu.tenants()[i].name},
                       {"thread_instructions", done.thread_instructions},
                       {"l2_requests", done.l2_requests},
                       {"l2_hits", done.l2_hits},
                       {"dram_lines", done.dram_lines},
                       {"walks", u64{look.walks_in_service[i]}}});
  }
  Tree::List waits;
  for (const MachineLook::Waits& each : look.waits) {
    Tree::List cycles;
    for (const u64 waited : each.cycles) cycles.emplace_back(waited);
    waits.push_back({{"part", each.part}, {"cycles", Tree(std::move(cycles))}});
  }
  return json_text({{"cycle", look.cycle},
                    {"fraction", part},
                    {"walks_waiting", u64{look.walks_waiting}},
                    {"tenants", Tree(std::move(tenants))},
                    {"waits", Tree(std::move(waits))}});
}

/// Lets the page see and steer a run.
void show_live(LivePage& page, RunRequest& request) {
  const auto part = std::make_shared<double>(-1);
  request.progress = [part, then = request.progress](double fraction, Cycle cycles, u64 warp_instructions) {
    *part = fraction;
    then(fraction, cycles, warp_instructions);
  };
  request.watch = [part, &board = page.board()](const Gpu& gpu) {
    const auto publish = [&] { board.publish(live_sample(gpu, *part)); };
    if (board.due()) publish();
    board.obey(publish);
  };
}

/// 2 to 3 MB when gzipped. With fewer than the fewest, a large machine has less than two requests for each SM.
constexpr u64 kTimelineEvents = 200'000;
constexpr u64 kFewestTimelineEvents = 10'000, kMostTimelineEvents = 5'000'000;

u64 timeline_events_of(const std::string& text) {
  if (text.empty()) return kTimelineEvents;
  const auto events = parse_integer(text);
  if (!events || *events < kFewestTimelineEvents || *events > kMostTimelineEvents)
    input_error("run: --timeline-events must be a whole number from {} to {}, not {}", kFewestTimelineEvents,
                kMostTimelineEvents, text);
  return *events;
}

/// The options that choose a machine, as a checkpoint keeps them: alone runs need the machine without its designs.
Tree tree_of(const ConfigOptions& options) {
  const auto list = [](const std::vector<std::string>& words) {
    Tree tree = Tree::list();
    for (const std::string& word : words) tree.push(Tree(word));
    return tree;
  };
  return {{"gpu", options.gpu},
          {"designs", list(options.designs)},
          {"sets", list(options.sets)},
          {"seed", options.seed},
          {"warmup", options.warmup}};
}
ConfigOptions options_in(const Tree& tree) {
  const auto text = [](const Tree& value) { return std::get<std::string>(value.value); };
  ConfigOptions options;
  options.gpu = text(*tree.find("gpu"));
  for (const Tree& design : tree.find("designs")->items()) options.designs.push_back(text(design));
  for (const Tree& set : tree.find("sets")->items()) options.sets.push_back(text(set));
  options.seed = text(*tree.find("seed"));
  options.warmup = text(*tree.find("warmup"));
  return options;
}

/// With a machine or tenants, the options of the command line say the whole run once more. Others are looked at by themselves.
GpuConfig resumed_config(const CommandLine& line, const Checkpoint& from) {
  const Layers layers = layers_of(line);
  if (!line.config.gpu.empty() || !line.run.tenants.empty()) return ConfigLoader<RootConfig>(layers).config();
  GpuConfig config = from.config();
  apply_layers(config, layers);
  return config;
}

/// What alone runs go by. A machine's file may have changed since.
ConfigOptions options_of(const CommandLine& line, const Checkpoint* from) {
  if (from == nullptr || !line.config.gpu.empty() || !line.run.tenants.empty()) return line.config;
  ConfigOptions options = options_in(from->facts().asked);
  GpuConfig config = from->config();
  const std::string before = resolved_toml(config);
  apply_layers(config, layers_of(options));
  if (resolved_toml(config) != before)
    input_error("{}: the files of its machine or designs have changed, and --alone reads them; leave out --alone",
                from->file());
  return options;
}

/// The name of the file says which timeline is wanted.
void ask_for_timeline(const RunOptions& options, RunRequest& request) {
  if (options.timeline.empty() && !options.timeline_of.empty())
    input_error("run: --timeline-of selects statistics of a timeline; also give --timeline FILE.csv");
  if (options.timeline.empty() && !options.timeline_events.empty())
    input_error("run: --timeline-events says how long a timeline may be; also give --timeline FILE");
  if (options.timeline.empty()) return;
  request.timeline = options.timeline.ends_with(".csv");
  if (!request.timeline && !options.timeline_of.empty())
    input_error("run: --timeline-of selects statistics of a timeline as CSV, and the name {} does not end in .csv",
                options.timeline);
  if (request.timeline && !options.timeline_events.empty())
    input_error("run: --timeline-events is about trace events, and {} gets statistics as CSV: give it another ending",
                options.timeline);
  request.timeline_of = options.timeline_of;
  if (request.timeline) return;
  request.timeline_events = timeline_events_of(options.timeline_events);
  // A run that goes on keeps as many as it kept.
  if (request.resume && options.timeline_events.empty() && request.resume->facts().kept.timeline_events != 0)
    request.timeline_events = request.resume->facts().kept.timeline_events;
}

}  // namespace

int run_command(const CommandLine& line) {
  if (line.run.json.empty() && !line.config.stats_every.empty())
    input_error("run: --stats-every keeps statistics over time in the result; also give --json FILE");
  RunRequest request;
  if (!line.run.resume.empty()) request.resume = std::make_shared<Checkpoint>(line.run.resume);
  const Checkpoint* from = request.resume.get();
  request.config = from != nullptr ? resumed_config(line, *from) : ConfigLoader<RootConfig>(layers_of(line)).config();
  const ConfigOptions machine = options_of(line, line.run.alone ? from : nullptr);
  for (const std::string& wish : line.run.checkpoints) request.checkpoints.push_back(parse_checkpoint(wish));
  request.asked = from != nullptr ? from->facts().asked : tree_of(line.config);
  request.check = line.run.check;
  request.saves = line.run.saves;
  request.log = line.run.log;
  request.options.threads = threads_of(line.run.threads, line.command, 1);
  ask_for_timeline(line.run, request);
  std::optional<OutputFile> json, timeline;
  if (!line.run.json.empty()) json.emplace(line.run.json);
  if (!line.run.timeline.empty()) timeline.emplace(line.run.timeline);
  Progress progress("run", Progress::style_of_stderr(line.quiet));
  request.progress = show(progress);
  std::optional<LivePage> page;
  if (!line.live.address.empty()) {
    page.emplace(line.live, fmt::format("terrace run {}", request.config.run.tenants), "run", line.quiet);
    show_live(*page, request);
  }
  request.print = write_stdout;
  RunResult result = simulate(request);
  page.reset();
  progress.finish();
  if (line.run.alone) compare_with_alone(line, machine, request.config, result);
  if (json) {
    json->write(json_text(result.json));
    json->commit();
  }
  if (timeline) {
    timeline->write(request.timeline ? result.timeline : gzip(result.events));
    timeline->commit();
  }
  write_stdout(result.log + result.text);
  for (const std::string& fault : result.faults) say(fault);
  for (const std::string& sentence : result.unsaved) say(sentence);
  if (result.all_faulted) return kInputExitCode;  // as when exec meets a fault
  return result.checks_passed ? 0 : 1;
}

}  // namespace terrace
