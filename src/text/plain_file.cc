// SPDX-License-Identifier: MIT
#include "text/plain_file.h"

#include <filesystem>

#include "engine/check.h"

namespace terrace {

void require_plain_file(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_status there = std::filesystem::status(path, ignored);
  if (!exists(there) || is_regular_file(there) || is_directory(there)) return;
  input_error("{}: is not a plain file; copy it into one", path);
}

}  // namespace terrace
