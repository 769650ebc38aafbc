// SPDX-License-Identifier: MIT
#include "cli/sweep_options.h"

#include <algorithm>
#include <string_view>

#include "cli/command_line.h"
#include "cli/paths.h"
#include "cli/threads.h"
#include "config/field_text.h"
#include "engine/check.h"
#include "frontend/workload.h"

namespace terrace {

namespace {

/// --jobs; when it is not given, what suits the executor: on this machine, as many as use all cores.
u32 jobs_of(const CommandLine& line, u32 threads) {
  const std::string& text = line.sweep.jobs;
  if (text.empty()) {
    const u32 jobs = default_jobs(line.sweep.executor);
    return line.sweep.executor == "local" && threads > 1 ? std::max<u32>(1, jobs / threads) : jobs;
  }
  const auto jobs = parse_integer(text);
  if (!jobs || *jobs == 0 || *jobs > 4096)
    input_error("{}: --jobs must be a whole number from 1 to 4096, not {}", line.command, text);
  return static_cast<u32>(*jobs);
}

u64 memory_of(const CommandLine& line) {
  const std::string& text = line.sweep.memory;
  if (text.empty()) return 0;
  const std::size_t unit = std::string_view("KMG").find(text.back());
  const auto count = parse_integer(unit == std::string_view::npos ? text : text.substr(0, text.size() - 1));
  if (!count || *count == 0 || *count > (u64{1} << 40))
    input_error("{}: --memory must be a number of bytes such as 800M or 16G, not {}", line.command, text);
  return unit == std::string_view::npos ? *count : *count << (10 * (unit + 1));
}

/// Options that the chosen executor would not heed.
void refuse_foreign_options(const CommandLine& line) {
  if (line.sweep.executor == "local" && !line.sweep.slurm.empty())
    input_error("{}: --slurm-option has an effect only with --executor slurm", line.command);
  if (line.sweep.executor == "slurm" && !line.sweep.memory.empty())
    input_error(
        "{}: --memory is for jobs on this machine; with --executor slurm, give each job some with "
        "--slurm-option memory=2G",
        line.command);
}

}  // namespace

u64 seeds_of(const CommandLine& line) {
  const std::string& text = line.sweep.seeds;
  if (text.empty()) return 0;
  const auto seeds = parse_integer(text);
  if (!seeds || *seeds == 0 || *seeds > kMostSeeds)
    input_error("{}: --seeds must be a whole number from 1 to {}, not {}", line.command, kMostSeeds, text);
  return *seeds;
}

std::optional<u64> stats_every_of(const CommandLine& line) {
  if (line.sweep.stats_every.empty()) return std::nullopt;
  const auto cycles = parse_integer(line.sweep.stats_every);
  if (!cycles)
    input_error("{}: --stats-every must be a number of cycles such as 10000, not {}", line.command,
                line.sweep.stats_every);
  return cycles;
}

SweepOptions sweep_options(const CommandLine& line) {
  SweepOptions options;
  options.store = line.sweep.store;
  options.executor = line.sweep.executor;
  refuse_foreign_options(line);
  // Whoever says how many jobs run at once means that no more cores are used, unless they ask for threads too.
  const u32 threads = threads_of(line.sweep.threads, line.command, line.sweep.jobs.empty() ? 0 : 1);
  options.workers = {"/proc/self/exe", jobs_of(line, threads), memory_of(line), threads};
  options.retry = line.sweep.retry_failed;
  if (!line.sweep.size.empty()) parse_input_size(line.sweep.size);
  return options;
}

SlurmOptions slurm_options(const SweepFile& file, const CommandLine& line) {
  SlurmOptions options = file.slurm;
  for (const std::string& setting : line.sweep.slurm) {
    const std::size_t at = setting.find('=');
    if (at == setting.npos)
      input_error("{}: --slurm-option takes KEY=VALUE, such as time=2:00:00, not {}", line.command, setting);
    try {
      set_slurm_option(options, setting.substr(0, at), setting.substr(at + 1));
    } catch (const InputError& error) {
      input_error("--slurm-option: {}", error.what());
    }
  }
  return options;
}

ConfigSource config_source() {
  return {[](const std::string& name) { return find_config(kGpus, name); },
          [](const std::string& name) { return find_config(kDesigns, name); },
          [](const std::string& name) { return find_config(kSets, name); }};
}

}  // namespace terrace
