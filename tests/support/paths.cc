// SPDX-License-Identifier: MIT
#include "support/paths.h"

namespace terrace {

std::string source_folder() {
  return TERRACE_SOURCE_FOLDER;
}

std::string build_folder() {
  return TERRACE_BUILD_FOLDER;
}

std::string terrace_program() {
  return TERRACE_PROGRAM;
}

}  // namespace terrace
