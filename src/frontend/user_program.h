// A user's own kernels as a program, without rebuilding Terrace: a TOML file names the device code, the buffers with
// their first contents, the launches, and what the buffers should hold in the end (docs/add_a_workload.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "frontend/workload.h"

namespace terrace {

/// Reads the file and what it names; files it names lie relative to it. Anything wrong is an InputError with file, line
/// and key. `seed` is of the contents that are drawn, where the file gives none.
ProgramInstance load_user_program(const std::string& toml_path, u64 seed = 1);

}  // namespace terrace
