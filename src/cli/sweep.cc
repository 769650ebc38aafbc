// terrace sweep.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>
#include <string>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/live_page.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/sweep_options.h"
#include "config/field_text.h"
#include "engine/check.h"
#include "engine/interrupt.h"
#include "frontend/workload.h"
#include "sweep/sweep_run.h"
#include "text/output.h"
#include "text/tree.h"

namespace terrace {

namespace {

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

/// Lets the page see and steer a sweep: paused, it starts no more jobs.
void show_live(LiveBoard& board, SweepOptions& options) {
  options.progress = [&board, then = options.progress](const SweepProgress& now) {
    then(now);
    if (board.due())
      board.publish(json_text({{"done", now.done},
                               {"running", now.running},
                               {"waiting", now.waiting},
                               {"failed", now.failed},
                               {"total", now.total},
                               {"fraction", now.fraction}}));
    board.check_stop();
  };
  options.may_start = [&board] { return board.may_begin(); };
}

}  // namespace

int sweep_command(const CommandLine& line) {
  SweepOptions options = sweep_options(line);
  Sweep sweep(line.operands.front(), line.sweep.size, config_source(), seeds_of(line), stats_every_of(line));
  options.workers.slurm = slurm_options(sweep.file(), line);
  if (line.sweep.dry_run) return write_stdout(dry_run_text(sweep, options)), 0;

  Progress progress("sweep", Progress::style_of_stderr(line.quiet));
  SweepProgress last;
  options.progress = [&](const SweepProgress& now) {
    last = now;
    if (progress.due(now.fraction))
      progress.update(
          now.fraction,
          fmt::format("{} of {} jobs done, {} running, {}{} failed", now.done, now.total, now.running - now.waiting,
                      now.waiting == 0 ? "" : fmt::format("{} in the queue, ", now.waiting), now.failed));
  };
  std::optional<LivePage> page;
  if (!line.live.address.empty()) {
    page.emplace(line.live, fmt::format("terrace sweep {}", sweep.file().name), "sweep", line.quiet);
    show_live(page->board(), options);
  }
  options.note = [&](const std::string& note) {
    if (!line.quiet) std::fputs(fmt::format("sweep: {}\n", note).c_str(), stderr);
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

}  // namespace terrace
