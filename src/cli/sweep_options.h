// What sweep and reproduce share.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "sweep/sweep_file.h"
#include "sweep/sweep_run.h"

namespace terrace {

struct CommandLine;

/// Store, executor, jobs, memory; a size that does not exist is refused.
SweepOptions sweep_options(const CommandLine& line);

/// What the command line says stands over what the file says; lines of options and setup come behind the file's.
SlurmOptions slurm_options(const SweepFile& file, const CommandLine& line);

/// --seeds; 0: as the file says.
u64 seeds_of(const CommandLine& line);

/// --stats-every; nothing: as the file says.
std::optional<u64> stats_every_of(const CommandLine& line);

/// Machines, designs and sets of workloads by name.
ConfigSource config_source();

}  // namespace terrace
