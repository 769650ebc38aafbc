// terrace sweep and terrace report.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sched.h>

#include <cstdio>
#include <set>
#include <string>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "config/field_text.h"
#include "engine/check.h"
#include "engine/interrupt.h"
#include "frontend/workload.h"
#include "report/report.h"
#include "sweep/sweep_run.h"
#include "text/output.h"

namespace terrace {

namespace {

/// The cores this process may use.
u32 cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<u32>(CPU_COUNT(&set));
}

u32 jobs_of(const std::string& text) {
  if (text.empty()) return cores();
  const auto jobs = parse_integer(text);
  if (!jobs || *jobs == 0 || *jobs > 4096)
    input_error("sweep: --jobs must be a whole number from 1 to 4096, not {}", text);
  return static_cast<u32>(*jobs);
}

/// 0: as the file says.
u64 seeds_of(const std::string& text) {
  if (text.empty()) return 0;
  const auto seeds = parse_integer(text);
  if (!seeds || *seeds == 0 || *seeds > kMostSeeds)
    input_error("sweep: --seeds must be a whole number from 1 to {}, not {}", kMostSeeds, text);
  return *seeds;
}

u64 memory_of(const std::string& text) {
  if (text.empty()) return 0;
  const std::size_t unit = std::string_view("KMG").find(text.back());
  const auto count = parse_integer(unit == std::string_view::npos ? text : text.substr(0, text.size() - 1));
  if (!count || *count == 0 || *count > (u64{1} << 40))
    input_error("sweep: --memory must be a number of bytes such as 800M or 16G, not {}", text);
  return unit == std::string_view::npos ? *count : *count << (10 * (unit + 1));
}

ConfigSource config_source() {
  return {[](const std::string& name) { return find_config(kGpus, name); },
          [](const std::string& name) { return find_config(kDesigns, name); }};
}

std::string summary_text(const SweepSummary& summary, const std::string& store) {
  std::string text;
  for (const auto& [job, state] : summary.failed)
    text +=
        fmt::format("failed: {} ({}): {}\n", job.title(), job.id, state.message.substr(0, state.message.find('\n')));
  std::set<std::string> seeds;
  for (const SearchOutcome& search : summary.searches) seeds.insert(search.labels.at("seed"));
  for (const SearchOutcome& search : summary.searches)
    text += fmt::format("{}: {} shares {} as {}: {} {:.4g}, the best of {} splits{}\n", search.grid,
                        search.labels.at("mix"), search.labels.at("gpu"), search.sms, search.metric, search.value,
                        search.tried, seeds.size() > 1 ? fmt::format(" (seed {})", search.labels.at("seed")) : "");
  text += fmt::format("{} jobs: {} ran, {} were already stored, {} failed; results are in {}\n", summary.jobs,
                      summary.ran, summary.stored_before, summary.failed.size(), store);
  if (summary.ran != 0)
    text += fmt::format("The jobs took {:.1f} s; the sweep itself used {:.2f} s of processor time.\n",
                        summary.job_seconds, summary.own_seconds);
  return text;
}

}  // namespace

int sweep_command(const CommandLine& line) {
  SweepOptions options;
  options.store = line.sweep.store;
  options.executor = line.sweep.executor;
  options.workers = {"/proc/self/exe", jobs_of(line.sweep.jobs), memory_of(line.sweep.memory)};
  options.retry = line.sweep.retry_failed;
  if (!line.sweep.size.empty()) parse_input_size(line.sweep.size);
  Sweep sweep(line.operands.front(), line.sweep.size, config_source(), seeds_of(line.sweep.seeds));
  if (line.sweep.dry_run) return write_stdout(dry_run_text(sweep, options)), 0;

  Progress progress("sweep", Progress::style_of_stderr(line.sweep.quiet));
  SweepProgress last;
  options.progress = [&](const SweepProgress& now) {
    last = now;
    if (progress.due(now.fraction))
      progress.update(now.fraction, fmt::format("{} of {} jobs done, {} running, {} failed", now.done, now.total,
                                                now.running, now.failed));
  };
  options.note = [&](const std::string& note) {
    if (!line.sweep.quiet) std::fputs(fmt::format("sweep: {}\n", note).c_str(), stderr);
  };
  try {
    const SweepSummary summary = run_sweep(sweep, options);
    progress.finish();
    write_stdout(summary_text(summary, options.store));
    return summary.failed.empty() ? 0 : 1;
  } catch (const Interrupted&) {
    progress.finish();
    std::fputs(fmt::format("terrace: interrupted: {} of {} jobs are stored in {}; repeat the command to continue\n",
                           last.done, last.total, options.store)
                   .c_str(),
               stderr);
    return kInterruptedExitCode;
  }
}

int report_command(const CommandLine& line) {
  write_stdout(write_report(line.sweep.store, line.sweep.out, line.sweep.stats));
  return 0;
}

}  // namespace terrace
