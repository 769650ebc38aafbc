// Where this program lies: its own files (configs, workloads) are found from there.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

namespace terrace {

/// PREFIX/bin when it was installed, SOURCE/build/PRESET when it was built; the current folder where the system does
/// not tell.
std::filesystem::path program_folder();

}  // namespace terrace
