// A user's own kernels as a program, without rebuilding Terrace: a TOML file names the device code, the buffers with
// their first contents, the launches, and what the buffers should hold in the end (docs/add_a_workload.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "frontend/workload.h"

namespace terrace {

/// Reads the file and what it names; files it names lie relative to it. Anything wrong is an InputError with file, line
/// and key. `seed` is of the contents that are drawn, where the file gives none.
ProgramInstance load_user_program(const std::string& toml_path, u64 seed = 1);

/// The head of a .npy file for a buffer: its elements if the program is one of these, otherwise bytes.
std::string npy_header_of(const Program& program, std::string_view buffer, u64 bytes);

/// What --tenant takes: FILE.toml, NAME[:key=value,...] of a workload, or what a kind of device code reads by itself
/// (stream_kind.h). A seed stands in for those that programs have of their own.
ProgramInstance load_program(const std::string& text, InputSize size, std::string_view option = "--tenant",
                             std::optional<u64> seed = std::nullopt);
/// Whether that is a file or folder, which says everything itself, and not a workload.
bool names_file(std::string_view text);

}  // namespace terrace
