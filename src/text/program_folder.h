// Where this program lies: its own files (configs, workloads) are found from there.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

namespace terrace {

/// PREFIX/bin of an installed program, SOURCE/build/PRESET of a build; the current folder if it cannot be found out.
std::filesystem::path program_folder();

}  // namespace terrace
