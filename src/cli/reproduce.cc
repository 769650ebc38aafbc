// terrace reproduce: the experiments of a paper, then its claims board and the report.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "claims/board.h"
#include "claims/board_text.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/sweep_options.h"
#include "engine/check.h"
#include "engine/interrupt.h"
#include "report/report.h"
#include "sweep/sweep_run.h"
#include "text/output.h"
#include "version.h"

namespace terrace {

namespace {

namespace fs = std::filesystem;

/// A paper's claims and the sweep that measures them.
struct Campaign {
  PaperClaims paper;
  std::unique_ptr<Sweep> sweep;
};

/// Everything is read and checked before the first job runs.
std::vector<Campaign> campaigns_of(const CommandLine& line, const std::string& size) {
  const std::string& wanted = line.operands.front();
  std::vector<Campaign> campaigns;
  for (const std::string& name : wanted == "all" ? claim_papers() : std::vector{wanted}) {
    PaperClaims paper = read_claims(data_root(), name);
    const std::string path = fmt::format("{}/configs/reproduce/{}.toml", data_root(), name);
    auto sweep = std::make_unique<Sweep>(path, size, config_source(), seeds_of(line));
    Mistakes mistakes(path);
    check_measures(paper, sweep->file(), mistakes);
    mistakes.raise();
    campaigns.push_back({std::move(paper), std::move(sweep)});
  }
  return campaigns;
}

SweepSummary run_campaign(Campaign& campaign, SweepOptions& options, bool quiet) {
  Progress progress("reproduce " + campaign.paper.paper, Progress::style_of_stderr(quiet));
  options.progress = [&](const SweepProgress& now) {
    if (progress.due(now.fraction))
      progress.update(now.fraction, fmt::format("{} of {} jobs done, {} running, {} failed", now.done, now.total,
                                                now.running, now.failed));
  };
  options.note = [&](const std::string& note) {
    if (!quiet) std::fputs(fmt::format("reproduce: {}\n", note).c_str(), stderr);
  };
  const SweepSummary summary = run_sweep(*campaign.sweep, options);
  progress.finish();
  return summary;
}

std::string about_text(const CommandLine& line, const std::string& size, const std::vector<SweepSummary>& summaries) {
  u64 jobs = 0, failed = 0;
  for (const SweepSummary& summary : summaries) jobs += summary.jobs, failed += summary.failed.size();
  return fmt::format("Written by `terrace reproduce {} --size {}`, revision {}; {} runs, {} failed.",
                     line.operands.front(), size, revision(), jobs, failed);
}

/// Opened before the first job runs: hours of work must not end in a folder that cannot be written.
class BoardFiles {
 public:
  explicit BoardFiles(const std::string& out) {
    if (out.empty()) return;
    std::error_code error;
    fs::create_directories(out, error);
    if (error) input_error("--out: {} cannot be created: {}", out, error.message());
    json_ = std::make_unique<OutputFile>((fs::path(out) / "board.json").string());
    page_ = std::make_unique<OutputFile>((fs::path(out) / "board.md").string());
  }
  void write(const std::vector<BoardRow>& rows, const std::string& about) {
    if (!json_) return;
    json_->write(board_json(rows));
    page_->write(board_markdown(rows, about));
    json_->commit();
    page_->commit();
  }

 private:
  std::unique_ptr<OutputFile> json_, page_;
};

std::vector<BoardRow> boards_of(const std::vector<Campaign>& campaigns, const std::string& store_path) {
  std::vector<BoardRow> rows;
  Store store = Store::existing(store_path);
  for (const Campaign& campaign : campaigns) {
    const std::string& sweep = campaign.sweep->file().name;
    const auto results = stored_results(store, sweep);
    const std::vector<BoardRow> its = board_of(campaign.paper, campaign.sweep->file(), results.get(), sweep);
    rows.insert(rows.end(), its.begin(), its.end());
  }
  return rows;
}

}  // namespace

int reproduce_command(const CommandLine& line) {
  const std::string size = line.sweep.size.empty() ? "tiny" : line.sweep.size;
  SweepOptions options = sweep_options(line);
  std::vector<Campaign> campaigns = campaigns_of(line, size);
  if (line.sweep.dry_run) {
    for (Campaign& campaign : campaigns) write_stdout(dry_run_text(*campaign.sweep, options));
    return 0;
  }
  BoardFiles files(line.sweep.out);
  std::vector<SweepSummary> summaries;
  try {
    for (Campaign& campaign : campaigns) {
      options.workers.slurm = slurm_options(campaign.sweep->file(), line);
      summaries.push_back(run_campaign(campaign, options, line.quiet));
    }
  } catch (const Interrupted&) {
    std::fputs(fmt::format("terrace: interrupted: finished jobs are stored in {}; repeat the command to continue\n",
                           options.store)
                   .c_str(),
               stderr);
    return kInterruptedExitCode;
  }
  const std::vector<BoardRow> rows = boards_of(campaigns, options.store);
  const std::string about = about_text(line, size, summaries);
  files.write(rows, about);
  write_stdout(board_text(rows) + "\n" + about + "\n" +
               (line.sweep.out.empty()
                    ? fmt::format("terrace report --store {} --out DIR draws the figures.\n", options.store)
                    : fmt::format("The claims board is in {0}/board.md and {0}/board.json.\n", line.sweep.out)));
  if (!line.sweep.out.empty()) {
    report_store(options.store, line.sweep.out, false);
    write_stdout(fmt::format("The report, to be opened in a browser: {}/index.html\n", line.sweep.out));
  }
  const bool failed =
      std::any_of(summaries.begin(), summaries.end(), [](const auto& its) { return !its.failed.empty(); });
  return failed ? 1 : 0;
}

}  // namespace terrace
