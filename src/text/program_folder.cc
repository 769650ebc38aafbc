// SPDX-License-Identifier: MIT
#include "text/program_folder.h"

namespace terrace {

std::filesystem::path program_folder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::current_path() : program.parent_path();
}

}  // namespace terrace
